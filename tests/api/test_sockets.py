"""`connect` with a key file, over real sockets, to replicas that run as they do in a process."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from quorumcast.api import AuthError, ConfigError, NoQuorum, NotAllowed, connect
from quorumcast.runtime.changing import add_channel, load_operator, revoke, sign_again
from quorumcast.runtime.errand import ask_reports, hand_on
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.server import Server
from quorumcast.runtime.settings import load_cluster
from tests.api.bench import run


@pytest.fixture
def folder() -> Iterator[Path]:
    """A cluster that was made; its path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="qc-", dir="/tmp") as made:
        place = Path(made) / "c"
        sockets = [f"unix://{made}/{number}.sock" for number in range(1, 5)]
        make_cluster(place, addresses=sockets)
        yield place


@asynccontextmanager
async def running(folder: Path, *names: str) -> AsyncIterator[list[Server]]:
    """Replicas of the cluster, in this process."""
    servers = [Server(folder, name) for name in names or ("r1", "r2", "r3", "r4")]
    try:
        for server in servers:
            await server.start()
        yield servers
    finally:
        for server in servers:
            await server.stop()


def test_an_event_goes_through_a_cluster_on_sockets(folder: Path) -> None:
    async def scenario() -> None:
        async with running(folder), connect(folder / "local.qc") as qc:
            assert qc.name == "local"
            assert [each.name for each in qc.channels] == ["events", "alerts", "metrics"]
            for each in qc.channels:
                events = await qc.subscribe(each.name).ready()
                publisher = await qc.publisher(each.name)
                ack = await publisher.publish(b"hello", key="k")
                event = await anext(events)
                assert (event.payload, event.key, event.id) == (b"hello", "k", ack.id)

    run(scenario)


def test_one_replica_may_be_missing_and_two_may_not(folder: Path) -> None:
    async def scenario() -> None:
        async with running(folder, "r1", "r2", "r4"), connect(folder / "local.qc") as qc:
            publisher = await qc.publisher("alerts")
            assert (await publisher.publish(b"hello")).replicas == 3
        async with running(folder, "r1", "r2"):
            with pytest.raises(NoQuorum, match="cannot connect: 2 of 4 replicas are reached"):
                await connect(folder / "local.qc", timeout=0.5).start()

    run(scenario)


def test_a_client_finds_replicas_that_come_later(folder: Path) -> None:
    async def scenario() -> None:
        coming = asyncio.ensure_future(connect(folder / "local.qc").start())
        await asyncio.sleep(0)
        async with running(folder):
            qc = await coming
            publisher = await qc.publisher("events")
            assert (await publisher.publish(b"hello")).replicas >= 3
            await qc.close()

    run(scenario)


def test_a_revoked_identity_is_told_so_at_once(folder: Path) -> None:
    path, _ = add_client(folder, "probe-7")
    revoke(folder, "probe-7")

    async def scenario() -> None:
        async with running(folder):
            with pytest.raises(AuthError, match="this name is revoked: ask the operator"):
                await connect(path).start()

    run(scenario)


def test_a_client_with_an_old_file_knows_new_channels_when_it_is_connected(folder: Path) -> None:
    path, _ = add_client(folder, "probe-7")
    old = path.read_text(encoding="utf-8")
    add_channel(folder, {"name": "trades", "publishers": ["probe-*"]})
    path.write_text(old, encoding="utf-8")

    async def scenario() -> None:
        async with running(folder), connect(path) as qc:
            assert [each.name for each in qc.channels] == ["events", "alerts", "metrics", "trades"]
            trades = await qc.publisher("trades")
            assert (await trades.publish(b"hello")).replicas >= 3
            with pytest.raises(ConfigError, match="there are: alerts, events, metrics, trades"):
                await qc.publisher("none")

    run(scenario)
    assert path.read_text(encoding="utf-8") == old, "a client's file is its owner's"


def test_a_client_with_a_newer_file_brings_it_to_the_replicas(folder: Path) -> None:
    old = (folder / "cluster.toml").read_text(encoding="utf-8")
    made, _ = add_channel(folder, {"name": "trades", "publishers": ["local"]})
    (folder / "cluster.toml").write_text(old, encoding="utf-8")

    async def scenario() -> None:
        async with running(folder) as servers, connect(folder / "local.qc") as qc:
            trades = await qc.publisher("trades")
            assert (await trades.publish(b"hello")).replicas >= 3
            for server in servers:
                assert server.cluster.charter == made.charter

    run(scenario)
    assert load_cluster(folder).charter == made.charter


async def learn(servers: list[Server]) -> None:
    for server in servers:
        server._order("learn")


