"""Honest people at work, and whether they notice what others do to their cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from quorumcast.api.flight import Handle
from quorumcast.api.publishing import Publisher
from quorumcast.api.subscribing import Subscription
from quorumcast.runtime.local import LocalCluster
from tests.cluster.fire import client

EVENTS_PER_SECOND = 100
IN_TIME_SECONDS = 3.0
"""From `send` to the acknowledgement, and to the delivery: for every single event, however the
cluster is attacked and whatever else this machine does."""

RSS_BYTES = 200 * 2**20
"""What a replica of the tests takes at most: some 60 MB are the interpreter and its libraries."""


class Steady:
    """A publisher that sends at an even pace, and a subscriber that reads what comes."""

    def __init__(self, publisher: Publisher, subscription: Subscription) -> None:
        self._publisher = publisher
        self._subscription = subscription
        self.sent: list[float] = []
        self.handles: list[Handle] = []
        self.acknowledged: dict[int, float] = {}
        self.delivered: list[float] = []
        self.payloads: list[bytes] = []
        self._stopping = asyncio.Event()
        self._waiting: list[asyncio.Task[None]] = []

    async def publish(self) -> None:
        """Send at an even pace until it is over; what is late is not caught up with."""
        while not self._stopping.is_set():
            number = len(self.sent)
            self.sent.append(time.monotonic())
            handle = await self._publisher.send(b"%d" % number)
            self._waiting.append(asyncio.create_task(self._acknowledge(number, handle)))
            await asyncio.sleep(1 / EVENTS_PER_SECOND)

    async def _acknowledge(self, number: int, handle: Handle) -> None:
        await handle.acknowledged()
        self.acknowledged[number] = time.monotonic()

    async def read(self) -> None:
        """Read until everything that was sent is there."""
        while not (self._stopping.is_set() and len(self.payloads) >= len(self.sent)):
            for event in await self._subscription.take(1000, timeout=0.1):
                self.payloads.append(event.payload)
                self.delivered.append(time.monotonic())

    async def stop(self) -> None:
        self._stopping.set()
        await asyncio.gather(*self._waiting)

    @property
    def slowest(self) -> tuple[float, float]:
        """The slowest acknowledgement and the slowest delivery, in seconds."""
        acks = [self.acknowledged[number] - at for number, at in enumerate(self.sent)]
        return max(acks), max(
            got - sent for got, sent in zip(self.delivered, self.sent, strict=True)
        )


@asynccontextmanager
async def steady(
    local: LocalCluster, channel: str = "events", seconds: float = 120.0
) -> AsyncIterator[Steady]:
    """Somebody publishes and somebody subscribes, all the time; at the end all has come once."""
    async with client(local, "local") as writer, client(local, "reader") as reader:
        subscription = await reader.subscribe(channel, publishers=("local",)).ready()
        work = Steady(await writer.publisher(channel), subscription)
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            group.create_task(work.publish())
            group.create_task(work.read())
            yield work
            await work.stop()
        assert work.payloads == [b"%d" % number for number in range(len(work.sent))]
        assert not writer.evidence
        assert not reader.evidence


async def pids(local: LocalCluster) -> dict[str, int]:
    """The process of each replica."""
    return {each["name"]: each["pid"] for each in (await local.status())["replicas"]}


async def check_unharmed(
    local: LocalCluster, before: dict[str, int], most: int = RSS_BYTES
) -> dict[str, Any]:
    """The same processes run, remember little, and suspect nobody; returns their status."""
    await local.wait_ready()  # they catch up with what was published last
    status = await local.status()
    assert {each["name"]: each["pid"] for each in status["replicas"]} == before
    for each in status["replicas"]:
        assert each["state"] == "ready", each
        assert each["connected"] == len(before), each
        assert each["rss_bytes"] < most, each
    assert status["suspected"] == []
    return status
