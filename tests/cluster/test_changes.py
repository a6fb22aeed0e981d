"""Channels and names that change while the cluster runs: on this host, and on several."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quorumcast.api import AuthError, ConfigError, Rejected
from quorumcast.api.client import connect
from quorumcast.runtime.changing import add_channel, revoke, sign_again
from quorumcast.runtime.errand import ask_reports
from quorumcast.runtime.folder import add_client, host_folder, make_cluster
from quorumcast.runtime.local import LocalCluster, NotReady
from quorumcast.runtime.places import free_addresses
from quorumcast.runtime.settings import load_cluster
from quorumcast.runtime.spreading import spread
from tests.cluster.fire import TIMEOUT_SECONDS, client, port, running

PATIENCE_SECONDS = 30.0


async def shell(folder: Path, *arguments: str, code: int = 0) -> str:
    """Call our program as the operator does."""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "quorumcast.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "QUORUMCAST_CLUSTER": str(folder), "QUORUMCAST_STATE": str(folder)},
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


async def until(condition: Callable[[], Any]) -> None:
    """Look again and again: what is awaited happens in another process."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            found = condition()
            if (await found) if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.02)


async def until_all_have(local: LocalCluster, version: int) -> None:
    async def has_it(name: str) -> bool:
        return (await local.ask(name))["version"] >= version

    for name in local.names:
        await until(lambda name=name: has_it(name))


# -- one host --------------------------------------------------------------------------------------


def test_a_channel_added_while_it_runs_is_usable_at_once_with_an_old_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local:
            old = tmp_path / "old.qc"
            shutil.copy(local.folder / "local.qc", old)
            async with client(local, "reader") as early:
                said = await shell(local.folder, "channel", "add", "news", "--publishers", "*")
                assert "4 of 4 replicas on this host have it." in said
                async with connect(old, timeout=TIMEOUT_SECONDS) as qc:
                    news = await qc.publisher("news")
                    sent = await news.send(b"hello")
                    assert (await sent).replicas >= 3
                    await sent.confirmed()
                await until(lambda: "news" in {each.name for each in early.channels})
                events = await early.subscribe("news", from_="earliest").ready()
                assert (await anext(events)).payload == b"hello"
            shown = json.loads(await shell(local.folder, "channels", "--json"))
            (news,) = [each for each in shown if each["name"] == "news"]
            assert (news["streams"], news["held"], news["confirmed"]) == (1, 1, 1)

    asyncio.run(scenario())


def test_a_name_revoked_while_it_publishes_is_out_and_others_go_on(tmp_path: Path) -> None:
    async def publish_for_ever(local: LocalCluster) -> None:
        async with client(local, "probe") as qc:
            publisher = await qc.publisher("events")
            while True:
                await publisher.publish(b"again")

    async def many(local: LocalCluster) -> bool:
        return (await local.channels())["events"]["held"] > 100

    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local) as other:
            add_client(local.folder, "probe")
            publisher = await other.publisher("events")
            await publisher.publish(b"before")
            probing = asyncio.create_task(publish_for_ever(local))
            await until(lambda: many(local))
            assert {(await local.ask(name))["clients"] for name in local.names} == {2}
            said = await shell(local.folder, "keys", "revoke", "probe", "--json")
            assert json.loads(said)["replicas_here"] == {"have_it": 4, "of": 4}
            with pytest.raises(AuthError, match="the name probe was revoked: ask the operator"):
                await probing
            assert {(await local.ask(name))["clients"] for name in local.names} == {1}
            assert (await publisher.publish(b"after")).replicas >= 3
            said = await shell(local.folder, "pub", "events", "x", "--as", "probe", code=4)
            assert "revoked" in said

    asyncio.run(scenario())


def test_a_channel_that_is_taken_out_and_put_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local) as qc:
            file = local.folder / "cluster.toml"
            publisher = await qc.publisher("metrics")
            await publisher.publish(b"one")
            text = file.read_text(encoding="utf-8")
            start = text.rindex("[[channel]]")
            file.write_text(text[:start], encoding="utf-8")
            assert "4 of 4" in await shell(local.folder, "channel", "sign")
            with pytest.raises(Rejected, match="there is no channel metrics"):
                await publisher.publish(b"two")
            with pytest.raises(ConfigError, match="there is no channel metrics; there are"):
                await qc.publisher("metrics")
            file.write_text(file.read_text(encoding="utf-8") + "\n" + text[start:])
            assert "4 of 4" in await shell(local.folder, "channel", "sign")
            await until(lambda: "metrics" in {each.name for each in qc.channels})
            again = await qc.publisher("metrics")
            await again.publish(b"three")
            assert (await local.channels())["metrics"]["streams"] == 2

    asyncio.run(scenario())


def test_an_old_file_put_back_brings_nothing_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local:
            file = local.folder / "cluster.toml"
            add_client(local.folder, "probe")
            old = file.read_text(encoding="utf-8")
            made, _ = revoke(local.folder, "probe")
            known = await spread(made)
            assert (known.here, known.of_here, known.of_elsewhere) == (4, 4, 0)
            await local.stop()
            file.write_text(old, encoding="utf-8")
            local.start()
            await local.wait_ready()
            said = await shell(local.folder, "pub", "events", "x", "--as", "probe", code=4)
            assert "this name is revoked" in said
            await until(lambda: load_cluster(file).charter == made.charter)

    asyncio.run(scenario())


