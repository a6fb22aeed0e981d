"""Processes that crash: nothing acknowledged is lost, nothing comes twice, nothing is altered."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from quorumcast.api.client import connect
from quorumcast.api.publishing import Publisher
from quorumcast.runtime.files import write_file
from quorumcast.runtime.folder import replica_folder
from quorumcast.runtime.local import LocalCluster
from tests.cluster.fire import TIMEOUT_SECONDS, client, payloads, read, restart, running

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


async def all_confirmed(
    local: LocalCluster, channel: str, count: int, least: int = 3
) -> dict[str, Any]:
    """Wait until so many replicas have confirmed so many publications; returns what all say."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            reports = {name: await local.ask(name) for name in local.names}
            confirmed = [
                each["confirmed"]
                for report in reports.values()
                for each in report["channels"]
                if each["name"] == channel and each["confirmed"] >= count
            ]
            if len(confirmed) >= least:
                return reports
            await asyncio.sleep(0.05)


async def send_all(publisher: Publisher, payloads: list[bytes]) -> None:
    """Publish, some at a time."""
    for first in range(0, len(payloads), 50):
        for handle in [await publisher.send(each) for each in payloads[first : first + 50]]:
            await handle.acknowledged()


def test_a_publisher_that_crashes_in_a_burst(tmp_path: Path) -> None:
    """What it saw acknowledged is delivered and confirmed, in order, without a hole."""
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
            events = await read(subscription, acknowledged)
            assert payloads(events) == [b"%d" % number for number in range(acknowledged)]
            await all_confirmed(local, "events", events[-1].seq)

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


@pytest.mark.parametrize("channel", ["events", "alerts"])
def test_a_publisher_that_skips_a_replica(tmp_path: Path, channel: str) -> None:
    """Its link to r2 leads nowhere: r2 gets everything from its peers, and confirms it too."""

    async def scenario() -> None:
        nobody = socket.create_server(("127.0.0.1", 0))  # accepts and says nothing
        with nobody:
            await skipping(nobody.getsockname()[1])

    async def skipping(nobody: int) -> None:
        async with running(tmp_path / "c") as local, client(local, "reader") as reader:
            cut = tmp_path / "cut.qc"
            where = local.cluster.addresses["r2"]
            text = (
                (local.folder / "local.qc").read_text().replace(where, f"tcp://127.0.0.1:{nobody}")
            )
            write_file(cut, text, secret=True)
            subscription = await reader.subscribe(channel, from_="earliest").ready()
            async with connect(cut, timeout=TIMEOUT_SECONDS) as writer:
                publisher = await writer.publisher(channel)
                sent = [b"%d" % number for number in range(EVENTS)]
                for first in range(0, EVENTS, 100):
                    handles = [await publisher.send(each) for each in sent[first : first + 100]]
                    for handle in handles:
                        await handle.acknowledged()
                # Now two replicas hear the publisher; the one that was skipped makes a quorum.
                local.kill("r1")
                sent.append(b"without r1")
                last = await publisher.publish(sent[-1])
                local.start(["r1"])
                await local.wait_ready(["r1"])
            assert payloads(await read(subscription, len(sent))) == sent
            assert not reader.evidence
            assert (await local.status())["suspected"] == []
            report = await all_confirmed(local, channel, last.id.seq, least=4)
            assert report["r2"]["abstaining_streams"] == 0

    asyncio.run(scenario())


def test_a_subscriber_that_is_killed_resumes_from_its_cursor(tmp_path: Path) -> None:
    """A line of its output is an event and the cursor behind it: the last whole one counts."""

    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local) as writer:
            publisher = await writer.publisher("events")
            sent = [b"%d" % number for number in range(EVENTS)]
            publishing = asyncio.create_task(send_all(publisher, sent))
            got: list[bytes] = []
            cursor = "earliest"
            for crash in (400, 900, 1700, 0):
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "tests.cluster.reader"),
                    *(str(local.folder / "reader.qc"), "events", cursor, "lag", "100"),
                    str(EVENTS - len(got)),
                    stdout=asyncio.subprocess.PIPE,
                )
                assert process.stdout is not None
                while line := await process.stdout.readline():
                    if line == b"ready\n" or not line.endswith(b"\n"):
                        continue
                    payload, cursor = line[:-1].decode().split(" ", 1)
                    got.append(payload.encode())
                    if len(got) == crash:
                        process.kill()
                        break
                await process.wait()
            await publishing
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
            assert status["state"] == "abstaining"
            assert status["abstaining_streams"] >= 1
            events = await read(subscription, number + 1)
            assert payloads(events) == [b"before", *(b"%d" % each for each in range(number))]

    asyncio.run(scenario())
