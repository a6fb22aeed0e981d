"""A subscription as its user sees it."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeAlias

from quorumcast.api.cursor import Cursor, Next, Tracker
from quorumcast.api.errors import Closed, may_not_block
from quorumcast.api.feed import Feed, Policy
from quorumcast.api.hub import Hub
from quorumcast.api.received import Received
from quorumcast.api.tables import to_table
from quorumcast.client.subscription import Start
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Stream
from quorumcast.events.arrow import ArrowTable
from quorumcast.events.values import EPOCH

From: TypeAlias = str | Cursor | datetime
"""Where to begin: "earliest", the first event retained; "latest", the next one published; where a
cursor stands (also as text); or the first event whose own timestamp is not before a time."""

Callback: TypeAlias = Callable[[Received], Awaitable[None] | None]


class Subscription:
    """Events of one channel, in each publisher's order; made by `AsyncClient.subscribe`.

    Iterate, poll, or give a callback: an event is handed over once, whichever way.
    """

    def __init__(
        self,
        hub: Hub,
        channel: str,
        *,
        from_: From,
        publishers: tuple[str, ...],
        policy: Policy,
        on_event: Callback | None,
    ) -> None:
        self.channel = channel
        self.schema = policy.schema
        self._hub = hub
        start, streams, since = _beginning(channel, from_)
        if since is not None:
            policy = policy._replace(since=since)
        self._tracker = Tracker(channel, streams)
        self._starts: Mapping[Stream, int] | None = None
        self._feed = Feed(
            policy,
            self._tracker,
            streams,
            lambda: hub.hold(channel),
            lambda: hub.release(channel),
            time.time,
        )
        hub.subscribe(channel, self._feed, publishers, start)
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        if on_event is not None:
            self._task = asyncio.get_running_loop().create_task(self._call(on_event))

    # -- reading -------------------------------------------------------------------------------

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Received:
        event = self._next()
        while event is None:
            await self._feed.wait()
            event = self._next()
        return event

    def _next(self) -> Received | None:
        try:
            return self._feed.next()
        except Closed:
            if self._closed:
                raise StopAsyncIteration from None
            raise

    async def take(
        self,
        max_events: int,
        timeout: float | None = None,  # noqa: ASYNC109  a time without events is no error
    ) -> list[Received]:
        """Up to so many events: waits for the first one, up to `timeout` seconds, not for more."""
        _check_most(max_events)
        await self._wait(timeout)
        events = self._feed.take(max_events)
        while not events and self._feed.error is None and timeout is None:
            await self._feed.wait()  # all that was there had expired
            events = self._feed.take(max_events)
        return events

    async def poll(
        self,
        max_events: int = 10_000,
        timeout: float | None = 1.0,  # noqa: ASYNC109  a time without events is no error
    ) -> ArrowTable:
        """Up to so many events as a `pyarrow.Table`; none where none came within `timeout` seconds.

        Raises `Gap` where the next thing to read is a gap, and `on_gap` is "fail".
        """
        _check_most(max_events)
        await self._wait(timeout)
        feed = self._feed
        return to_table(feed.policy.schema, feed.parts(max_events), feed.oldest(), feed.passed)

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._feed.wait()
        except TimeoutError:
            pass

    async def _call(self, on_event: Callback) -> None:
        async for event in self:
            answer = on_event(event)
            if inspect.isawaitable(answer):
                await answer

    async def join(self) -> None:
        """Wait until the callback's work is over; raises what it raised, or why events ended."""
        if self._task is not None:
            await asyncio.shield(self._task)

    # -- where it stands -----------------------------------------------------------------------

    async def ready(self) -> Subscription:
        """Wait until the subscription is in force: all that is published from now on comes."""
        begun = self._hub.begun(self.channel)
        await self._hub.patience(self.channel, None, begun, "not subscribed in time")
        if self._feed.error is not None and not self._closed:
            raise self._feed.error
        self._remember_starts()
        return self

    @property
    def cursor(self) -> Cursor:
        """Where reading would go on; `ConfigError` before it is decided where "latest" is."""
        self._remember_starts()
        if self._starts is None:
            raise ConfigError(
                'it is not decided yet where "latest" is: wait for ready(), or for an event'
            )
        return self._tracker.cursor(self._starts)

    def _remember_starts(self) -> None:
        if self._starts is None:
            self._starts = self._hub.starts(self.channel)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def waiting(self) -> int:
        """Events that came and were not read yet."""
        return self._feed.events

    @property
    def lagging(self) -> bool:
        """Whether the queue is full, and the rest waits at the replicas."""
        return self._feed.held

    @property
    def dropped(self) -> int:
        """Events that the queue's policy dropped."""
        return self._feed.dropped

    @property
    def expired(self) -> int:
        """Events that were older than the channel's ttl when their turn came."""
        return self._feed.expired

    # -- the end -------------------------------------------------------------------------------

    async def close(self) -> None:
        """Unsubscribe; what was not read is dropped, and the cursor stays."""
        if self._closed:
            return
        self._remember_starts()
        self._closed = True
        self._feed.end(Closed(f"this subscription to {self.channel} is closed: subscribe again"))
        self._feed.clear()
        self._hub.unsubscribe(self.channel, self._feed)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _beginning(channel: str, from_: From) -> tuple[Start, dict[Stream, Next], int | None]:
    """Where the machine begins, what a cursor says, and the least timestamp."""
    if isinstance(from_, datetime):
        if from_.tzinfo is None:
            raise ConfigError(f"from_ = {from_} has no zone: use a datetime with one, such as UTC")
        return "earliest", {}, (from_ - EPOCH) // timedelta(microseconds=1)
    if from_ == "earliest":
        return "earliest", {}, None
    if from_ == "latest":
        return "latest", {}, None
    cursor = Cursor.parse(from_) if isinstance(from_, str) else from_
    if not isinstance(cursor, Cursor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f'from_ = {from_!r} is no place to begin: use "earliest", "latest", a cursor '
            "or a datetime"
        )
    if cursor.channel != channel:
        raise ConfigError(f"the cursor is for {cursor.channel}: subscribe to that, not {channel}")
    streams = dict(cursor.streams)
    return {stream: at.seq for stream, at in streams.items()}, streams, None


def _check_most(max_events: int) -> None:
    if max_events < 1:
        raise ConfigError(f"max_events = {max_events} is out of range: use 1 or more")


def check_block(hub: Hub, channel: str, policy: Policy) -> None:
    """Only those whom the channel trusts may let it wait for them; replicas see to it too."""
    trusted = hub.channel(channel).channel.trusts_subscriber(hub.me)
    if policy.overflow == "block" and not trusted:
        raise may_not_block(hub.me, channel)
