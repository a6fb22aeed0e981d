"""Processes that crash: nothing acknowledged is lost, nothing comes twice, nothing is altered."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from quorumcast.runtime.folder import replica_folder
from quorumcast.runtime.local import LocalCluster
from tests.cluster.fire import client, payloads, read, restart, running

EVENTS = 3_000


@pytest.mark.parametrize("channel", ["events", "alerts"])
def test_replicas_that_crash_one_after_the_other_lose_nothing(tmp_path: Path, channel: str) -> None:
    async def crash_all(local: LocalCluster, over: asyncio.Event) -> None:
        for name in ("r1", "r2", "r3", "r4"):
            await restart(local, name)
        over.set()

    async def scenario() -> None:
        async with (
            running(tmp_path / "c") as local,
            client(local) as writer,
            client(local, "reader") as reader,
        ):
            subscription = await reader.subscribe(channel, from_="earliest").ready()
            publisher = await writer.publisher(channel)
            over = asyncio.Event()
            crashes = asyncio.create_task(crash_all(local, over))
            sent: list[bytes] = []
            while not over.is_set() or len(sent) < EVENTS:
                burst = [b"%d" % (len(sent) + number) for number in range(100)]
                handles = [await publisher.send(payload) for payload in burst]
                for handle in handles:
                    ack = await handle.acknowledged()
                    assert ack.replicas >= (2 if ack.confirmed else 3)
                sent += burst
            await crashes
            assert payloads(await read(subscription, len(sent))) == sent
            assert not reader.evidence
            assert not writer.evidence

    asyncio.run(scenario())


def test_a_publisher_that_crashes_in_a_burst(tmp_path: Path) -> None:
    """What it saw acknowledged is delivered, in order, without a hole."""
    program = """
import asyncio, sys
from quorumcast.api.client import connect
async def main():
    async with connect(sys.argv[1]) as qc:
        publisher = await qc.publisher("events")
        handles = []
        for number in range(1_000_000):
            handles.append(await publisher.send(b"%d" % number))
            if len(handles) == 50:
                for handle in handles:
                    await handle.acknowledged()
                print(number, flush=True)
                handles = []
asyncio.run(main())
"""

    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local, "reader") as reader:
            subscription = await reader.subscribe("events", from_="earliest").ready()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", program, str(local.folder / "local.qc")),
                stdout=asyncio.subprocess.PIPE,
            )
            assert process.stdout is not None
            acknowledged = 0
            for _ in range(20):
                acknowledged = int(await process.stdout.readline()) + 1
            process.kill()
            await process.wait()
            got = payloads(await read(subscription, acknowledged))
            assert got == [b"%d" % number for number in range(acknowledged)]

    asyncio.run(scenario())


def test_a_subscriber_resumes_from_its_cursor(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local) as writer:
            publisher = await writer.publisher("alerts")
            sent = [b"%d" % number for number in range(600)]
            for payload in sent[:300]:
                await publisher.send(payload)
            await publisher.flush()
            async with client(local, "reader") as reader:
                first = await reader.subscribe("alerts", from_="earliest").ready()
                got = payloads(await read(first, 200))
                cursor = str(first.cursor)
            for payload in sent[300:]:
                await publisher.send(payload)
            await publisher.flush()
            async with client(local, "reader") as reader:
                second = await reader.subscribe("alerts", from_=cursor).ready()
                got += payloads(await read(second, 400))
            assert got == sent

    asyncio.run(scenario())


def test_a_replica_without_its_journal_takes_part_in_new_sessions(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            running(tmp_path / "c") as local,
            client(local) as writer,
            client(local, "reader") as reader,
        ):
            subscription = await reader.subscribe("events", from_="earliest").ready()
            publisher = await writer.publisher("events")
            before = await publisher.publish(b"before")
            local.kill("r3")
            shutil.rmtree(replica_folder(local.folder, "r3") / "journal")
            local.start(["r3"])
            await local.wait_ready(["r3"])
            number = 0
            async with asyncio.timeout(60):
                after = before
                while after.id.session == before.id.session:
                    after = await publisher.publish(b"%d" % number)
                    number += 1
            status = await local.ask("r3")
            assert status["incarnation"] > 1
            events = await read(subscription, number + 1)
            assert payloads(events) == [b"before", *(b"%d" % each for each in range(number))]

    asyncio.run(scenario())
