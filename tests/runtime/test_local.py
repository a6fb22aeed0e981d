"""Replicas as real processes: they find each other, stop, crash, come back, begin new lives."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.evidence import Evidence, Weight
from quorumcast.runtime.control import NotRunning, control_path, give_order
from quorumcast.runtime.folder import make_cluster, replica_folder
from quorumcast.runtime.local import LOG_FILE, LocalCluster, NotReady
from quorumcast.runtime.report import Suspects, rss_bytes
from tests.cluster.fire import port


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalCluster]:
    """A cluster of four that is made and not started; what runs of it ends with the test."""
    make_cluster(tmp_path / "cluster", first_port=port())
    cluster = LocalCluster(tmp_path / "cluster")
    try:
        yield cluster
    finally:
        asyncio.run(cluster.stop())


async def started(local: LocalCluster) -> dict[str, Any]:
    local.start()
    await local.wait_ready()
    return {each["name"]: each for each in (await local.status())["replicas"]}


def test_four_processes_find_each_other_and_stop_in_order(local: LocalCluster) -> None:
    async def scenario() -> None:
        replicas = await started(local)
        assert list(replicas) == ["r1", "r2", "r3", "r4"]
        assert {each["state"] for each in replicas.values()} == {"ready"}
        assert len({each["pid"] for each in replicas.values()} | {os.getpid()}) == 5
        assert await local.running() == ["r1", "r2", "r3", "r4"]
        assert await local.stop() == ["r1", "r2", "r3", "r4"]
        assert await local.running() == []
        assert await local.stop() == []

    asyncio.run(scenario())


def test_status_says_how_many_more_may_fail(local: LocalCluster) -> None:
    async def scenario() -> None:
        await started(local)
        whole = await local.status()
        await local.stop(["r2"])
        less = await local.status()
        assert (whole["n"], whole["f"], whole["quorum"], whole["faults_left"]) == (4, 1, 3, 1)
        assert less["faults_left"] == 0
        states = {each["name"]: each["state"] for each in less["replicas"]}
        assert states["r2"] == "stopped"

    asyncio.run(scenario())


def test_a_killed_replica_comes_back_with_its_incarnation(local: LocalCluster) -> None:
    async def scenario() -> None:
        before = await started(local)
        local.kill("r3")
        assert local.ended() == ["r3"]
        local.start(["r3"])
        await local.wait_ready()
        after = await local.ask("r3")
        assert after["pid"] != before["r3"]["pid"]
        assert after["incarnation"] == before["r3"]["incarnation"] == 1

    asyncio.run(scenario())


def test_a_replica_whose_journal_is_gone_begins_a_new_incarnation_and_says_why(
    local: LocalCluster,
) -> None:
    async def scenario() -> None:
        await started(local)
        local.kill("r3")
        shutil.rmtree(replica_folder(local.folder, "r3") / "journal")
        local.start(["r3"])
        await local.wait_ready()
        assert (await local.ask("r3"))["incarnation"] > 1
        log = (replica_folder(local.folder, "r3") / LOG_FILE).read_text()
        assert "begins a new incarnation" in log

    asyncio.run(scenario())


def test_a_replica_that_cannot_start_is_named_with_the_reason(local: LocalCluster) -> None:
    async def scenario() -> None:
        (replica_folder(local.folder, "r4") / "replica.key").write_text("no keys at all")
        local.start(["r4"])
        with pytest.raises(NotReady, match=r"r4 ended: .*replica\.key.*replica\.log"):
            await local.wait_ready(["r4"])

    asyncio.run(scenario())


def test_two_replicas_do_not_share_one_journal(local: LocalCluster) -> None:
    async def scenario() -> None:
        await started(local)
        second = LocalCluster(local.folder)
        second.start(["r1"])
        # The first answers at the control socket: wait for the second's process to end instead.
        await asyncio.to_thread(second._processes["r1"].wait, 20)
        assert second.ended() == ["r1"]
        assert await local.running() == ["r1", "r2", "r3", "r4"]
        log = (replica_folder(local.folder, "r1") / LOG_FILE).read_text()
        assert "journal" in log.splitlines()[-1]

    asyncio.run(scenario())


# -- orders ----------------------------------------------------------------------------------------


def test_the_control_socket_is_its_owners_alone(local: LocalCluster) -> None:
    async def scenario() -> None:
        await started(local)
        path = control_path(local.cluster.manifest.cluster_id, "r1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with pytest.raises(QuorumcastError, match="there is no order lie"):
            await give_order(path, "lie")
        assert (await give_order(path, "status"))["name"] == "r1"

    asyncio.run(scenario())


def test_orders_to_nobody(tmp_path: Path) -> None:
    with pytest.raises(NotRunning):
        asyncio.run(give_order(tmp_path / "nobody.sock", "status"))


def test_an_unknown_replica_is_named_with_those_there_are(local: LocalCluster) -> None:
    with pytest.raises(ConfigError, match="no replica r9 here: there are r1, r2, r3, r4"):
        local.check("r9")


# -- reports ---------------------------------------------------------------------------------------


def test_suspects_are_counted_by_whom_and_how_strongly() -> None:
    suspects = Suspects("r1")
    for now, weight, who in (
        (1.0, Weight.LOCAL, {"r4"}),
        (2.0, Weight.LOCAL, {"r4"}),
        (3.0, Weight.SUSPICION, {"r4", "p"}),
    ):
        suspects.note(Evidence(weight, frozenset(who), "lies", None, None, None), now)
    first, second = suspects.listed()
    assert (first["grade"], first["count"], first["first"], first["last"]) == ("observed", 2, 1, 2)
    assert (second["grade"], second["parties"]) == ("suspected", ["p", "r4"])


def test_suspects_are_bounded() -> None:
    suspects = Suspects("r1")
    for number in range(10_000):
        parties = frozenset({f"p{number}"})
        suspects.note(Evidence(Weight.LOCAL, parties, "lies", None, None, None), 1.0)
    assert len(suspects.listed()) == 256


def test_memory_is_told_in_bytes() -> None:
    assert 2**20 < rss_bytes() < 2**34
