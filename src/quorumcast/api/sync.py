"""The client without async: the same calls, made on a thread of its own that runs the loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from quorumcast.api.batching import Batching
from quorumcast.api.client import TIMEOUT_SECONDS, AsyncClient, connect
from quorumcast.api.cursor import Cursor, Next
from quorumcast.api.portal import Courier, Portal, SyncHandle
from quorumcast.api.publishing import Publisher
from quorumcast.api.received import Ack, Received
from quorumcast.api.subscribing import Callback, From, Subscription
from quorumcast.api.tables import received_table
from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Party
from quorumcast.events.arrow import ArrowTable
from quorumcast.runtime.channels import ChannelSettings, Overflow

CHUNK_EVENTS = 1024
"""Events that an iteration fetches from the loop's thread at once: a visit there takes a while."""


class SyncPublisher:
    """Publishes on one channel; made by `Client.publisher`."""

    def __init__(self, portal: Portal, publisher: Publisher) -> None:
        self.channel = publisher.channel
        self._portal = portal
        self._publisher = publisher
        self._courier = Courier(portal, publisher)

    def publish(
        self,
        payload: bytes = b"",
        /,
        *,
        key: str | None = None,
        urgent: bool = False,
        timestamp: int | datetime | None = None,
        **attributes: Any,
    ) -> Ack:
        """Publish an event; returns when enough replicas hold it."""
        return self._courier.send(payload, timestamp, key, urgent, attributes).result()

    def send(
        self,
        payload: bytes = b"",
        /,
        *,
        key: str | None = None,
        urgent: bool = False,
        timestamp: int | datetime | None = None,
        **attributes: Any,
    ) -> SyncHandle:
        """Queue an event; waits only while too much is not acknowledged."""
        return self._courier.send(payload, timestamp, key, urgent, attributes)

    def publish_batch(
        self, data: Any, *, urgent: bool = False, timestamp: int | datetime | None = None
    ) -> list[Ack]:
        """Publish a table, a data frame or a list of events; one `Ack` for each publication."""
        return [each.result() for each in self.send_batch(data, urgent=urgent, timestamp=timestamp)]

    def send_batch(
        self, data: Any, *, urgent: bool = False, timestamp: int | datetime | None = None
    ) -> list[SyncHandle]:
        """Queue a table, a data frame or a list of events; one handle for each publication."""
        work = self._publisher.send_batch(data, urgent=urgent, timestamp=timestamp)
        return [SyncHandle(self._portal, each) for each in self._portal.run(work)]

    def flush(self) -> None:
        """Wait until everything sent so far is acknowledged; raises the first failure among it."""
        self._portal.run(self._publisher.flush())

    def close(self) -> None:
        """Flush, then take no more."""
        self._portal.run(self._publisher.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class SyncSubscription:
    """Events of one channel; made by `Client.subscribe`. Iterate, or poll."""

    def __init__(self, portal: Portal, subscription: Subscription) -> None:
        self.channel = subscription.channel
        self._portal = portal
        self._subscription = subscription
        self._chunk: deque[Received] = deque()
        """Events that were fetched and not handed over yet."""

    def __iter__(self) -> Iterator[Received]:
        return self

    def __next__(self) -> Received:
        event = self.next(None)
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: float | None) -> Received | None:
        """The next event, or None where none came within `timeout` seconds, or it is closed."""
        if not self._chunk and not self._subscription.closed:
            fetched = self._subscription.take(CHUNK_EVENTS, timeout)
            self._chunk.extend(self._portal.run(fetched))
        return self._chunk.popleft() if self._chunk else None

    def poll(self, max_events: int = 10_000, timeout: float | None = 1.0) -> ArrowTable:
        """Up to so many events as a `pyarrow.Table`; none where none came within `timeout`."""
        if self._chunk:  # iteration fetched these, and left them
            events = [self._chunk.popleft() for _ in range(min(max_events, len(self._chunk)))]
            return received_table(self._subscription.schema, events)
        return self._portal.run(self._subscription.poll(max_events, timeout))

    def take(self, max_events: int, timeout: float | None = None) -> list[Received]:
        """Up to so many events: waits for the first one, up to `timeout` seconds, not for more."""
        if not self._chunk:
            return self._portal.run(self._subscription.take(max_events, timeout))
        return [self._chunk.popleft() for _ in range(min(max_events, len(self._chunk)))]

    def join(self) -> None:
        """Wait until the callback's work is over; raises what it raised, or why events ended."""
        self._portal.run(self._subscription.join())

    def ready(self) -> Self:
        """Wait until the subscription is in force: all that is published from now on comes."""
        self._portal.run(self._subscription.ready())
        return self

    @property
    def cursor(self) -> Cursor:
        """Where reading would go on."""
        streams = dict(self._portal.run(self._cursor()).streams)
        for event in reversed(self._chunk):
            streams[event.id.stream] = Next(event.id.seq, event.row)
        return Cursor(self.channel, streams)

    async def _cursor(self) -> Cursor:
        return self._subscription.cursor

    @property
    def lagging(self) -> bool:
        """Whether the queue is full, and the rest waits at the replicas."""
        return self._subscription.lagging

    @property
    def dropped(self) -> int:
        """Events that the queue's policy dropped."""
        return self._subscription.dropped

    @property
    def expired(self) -> int:
        """Events that were older than the channel's ttl when their turn came."""
        return self._subscription.expired

    def close(self) -> None:
        """Unsubscribe."""
        self._portal.run(self._subscription.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Client:
    """One identity at one cluster, without async; connected until it is closed.

    `with quorumcast.Client("probe-7.qc") as client:` closes it, and flushes before that.
    """

    def __init__(self, file: str | Path, *, timeout: float = TIMEOUT_SECONDS) -> None:
        async def made() -> AsyncClient:
            return connect(file, timeout=timeout)

        self._begin(made)

    @classmethod
    def over(cls, make: Callable[[], Coroutine[Any, Any, AsyncClient]]) -> Self:
        """A client around the one that `make` makes on the loop's thread."""
        client = cls.__new__(cls)
        client._begin(make)
        return client

    def _begin(self, make: Callable[[], Coroutine[Any, Any, AsyncClient]]) -> None:
        self._portal = Portal()
        try:
            self._client = self._portal.run(_started(make))
        except BaseException:
            self._portal.close()
            raise

    @property
    def name(self) -> Party:
        """The name under which this client publishes."""
        return self._client.name

    @property
    def channels(self) -> tuple[ChannelSettings, ...]:
        """The channels that this client knows of, with their settings."""
        return self._client.channels

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What this client saw that shows somebody's fault; the latest."""
        return self._client.evidence

    def publisher(
        self,
        channel: str,
        *,
        linger_ms: float = 0.0,
        batch_bytes: int = Batching().batch_bytes,
        batch_events: int = Batching().batch_events,
        buffer_bytes: int = Batching().buffer_bytes,
        timeout: float | None = None,
    ) -> SyncPublisher:
        """A publisher on a channel; `ConfigError` lists the channels where there is none."""
        work = self._client.publisher(
            channel,
            linger_ms=linger_ms,
            batch_bytes=batch_bytes,
            batch_events=batch_events,
            buffer_bytes=buffer_bytes,
            timeout=timeout,
        )
        return SyncPublisher(self._portal, self._portal.run(work))

    def subscribe(
        self,
        channel: str,
        *,
        from_: From = "latest",
        publishers: str | Sequence[str] = ("*",),
        on_event: Callback | None = None,
        queue_events: int | None = None,
        queue_bytes: int | None = None,
        overflow: Overflow | None = None,
        on_gap: Literal["fail", "continue"] | None = None,
    ) -> SyncSubscription:
        """Events of a channel; `on_event` is called on the client's own thread."""

        async def subscribed() -> Subscription:
            return self._client.subscribe(
                channel,
                from_=from_,
                publishers=publishers,
                on_event=on_event,
                queue_events=queue_events,
                queue_bytes=queue_bytes,
                overflow=overflow,
                on_gap=on_gap,
            )

        return SyncSubscription(self._portal, self._portal.run(subscribed()))

    def flush(self) -> None:
        """Wait until everything that was sent is acknowledged; raises the first failure."""
        self._portal.run(self._client.flush())

    def close(self) -> None:
        """End all subscriptions and links; what was not acknowledged has an unknown outcome."""
        if self._portal.alive:
            self._portal.run(self._client.close())
            self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.flush()
        finally:
            self.close()


async def _started(make: Callable[[], Coroutine[Any, Any, AsyncClient]]) -> AsyncClient:
    return await (await make()).start()
