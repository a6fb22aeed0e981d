"""The queue between what replicas agreed on and what a user has read.

Upon a delivery: its publications are read and queued. The queue holds so many events and so many
bytes; when it is full, the subscription's policy decides:

- lag: the channel is held; when half of the queue was read, it goes on from the replicas' logs
- block: the same here; replicas let those who may block slow the channel down
- drop-oldest: the publications that wait for longest go, and the cursor moves over them
- drop-newest: what arrives goes

A delivery that is under way is taken whole, so that a queue may exceed its limit by one window.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from quorumcast.api.cursor import Next, Tracker
from quorumcast.api.errors import Gap
from quorumcast.api.items import Batch, Singles, items_of
from quorumcast.api.received import Received
from quorumcast.core import outcomes
from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Stream
from quorumcast.core.limits import QUEUE_BYTES
from quorumcast.events import Schema
from quorumcast.runtime.channels import ChannelSettings, Overflow

MICROSECONDS = 1_000_000


class Part(NamedTuple):
    """Rows of one publication, from `first` on, for a table."""

    item: Batch | Singles
    first: int
    length: int


class Policy(NamedTuple):
    """What a subscription asks of its queue.

    >>> Policy(Schema(), 100, "lag", True, None, None).events
    100
    """

    schema: Schema
    events: int
    overflow: Overflow
    fail_on_gap: bool
    ttl_seconds: float | None
    since: int | None
    """Events with an earlier timestamp are passed over; microseconds since 1970."""
    bytes: int = QUEUE_BYTES

    @classmethod
    def of(cls, settings: ChannelSettings) -> Policy:
        """What a channel's table says.

        >>> from quorumcast.core.channel import Channel
        >>> Policy.of(ChannelSettings(Channel("alerts"))).overflow
        'lag'
        """
        queue, fail = settings.queue, settings.on_gap == "fail"
        return cls(settings.schema, queue.events, queue.overflow, fail, settings.ttl_seconds, None)


class Feed:
    """Publications in, events out; `hold` and `release` reach the machine."""

    def __init__(
        self,
        policy: Policy,
        tracker: Tracker,
        skip: Mapping[Stream, Next],
        hold: Callable[[], object],
        release: Callable[[], object],
        clock: Callable[[], float],
    ) -> None:
        self.policy = policy
        self.tracker = tracker
        self.events = 0
        """Events that wait."""
        self.bytes = 0
        """Bytes of their bodies."""
        self.dropped = 0
        """Events that the policy dropped."""
        self.expired = 0
        """Events that were older than the channel's ttl when they would have been handed over."""
        self.held = False
        self.error: QuorumcastError | None = None
        """Why nothing more will come."""
        self._queue: deque[Batch | Singles | Gap] = deque()
        self._skip = {stream: at for stream, at in skip.items() if at.row}
        self._hold = hold
        self._release = release
        self._clock = clock
        self._waiters: list[asyncio.Future[None]] = []

    # -- what comes in -------------------------------------------------------------------------

    def deliver(self, delivery: outcomes.Delivery) -> None:
        """Publications that replicas agreed on, the next ones of their stream."""
        if self.error is not None:
            return
        policy = self.policy
        for item in items_of(policy.schema, delivery):
            if self._skip:
                self._begin(item)
            size = item.size
            too_much = self.events + item.left > policy.events or self.bytes + size > policy.bytes
            if too_much and policy.overflow == "drop-newest":
                fresh = item.left
                item.cut(policy.events - self.events, policy.bytes - self.bytes)
                self.dropped += fresh - item.left
                size = item.size
            if item.left > 0:
                self._queue.append(item)
                self.events += item.left
                self.bytes += size
        if policy.overflow == "drop-oldest":
            self._drop_oldest()
        elif policy.overflow in ("lag", "block") and self._full:
            self._pause()
        self._wake()

    @property
    def _full(self) -> bool:
        return self.events >= self.policy.events or self.bytes >= self.policy.bytes

    def _begin(self, item: Batch | Singles) -> None:
        """A cursor may stand within the first publication of a stream."""
        at = self._skip.get(item.stream)
        if at is not None and at.seq < item.at.seq + item.rows:
            del self._skip[item.stream]
            item.begin(at)

    def gap(self, gap: outcomes.Gap) -> None:
        """Publications that no replica has any more."""
        if self.error is not None:
            return
        if self.policy.fail_on_gap and not gap.before:
            self._queue.append(Gap(gap.stream, gap.first, gap.last, ended=gap.ended))
            self._wake()
        else:
            self.tracker.move(gap.stream, Next(gap.last + 1))

    def end(self, error: QuorumcastError) -> None:
        """Nothing more comes; what waits can still be read."""
        if self.error is None:
            self.error = error
            self._wake()

    def clear(self) -> None:
        """Nobody will read what waits."""
        self._queue.clear()
        self.events = self.bytes = 0

    def _pause(self) -> None:
        if not self.held:
            self.held = True
            self._hold()

    def _drop_oldest(self) -> None:
        """Let the oldest publications go, but not the latest one, however long it is."""
        policy = self.policy
        while self.events > policy.events or self.bytes > policy.bytes:
            oldest = self._queue[0]
            if isinstance(oldest, Gap):
                self._queue.popleft()
                self.tracker.move(oldest.stream, Next(oldest.last + 1))
                continue
            last = len(self._queue) == 1
            if last and (isinstance(oldest, Batch) or oldest.left == 1):
                return
            gone = oldest.left
            if isinstance(oldest, Singles):
                excess = oldest.within(self.bytes - policy.bytes)
                gone = min(gone - last, max(excess, self.events - policy.events))
            oldest.row += gone
            self.dropped += gone
            self._taken(oldest, gone)

    # -- what goes out -------------------------------------------------------------------------

    async def wait(self) -> None:
        """Wait until there is something to read, or nothing more will come."""
        while not self._queue and self.error is None:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def next(self) -> Received | None:
        """The next event, or None where nothing waits; raises where a gap or the end is next."""
        return self._next(has_some=False)

    def _next(self, *, has_some: bool) -> Received | None:
        """The next event; who has some already is not told of a gap or the end before next time."""
        oldest = self.oldest()
        while not (has_some and self._at_gap()) and (item := self._head()) is not None:
            event = item.next()
            self._taken(item, 1)
            if event.timestamp >= oldest or event.error is not None:
                return event
            self.passed(1, event.timestamp)
        return None

    def take(self, most: int) -> list[Received]:
        """Up to so many events; what is raised by `next` waits for the next call."""
        events: list[Received] = []
        while len(events) < most:
            event = self._next(has_some=bool(events))
            if event is None:
                break
            events.append(event)
        return events

    def parts(self, most: int) -> list[Part]:
        """Up to so many rows, publication by publication; raises as `next` does."""
        parts: list[Part] = []
        while most > 0 and not (parts and self._at_gap()):
            item = self._head()
            if item is None:
                break
            count = min(most, item.left)
            parts.append(Part(item, item.row, count))
            item.row += count
            most -= count
            self._taken(item, count)
        return parts

    def oldest(self) -> float:
        """The timestamp before which events are not handed over."""
        ttl, since = self.policy.ttl_seconds, self.policy.since
        oldest = float("-inf") if since is None else since
        if ttl is not None:
            oldest = max(oldest, (self._clock() - ttl) * MICROSECONDS)
        return oldest

    def passed(self, count: int, timestamp: float) -> None:
        """Events that are too old were passed over."""
        since = self.policy.since
        if since is None or timestamp >= since:
            self.expired += count

    def _at_gap(self) -> bool:
        return not self._queue or isinstance(self._queue[0], Gap)

    def _head(self) -> Batch | Singles | None:
        if not self._queue:
            if self.error is not None:
                raise self.error
            return None
        head = self._queue[0]
        if isinstance(head, Gap):
            self._queue.popleft()
            self.tracker.move(head.stream, Next(head.last + 1))
            raise head
        return head

    def _taken(self, item: Batch | Singles, count: int) -> None:
        self.events -= count
        self.bytes -= item.freed(count)
        self.tracker.move(item.stream, item.at)
        if item.left == 0:
            self._queue.popleft()
        policy = self.policy
        if self.held and self.events <= policy.events // 2 and self.bytes <= policy.bytes // 2:
            self.held = False
            self._release()