def test_a_file_that_changes_what_cannot_change_is_not_started_with(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local:
            file = local.folder / "cluster.toml"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace('protocol = "bracha"', 'protocol = "ab"'))
            said = await shell(local.folder, "channel", "sign", code=2)
            assert "channel alerts: protocol cannot change" in said
            (local.folder / "local.qc").unlink()  # nothing is left that knows better, but replicas
            (local.folder / "reader.qc").unlink()
            copies = [local.folder / name / "charter" for name in local.names]
            kept = [copy.read_bytes() for copy in copies]
            for copy in copies:
                copy.unlink()
            made, _ = sign_again(local.folder)
            for copy, data in zip(copies, kept, strict=True):
                copy.write_bytes(data)
                copy.chmod(0o600)
            known = await spread(made)
            assert known.here == 0
            assert "r1: channel alerts: protocol cannot change" in known.faults[0]
            await local.stop(["r4"])
            local.start(["r4"])
            with pytest.raises(NotReady, match=r"cluster.toml:\d+: channel alerts: protocol cann"):
                await local.wait_ready(["r4"])

    asyncio.run(scenario())


# -- several hosts ---------------------------------------------------------------------------------


@asynccontextmanager
async def two_hosts(
    tmp_path: Path,
) -> AsyncIterator[tuple[Path, tuple[LocalCluster, LocalCluster]]]:
    """The operator's folder, and two hosts' folders with two replicas each, up."""
    one, two, *there = free_addresses(4, port())
    addresses = [one, two, *(each.replace("127.0.0.1", "localhost") for each in there)]
    operator = tmp_path / "operator"
    make_cluster(operator, addresses=addresses, spread=True)
    for number, address in enumerate((addresses[0], addresses[2])):
        shutil.move(host_folder(operator, address), tmp_path / f"host{number}")
    one, two = (LocalCluster(tmp_path / f"host{number}") for number in range(2))
    assert (one.names, two.names) == (("r1", "r2"), ("r3", "r4"))
    try:
        for host in (one, two):
            host.start()
        for host in (one, two):
            await host.wait_ready()
        yield operator, (one, two)
    finally:
        for host in (one, two):
            await host.stop()


def test_the_operators_change_reaches_all_hosts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_hosts(tmp_path) as (operator, hosts):
            said = await shell(operator, "channel", "add", "news", "--publishers", "*")
            assert "4 of 4 replicas on other hosts have it." in said
            for host in hosts:
                await until(lambda host=host: load_cluster(host.folder).charter.version == 2)
            await hosts[1].stop()
            said = await shell(operator, "keys", "revoke", "probe")
            assert "2 of 4 replicas on other hosts have it; the others learn it when" in said
            hosts[1].start()
            await hosts[1].wait_ready()
            await until_all_have(hosts[1], 3)
            assert "probe" in load_cluster(hosts[0].folder).revoked

    asyncio.run(scenario())


def test_what_one_hosts_file_says_all_hosts_learn(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_hosts(tmp_path) as (operator, (one, two)):
            made, _ = add_channel(operator, {"name": "news", "publishers": ["*"]})
            shutil.copy(operator / "cluster.toml", one.folder)
            assert await one.ask("r2", "learn") == {"version": 2}
            await until_all_have(one, 2)
            await until_all_have(two, 2)
            await until(lambda: load_cluster(two.folder).charter == made.charter)
            # One that was down meanwhile learns it from its peers.
            await two.stop(["r4"])
            later, _ = revoke(operator, "probe")
            shutil.copy(operator / "cluster.toml", one.folder)
            await one.ask("r1", "learn")
            await until_all_have(one, 3)
            two.start(["r4"])
            await two.wait_ready(["r4"])
            await until_all_have(two, 3)
            assert load_cluster(two.folder).charter == later.charter

    asyncio.run(scenario())


def test_status_asks_other_hosts_in_the_operators_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_hosts(tmp_path) as (operator, (one, two)):
            found = json.loads(await shell(operator, "status", "--json"))
            assert [each["state"] for each in found["replicas"]] == ["ready"] * 4
            assert [each["statement_of"] for each in found["replicas"]] == ["r1", "r2", "r3", "r4"]
            assert found["faults_left"] == 1
            async with connect(operator / "local.qc", timeout=TIMEOUT_SECONDS) as qc:
                await (await qc.publisher("events")).publish(b"x")
                live = json.loads(await shell(operator, "channels", "--json"))
                assert (live[0]["held"], live[0]["publishers"]) == (1, 1)
            # A host without the operator's key sees its own, and that they have links to others.
            found = json.loads(await shell(one.folder, "status", "--json"))
            states = [each["state"] for each in found["replicas"]]
            assert states == ["ready", "ready", "unreachable", "unreachable"]
            assert found["faults_left"] == 1
            shown = await shell(one.folder, "status")
            assert "1 more may fail\ncould not ask r3, r4: operator.key is not here\n" in shown
            await two.stop()
            found = json.loads(await shell(operator, "status", "--json"))
            assert [each["state"] for each in found["replicas"]][2:] == ["unreachable"] * 2
            assert found["faults_left"] == -1
            assert "1 too many are away" in await shell(operator, "status")
            # Another operator's key opens nothing.
            make_cluster(tmp_path / "other", first_port=port() + 8)
            cluster, other = load_cluster(operator), LocalCluster(tmp_path / "other")
            with pytest.raises(ConfigError, match="not the operator's key"):
                await ask_reports(cluster, operator_of(other.folder), ["r1"])

    asyncio.run(scenario())


def operator_of(folder: Path) -> Any:
    from quorumcast.runtime.changing import load_operator

    return load_operator(folder, load_cluster(folder))
