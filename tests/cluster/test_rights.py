"""Who may not, or finds no place: one sentence, its exit code, and not a word about others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from quorumcast.api.client import connect
from quorumcast.api.errors import NoQuorum, NotAllowed, Rejected
from quorumcast.auth.greetings import Hello, Kind, Refusal, fields_of
from quorumcast.auth.handshake import Credentials, Initiator
from quorumcast.auth.identity import Identity
from quorumcast.auth.manifest import Manifest
from quorumcast.core.errors import AuthError
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.changing import add_channel, revoke
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.keyfiles import load_client
from quorumcast.runtime.local import LocalCluster
from tests.cli.shell import Shell
from tests.cluster.fire import client, payloads, port, read
from tests.runtime.kit import Stranger

NAMES = ("probe-1", "probe-2", "screen-1", "screen-2", "gone")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A cluster with a channel that has one place of each kind, and a name that was revoked."""
    folder = tmp_path_factory.mktemp("rights") / "c"
    made = make_cluster(folder, first_port=port())
    for name in NAMES:
        add_client(folder, name)
    guarded = {"name": "guarded", "publishers": ["probe-*"], "subscribers": ["screen-*"]}
    add_channel(folder, {**guarded, "max_publishers": 1, "max_subscribers": 1})
    revoke(folder, "gone")
    make_cluster(folder.parent / "other", addresses=list(made.addresses.values()))
    local = LocalCluster(folder)
    local.start()
    try:
        asyncio.run(local.wait_ready())
        yield local
    finally:
        asyncio.run(local.stop())


@pytest.fixture
def shell(cluster: LocalCluster) -> Shell:
    return Shell(cluster.folder, cluster.folder.parent / "state")


def check_said(said: str, wanted: str, *me: str) -> None:
    """It is one sentence of ours that says this, and names nobody but who asks."""
    (line,) = said.splitlines()
    assert line.startswith("quorumcast: ")
    assert wanted in line
    assert not [name for name in (*NAMES, "local", "reader") if name not in me and name in line]


@pytest.mark.parametrize("command", [["pub", "events", "x"], ["sub", "events", "--timeout", "9s"]])
def test_a_revoked_name(shell: Shell, command: list[str]) -> None:
    done = shell(*command, "--as", "gone", code=4)
    check_said(done.stderr, "this name is revoked: ask the operator for another one", "gone")
    assert done.stdout == ""


@pytest.mark.parametrize("command", [["pub", "events", "x"], ["sub", "events", "--timeout", "9s"]])
def test_an_identity_of_another_cluster(shell: Shell, command: list[str]) -> None:
    other = str(shell.folder.parent / "other" / "local.qc")
    done = shell(*command, "--as", other, code=4)
    check_said(done.stderr, "it belongs to another cluster")


def test_a_right_that_is_missing(shell: Shell) -> None:
    done = shell("pub", "guarded", "x", "--as", "screen-1", code=4)
    check_said(done.stderr, "screen-1 may not publish on guarded: ask the operator", "screen-1")
    done = shell("sub", "guarded", "--timeout", "9s", "--as", "probe-1", code=4)
    check_said(done.stderr, "probe-1 may not subscribe to guarded: ask the operator", "probe-1")


def test_the_same_from_a_program(cluster: LocalCluster) -> None:
    async def scenario() -> None:
        with pytest.raises(AuthError, match="this name is revoked"):
            await client(cluster, "gone").start()
        with pytest.raises(AuthError, match="it belongs to another cluster"):
            await connect(cluster.folder.parent / "other" / "local.qc").start()
        async with client(cluster, "screen-1") as qc:
            publisher = await qc.publisher("guarded")
            with pytest.raises(NotAllowed, match="screen-1 may not publish on guarded"):
                await publisher.publish(b"x")
        async with client(cluster, "probe-1") as qc:
            with pytest.raises(NotAllowed, match="probe-1 may not subscribe to guarded"):
                await qc.subscribe("guarded").ready()

    asyncio.run(scenario())


async def publish_crowded(cluster: LocalCluster) -> None:
    async with client(cluster, "probe-2") as second:
        crowded = await second.publisher("guarded", timeout=1.0)
        await crowded.publish(b"2")


def test_a_channel_that_is_full_and_then_is_not(cluster: LocalCluster, shell: Shell) -> None:
    full = "guarded takes 1 {}, and has them"

    async def scenario() -> None:
        async with client(cluster, "probe-1") as first, client(cluster, "screen-1") as reader:
            subscription = await reader.subscribe("guarded").ready()
            publisher = await first.publisher("guarded")
            await publisher.publish(b"1")
            arguments = ("pub", "guarded", "x", "--timeout", "1s", "--as", "probe-2")
            done = await asyncio.to_thread(shell, *arguments, code=3)
            check_said(done.stderr, full.format("publishers"), "probe-2")
            arguments = ("sub", "guarded", "--timeout", "9s", "--as", "screen-2")
            done = await asyncio.to_thread(shell, *arguments, code=1)
            check_said(done.stderr, full.format("subscribers"), "screen-2")
            with pytest.raises(NoQuorum, match=full.format("publishers")):
                await publish_crowded(cluster)
            async with client(cluster, "screen-2") as late:
                with pytest.raises(Rejected, match=full.format("subscribers")):
                    await late.subscribe("guarded").ready()
            await publisher.publish(b"3")  # who has a place keeps it
            assert payloads(await read(subscription, 2)) == [b"1", b"3"]
            assert not reader.evidence
        await asyncio.to_thread(shell, "pub", "guarded", "4", "--as", "probe-2")
        arguments = ("sub", "guarded", "--from", "earliest", "--count", "3", "--as", "screen-2")
        done = await asyncio.to_thread(shell, *arguments)
        assert sorted(line.split()[-1] for line in done.stdout.splitlines()) == ["1", "3", "4"]

    asyncio.run(scenario())


def test_a_forged_certificate(cluster: LocalCluster) -> None:
    """Somebody who knows all that is public certifies itself: it is told no more than that."""
    mine = load_client(cluster.folder / "probe-1.qc")
    forger = Identity.from_seeds(os.urandom(32), os.urandom(32))
    theirs = Manifest(
        nonce=mine.manifest.nonce,
        operator=forger.public.sign,
        faults=mine.manifest.faults,
        replicas=mine.manifest.replicas,
    )
    me = Credentials("probe-1", mine.identity, mine.manifest, mine.certificate)

    async def scenario() -> None:
        for name in ("probe-1", "gone", "nobody-knows-me"):
            forged = theirs.certify(forger, name, forger.public)
            hello = Hello.decode(Initiator(me, "r1", os.urandom(32)).hello)
            stranger = await Stranger.at(parse_address(cluster.cluster.addresses["r1"]))
            stranger.greet(hello._replace(name=name, certificate=forged).encode())
            answer = await stranger.greeting()
            assert fields_of(Kind.REFUSAL, answer, 2) == [bytes((Refusal.IDENTITY,)), b""]
            assert await stranger.ended() == b""
            stranger.close()

    asyncio.run(scenario())
