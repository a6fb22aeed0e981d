"""Subscribers that do not read: others go on at their pace, and replicas keep little for them."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from quorumcast.api.subscribing import Subscription
from quorumcast.runtime.channels import Overflow
from quorumcast.runtime.folder import add_client
from quorumcast.runtime.local import LocalCluster
from tests.cluster.fire import client, payloads, read, running
from tests.cluster.steady import IN_TIME_SECONDS, RSS_BYTES, pids

EVENTS = 2_000
SIZE = 16 * 1024
QUEUE = 100
POLICIES: tuple[Overflow, ...] = ("lag", "drop-oldest", "drop-newest")
MOST = RSS_BYTES + 3 * EVENTS * SIZE
"""The bodies themselves, which replicas retain, and what waits in one client's socket."""


def body(number: int) -> bytes:
    return (b"%d" % number).ljust(SIZE, b".")


async def start_reader(local: LocalCluster, *arguments: str) -> Process:
    """A subscriber as a process of its own, whose subscription is in force."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.cluster.reader", *arguments), stdout=PIPE, limit=2**24
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def publish_all(local: LocalCluster, fast: Subscription) -> None:
    """Publish everything, one event at a time; a fast subscriber reads it meanwhile."""
    async with client(local) as writer:
        publisher = await writer.publisher("events", batch_events=1)
        reading = asyncio.create_task(read(fast, EVENTS))
        slowest = 0.0
        for first in range(0, EVENTS, 100):
            began = time.monotonic()
            handles = [await publisher.send(body(first + each)) for each in range(100)]
            for handle in handles:
                await handle.acknowledged()
            slowest = max(slowest, time.monotonic() - began)
        async with asyncio.timeout(IN_TIME_SECONDS):
            assert payloads(await reading) == [body(number) for number in range(EVENTS)]
        assert slowest < IN_TIME_SECONDS
        assert not writer.evidence


async def check_replicas(local: LocalCluster, before: dict[str, int]) -> None:
    status = await local.status()
    assert {each["name"]: each["pid"] for each in status["replicas"]} == before
    for each in status["replicas"]:
        assert each["state"] == "ready"
        assert each["rss_bytes"] < MOST
    assert status["suspected"] == []


def check_policy(policy: Overflow, numbers: list[int], dropped: int) -> None:
    """What came is what the policy lets through, in order, and nothing twice."""
    assert numbers == sorted(set(numbers))
    assert len(numbers) + dropped == EVENTS
    if policy == "lag":
        assert dropped == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_process_that_is_stopped_slows_nobody(tmp_path: Path, policy: Overflow) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local, "reader") as reader:
            before = await pids(local)
            path, _ = add_client(local.folder, "slow")
            arguments = (str(path), "events", "latest", policy, str(QUEUE), str(EVENTS))
            slow = await start_reader(local, *arguments)
            try:
                slow.send_signal(signal.SIGSTOP)
                await publish_all(local, await reader.subscribe("events").ready())
                await check_replicas(local, before)
                slow.send_signal(signal.SIGCONT)
                out, _ = await asyncio.wait_for(slow.communicate(), 60)
            finally:
                if slow.returncode is None:
                    slow.kill()
                    await slow.wait()
            numbers = [int(line.split()[0]) for line in out.splitlines()]
            check_policy(policy, numbers, EVENTS - len(numbers))
            if policy == "drop-oldest":
                assert numbers[-1] == EVENTS - 1
            elif policy == "drop-newest":
                assert numbers[:QUEUE] == list(range(QUEUE))

    asyncio.run(scenario())


@pytest.mark.parametrize("policy", POLICIES)
def test_an_application_that_does_not_read_slows_nobody(tmp_path: Path, policy: Overflow) -> None:
    async def scenario() -> None:
        async with (
            running(tmp_path / "c") as local,
            client(local, "reader") as reader,
            client(local, str(add_client(local.folder, "slow")[1].name)) as idle,
        ):
            before = await pids(local)
            slow = await idle.subscribe("events", overflow=policy, queue_events=QUEUE).ready()
            await publish_all(local, await reader.subscribe("events").ready())
            await check_replicas(local, before)
            async with asyncio.timeout(IN_TIME_SECONDS):
                while policy != "lag" and slow.waiting + slow.dropped < EVENTS:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            dropped = slow.dropped
            events = await read(slow, EVENTS - dropped)
            numbers = [int(payload.strip(b".")) for payload in payloads(events)]
            check_policy(policy, numbers, dropped)
            if policy == "drop-oldest":
                assert numbers == list(range(EVENTS - len(numbers), EVENTS))
                assert len(numbers) <= QUEUE
            elif policy == "drop-newest":
                assert numbers == list(range(QUEUE))

    asyncio.run(scenario())