def test_a_name_that_is_revoked_is_out_at_once_and_others_go_on(folder: Path) -> None:
    path, _ = add_client(folder, "probe-7")

    async def scenario() -> None:
        async with (
            running(folder) as servers,
            connect(path) as probe,
            connect(folder / "local.qc") as other,
        ):
            publisher, events = await probe.publisher("events"), probe.subscribe("events")
            await events.ready()
            await publisher.publish(b"before")
            await anext(events)
            revoke(folder, "probe-7")
            await learn(servers)
            with pytest.raises(AuthError, match="the name probe-7 was revoked: ask the operator"):
                await anext(events)
            with pytest.raises(AuthError, match="the name probe-7 was revoked"):
                await publisher.publish(b"after")
            with pytest.raises(AuthError, match="the name probe-7 was revoked"):
                await publisher.send(b"after")
            with pytest.raises(AuthError, match="the name probe-7 was revoked"):
                await probe.publisher("alerts")
            with pytest.raises(AuthError, match="the name probe-7 was revoked"):
                probe.subscribe("alerts")
            assert (await (await other.publisher("events")).publish(b"on")).replicas >= 3

    run(scenario)


def test_what_waits_when_its_name_is_revoked_ends(folder: Path) -> None:
    path, _ = add_client(folder, "probe-7")

    async def scenario() -> None:
        async with running(folder) as servers, connect(path) as probe:
            publisher = await probe.publisher("events")
            await publisher.publish(b"before")
            for server in servers[:2]:  # too few are left to acknowledge anything
                await server.stop()
            waiting = asyncio.ensure_future(publisher.publish(b"after"))
            await asyncio.sleep(0)
            revoke(folder, "probe-7")
            await learn(servers[2:])
            with pytest.raises(AuthError, match="the name probe-7 was revoked"):
                await waiting

    run(scenario)


def test_rights_that_are_taken_and_given_count_for_open_publishers(folder: Path) -> None:
    path, _ = add_client(folder, "probe-7")
    file = folder / "cluster.toml"

    def rights(old: str, new: str) -> None:
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        sign_again(folder)

    async def scenario() -> None:
        async with running(folder) as servers, connect(path) as probe:
            publisher, events = await probe.publisher("events"), probe.subscribe("events")
            await events.ready()
            await publisher.publish(b"before")
            await anext(events)
            rights('publishers = ["*"]', 'publishers = ["local"]\nsubscribers = ["local"]')
            await learn(servers)
            with pytest.raises(NotAllowed, match="probe-7 may not subscribe to events"):
                await anext(events)
            with pytest.raises(NotAllowed, match="probe-7 may not publish on events"):
                await publisher.publish(b"after")
            rights('publishers = ["local"]\nsubscribers = ["local"]', 'publishers = ["probe-*"]')
            await learn(servers)
            async with asyncio.timeout(10):
                while True:
                    try:
                        assert (await publisher.publish(b"again")).replicas >= 3
                        break
                    except NotAllowed:  # the client learns of it a moment later
                        await asyncio.sleep(0.01)

    run(scenario)


def test_addresses_that_are_not_loopback_are_spoken_to_over_tls(tmp_path: Path) -> None:
    place = tmp_path / "c"
    with ExitStack() as taken:
        sockets = [taken.enter_context(socket.socket()) for _ in range(4)]
        for each in sockets:
            each.bind(("0.0.0.0", 0))
        ports = [each.getsockname()[1] for each in sockets]
    made = make_cluster(place, addresses=[f"tcp://0.0.0.0:{port}" for port in ports])
    assert all(replica.tls for replica in made.manifest.replicas)

    async def scenario() -> None:
        async with running(place), connect(place / "local.qc") as qc:
            publisher = await qc.publisher("alerts")
            assert (await publisher.publish(b"hello")).replicas >= 3
            operator, names = load_operator(place, made), list(made.addresses)
            reports = await ask_reports(made, operator, names)
            assert sorted(reports) == names
            assert msgspec.json.decode(reports["r1"])["clients"] == 1, "the operator is none"
            assert await hand_on(made, operator, names) == set(names)

    run(scenario)


def test_a_file_that_is_none_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"probe-7\.qc"):
        connect(tmp_path / "probe-7.qc")
    with pytest.raises(ConfigError, match="not connected"):
        connect_unstarted(tmp_path)


def connect_unstarted(tmp_path: Path) -> None:
    sockets = [f"unix:///tmp/qc-none-{number}.sock" for number in range(4)]
    make_cluster(tmp_path / "c", addresses=sockets)
    connect(tmp_path / "c" / "local.qc").subscribe("alerts")
