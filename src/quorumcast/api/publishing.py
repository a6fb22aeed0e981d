"""A publisher as its user sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from quorumcast.api.batching import TURN_BYTES, Batching, Budget, Gathering
from quorumcast.api.errors import Closed
from quorumcast.api.flight import Handle
from quorumcast.api.hub import Hub
from quorumcast.api.received import Ack
from quorumcast.api.tables import to_bodies
from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Lane
from quorumcast.core.outcomes import Ticket
from quorumcast.events import BadPublication, read

_NOTHING_LEFT = 2**62
"""Taken from the budget of a publisher that takes no more."""


def now_microseconds() -> int:
    """The wall clock, as events carry it.

    >>> now_microseconds() > 1_700_000_000_000_000
    True
    """
    return time.time_ns() // 1000


class Publisher:
    """Publishes on one channel; made by `AsyncClient.publisher`.

    Events that are not urgent are delivered in the order in which they were sent, and so are
    urgent ones; an urgent event may overtake others.
    """

    def __init__(
        self, hub: Hub, channel: str, batching: Batching, timeout_seconds: float | None
    ) -> None:
        self.channel = channel
        self.batching = batching
        settings = hub.channel(channel)
        self._hub = hub
        self._schema = settings.schema
        self._timeout_seconds = timeout_seconds
        self._closed = False
        self._ended = False
        """Whether the client is over, and `send` is made to notice."""
        self._waiters: list[asyncio.Future[None]] = []
        self._budget = Budget(batching.buffer_bytes)
        self._lanes = {
            lane: Gathering(settings, lane, batching, self._budget, self._publish, self._patience)
            for lane in Lane
        }
        self._normal, self._urgent = self._lanes[Lane.NORMAL], self._lanes[Lane.URGENT]
        for lane, gathering in self._lanes.items():
            hub.join(channel, lane, gathering)
        self._silence = hub.on_progress(self._progress)

    # -- one event -----------------------------------------------------------------------------

    async def publish(
        self,
        payload: bytes = b"",
        /,
        *,
        key: str | None = None,
        urgent: bool = False,
        timestamp: int | datetime | None = None,
        **attributes: Any,
    ) -> Ack:
        """Publish an event; returns when enough replicas hold it.

        `NoQuorum` means that its outcome is unknown: it may be delivered later.
        """
        sent = await self.send(payload, key=key, urgent=urgent, timestamp=timestamp, **attributes)
        return await sent.acknowledged()

    async def send(
        self,
        payload: bytes = b"",
        /,
        *,
        key: str | None = None,
        urgent: bool = False,
        timestamp: int | datetime | None = None,
        **attributes: Any,
    ) -> Handle:
        """Queue an event; waits only while more than `buffer_bytes` are not acknowledged.

        Await the handle for the acknowledgement, or `flush` for all.
        """
        if self._budget.left <= 0:
            await self.room()
        lane = self._urgent if urgent else self._normal
        handle = lane.add(payload, timestamp, key, urgent, attributes)
        if self._budget.launched > TURN_BYTES:
            await self._turn()
        return handle

    def offer(
        self, payload: Any, timestamp: Any, key: Any, urgent: Any, attributes: dict[str, Any]
    ) -> Handle:
        """Queue an event without waiting, whatever waits already; see `full` and `room`."""
        lane = self._urgent if urgent else self._normal
        return lane.add(payload, timestamp, key, urgent, attributes)

    def check(
        self, payload: Any, timestamp: Any, key: Any, urgent: Any, attributes: dict[str, Any]
    ) -> None:
        """Raise `ConfigError` unless an event fits the channel; may be called on any thread."""
        self._normal.check(payload, timestamp, key, urgent, attributes)

    @property
    def acknowledged(self) -> int:
        """How many of the events sent so far are acknowledged."""
        return sum(each.events_acknowledged for each in self._lanes.values())

    @property
    def full(self) -> bool:
        """Whether `send` would wait, or raise because it is closed."""
        return self._budget.left <= 0

    async def flush(self) -> None:
        """Wait until everything sent so far is acknowledged; raises the first failure among it.

        A failure that an awaited `publish` or handle raised is not raised again.
        """
        for gathering in self._lanes.values():
            gathering.cut()
        await self._patience(self._idle(), "not everything is acknowledged in time")
        for gathering in self._lanes.values():
            gathering.raise_failure()

    # -- many ----------------------------------------------------------------------------------

    async def publish_batch(
        self, data: Any, *, urgent: bool = False, timestamp: int | datetime | None = None
    ) -> list[Ack]:
        """Publish a table, a data frame or a list of events; one `Ack` for each publication.

        Most batches are one publication; `Ack.rows` says how many events each has.
        """
        handles = await self.send_batch(data, urgent=urgent, timestamp=timestamp)
        return [await handle.acknowledged() for handle in handles]

    async def send_batch(
        self, data: Any, *, urgent: bool = False, timestamp: int | datetime | None = None
    ) -> list[Handle]:
        """Queue a table, a data frame or a list of events; one handle for each publication."""
        at: Any = now_microseconds() if timestamp is None else timestamp
        bodies = to_bodies(self._schema, data, at)
        lane = self._urgent if urgent else self._normal
        handles: list[Handle] = []
        for body in bodies:
            if self._budget.left <= 0:
                await self.room()
            rows = len(data) if len(bodies) == 1 and hasattr(data, "__len__") else 0
            handles.append(lane.launch(body, rows or self._rows(body)))
            if self._budget.launched > TURN_BYTES:
                await self._turn()
        return handles

    def _rows(self, body: bytes) -> int:
        content = read(self._schema, body)
        assert not isinstance(content, BadPublication), "what was built can be read"
        return len(content)

    # -- waiting -------------------------------------------------------------------------------

    def _publish(self, body: bytes, lane: Lane) -> Ticket:
        return self._hub.publish(self.channel, body, lane)

    async def _patience(self, waiting: Awaitable[None], what: str) -> None:
        await self._hub.patience(self.channel, self._timeout_seconds, waiting, what)

    async def _turn(self) -> None:
        """Let the loop send what was published."""
        self._budget.launched = 0
        await asyncio.sleep(0)

    async def room(self) -> None:
        """Wait until there is room for another event."""
        if self._closed or self._hub.ended:
            raise self._over()
        full = "too much is not acknowledged, and no room came free in time"
        await self._patience(self._until(lambda: self._hub.ended or self._budget.left > 0), full)
        if self._hub.ended:
            raise self._over()

    async def _idle(self) -> None:
        await self._until(lambda: all(each.idle for each in self._lanes.values()))

    async def _until(self, reached: Any) -> None:
        while not reached():
            waiter: asyncio.Future[None] = self._hub.loop.create_future()
            self._waiters.append(waiter)
            await waiter

    def _progress(self) -> None:
        if self._hub.ended and not self._ended:
            self._ended = True
            self._budget.left -= _NOTHING_LEFT
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # -- the end -------------------------------------------------------------------------------

    def _over(self) -> QuorumcastError:
        if self._hub.ended:
            return self._hub.over()
        return Closed(f"this publisher of {self.channel} is closed: ask the client for another")

    async def close(self) -> None:
        """Flush, then take no more."""
        if self._closed:
            return
        self._closed = True
        self._budget.left -= _NOTHING_LEFT
        try:
            if not self._hub.closed:
                await self.flush()
        finally:
            self._silence()
            for lane, gathering in self._lanes.items():
                self._hub.leave(self.channel, lane, gathering)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
