"""People who mean harm, with good identities or none: nobody honest notices."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.control import control_path
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster
from tests.cluster.attacks import ATTACKS, BIG_FRAMES
from tests.cluster.fire import client, port, restart
from tests.cluster.steady import IN_TIME_SECONDS, RSS_BYTES, check_unharmed, pids, steady

SECONDS = "1"


async def attack(local: LocalCluster, name: str, seconds: str = SECONDS) -> int:
    """Attack from another process until it is over; returns how often it was done."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.cluster.attacks", str(local.folder), name, seconds),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    done = await process.stdout.read()
    assert await process.wait() == 0
    return int(done)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One cluster for all attacks: what one leaves behind, the next ones find."""
    folder = tmp_path_factory.mktemp("hostile") / "c"
    make_cluster(folder, first_port=port())
    add_client(folder, "reader")
    local = LocalCluster(folder)
    local.start()
    try:
        asyncio.run(local.wait_ready())
        yield local
    finally:
        asyncio.run(local.stop())


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_an_attack_harms_nobody(cluster: LocalCluster, name: str) -> None:
    async def scenario() -> None:
        before = await pids(cluster)
        async with steady(cluster) as work:
            assert await attack(cluster, name) > 0
            assert (await cluster.status())["faults_left"] == 1
        assert max(work.slowest) < IN_TIME_SECONDS
        await check_unharmed(cluster, before, RSS_BYTES + BIG_FRAMES.get(name, 0))

    asyncio.run(scenario())


def test_replicas_and_clients_find_each_other_in_a_flood(cluster: LocalCluster) -> None:
    """New links come about while strangers hold all places and ask for more."""

    async def scenario() -> None:
        async with steady(cluster) as work:
            flood = asyncio.create_task(attack(cluster, "flood", "5"))
            await restart(cluster, "r3")
            for number in range(5):
                async with client(cluster, "newcomer") as newcomer:
                    publisher = await newcomer.publisher("alerts")
                    await publisher.publish(b"%d" % number)
            assert not flood.done()
            assert await flood > 1000
        assert max(work.slowest) < IN_TIME_SECONDS
        await check_unharmed(cluster, await pids(cluster))

    if not (cluster.folder / "newcomer.qc").exists():
        add_client(cluster.folder, "newcomer")
    asyncio.run(scenario())


def test_a_process_with_few_files_serves_in_a_flood(tmp_path: Path) -> None:
    """No place is counted twice: its operator, its peers and its clients find a file."""
    folder = tmp_path / "c"
    make_cluster(folder, first_port=port())
    add_client(folder, "reader")
    local = LocalCluster(folder)
    command = f"ulimit -n 256 && exec {sys.executable} -m quorumcast.cli replica"
    processes = [
        subprocess.Popen(
            f"{command} {name} --cluster {folder} >>{folder / name}/replica.log 2>&1", shell=True
        )
        for name in local.names
    ]

    async def scenario() -> None:
        await local.wait_ready()
        before = await pids(local)
        async with steady(local) as work:
            flood = asyncio.create_task(attack(local, "flood", "3"))
            while not flood.done():
                for replica in (await local.status())["replicas"]:
                    assert replica["state"] == "ready"
                await asyncio.wait([flood], timeout=0.1)
            assert await flood > 1000
            places = len(local.names) * Bounds.within(256).connections
            assert await attack(local, "many-identities", "5") > places
            assert (await local.status())["faults_left"] == 1
        assert max(work.slowest) < IN_TIME_SECONDS
        await check_unharmed(local, before)

    try:
        asyncio.run(scenario())
    finally:
        asyncio.run(local.stop())
        for process in processes:
            process.wait(10)
    assert all(
        not os.path.exists(control_path(local.cluster.manifest.cluster_id, name))
        for name in local.names
    )
