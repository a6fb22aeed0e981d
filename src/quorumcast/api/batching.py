"""Automatic batching: what gathered while the last publication was in flight is the next one.

Upon an event on an idle lane: publish it at the end of this turn of the loop, with all that came in
it. Upon an event while a publication is in flight: gather. Upon its acknowledgement, or when
enough was gathered (`batch_events`, `batch_bytes`), or when the first event waited for `linger_ms`:
publish what was gathered. So a lonely event waits for nobody, and a busy publisher sends large
batches without being told to.

With `batch_events=1` every event is a publication of its own, and many are in flight.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from quorumcast.api.flight import Flight
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.ids import Lane
from quorumcast.core.limits import BODY_BYTES
from quorumcast.core.outcomes import Acknowledged, Ticket
from quorumcast.events import Event, Schema, build_batch, build_event
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST

ROW_BYTES = 24
"""What Arrow adds to an event: a timestamp, two offsets, some bits."""

ATTRIBUTE_BYTES = 9
"""What Arrow may add for an attribute: eight bytes or an offset, and a bit."""


FAILURES = 1024
"""Failed publications that are remembered until somebody asks: the first ones tell the story."""


class Batching(msgspec.Struct, frozen=True):
    """How a publisher gathers; the defaults serve one event a minute and a million a second.

    >>> Batching(batch_events=0)
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: batch_events = 0 is out of range: use 1 to 1000000
    """

    linger_ms: float = 0.0
    """How long the first event of a batch may wait for others; 0: only for what is in flight."""
    batch_bytes: int = 2**20
    """A batch of this size is sent, whatever is in flight."""
    batch_events: int = 10_000
    """So is one of so many events."""
    buffer_bytes: int = 32 * 2**20
    """How much may be sent and not acknowledged before `send` waits."""

    def __post_init__(self) -> None:
        bounds = (
            ("linger_ms", 0, 60_000),
            ("batch_bytes", 1, BODY_BYTES // 2),
            ("batch_events", 1, 1_000_000),
            ("buffer_bytes", 1, 2**40),
        )
        for name, least, most in bounds:
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigError(f"{name} = {value} is out of range: use {least} to {most}")


class Gathering:
    """One lane of a publisher: events in, publications out, acknowledgements back."""

    def __init__(
        self,
        schema: Schema,
        lane: Lane,
        batching: Batching,
        publish: Callable[[bytes, Lane], Ticket],
        loop: asyncio.AbstractEventLoop,
        level: str,
        confirms: bool,
    ) -> None:
        self.size = 0
        """Bytes that were taken and are not settled yet."""
        self._failures: list[Flight] = []
        self._schema = schema
        self._lane = lane
        self._batching = batching
        self._publish = publish
        self._loop = loop
        self._level = level
        self._confirms = confirms
        self._row_bytes = ROW_BYTES + ATTRIBUTE_BYTES * len(schema.attributes)
        self._events: list[Event] = []
        self._flight = Flight()
        self._flights: dict[int, Flight] = {}
        """Publications that are not confirmed yet, by the number of their ticket."""
        self._unsettled = 0
        self._alarm: asyncio.TimerHandle | asyncio.Handle | None = None

    # -- gathering -----------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether everything that was taken is settled."""
        return not self._events and self._unsettled == 0

    def add(self, event: Event) -> tuple[Flight, int]:
        """Take an event that fits the schema; returns its publication and row."""
        size = self._check(event)
        events, batching = self._events, self._batching
        if events and self._flight.size + size > batching.batch_bytes:
            self.cut()
            events = self._events
        flight, row = self._flight, len(events)
        events.append(event)
        flight.size += size
        self.size += size
        if row + 1 >= batching.batch_events or flight.size >= batching.batch_bytes:
            self.cut()
        elif row == 0:
            self._begin()
        return flight, row

    def _check(self, event: Event) -> int:
        """The bytes that an event takes; `ConfigError` now, and not when its batch is built."""
        if (  # most events of busy publishers
            not event.attributes
            and event.key is None
            and type(event.payload) is bytes
            and type(event.timestamp) is int
            and TIMESTAMP_LEAST <= event.timestamp <= TIMESTAMP_MOST
            and len(event.payload) < BODY_BYTES // 2
        ):
            return len(event.payload) + self._row_bytes
        return len(_body(self._schema, event)) + self._row_bytes

    def _begin(self) -> None:
        """The first event of a batch: when is it sent at the latest?"""
        if self._batching.linger_ms > 0:
            self._alarm = self._loop.call_later(self._batching.linger_ms / 1000, self.cut)
        elif self._unsettled == 0:
            self._alarm = self._loop.call_soon(self.cut)

    def cut(self) -> None:
        """Publish what was gathered."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        events, flight = self._events, self._flight
        if not events:
            return
        self._events, self._flight = [], Flight()
        try:
            if len(events) == 1:
                bodies = [_body(self._schema, events[0])]
            else:
                bodies = build_batch(self._schema, events)
            assert len(bodies) == 1, "a batch within batch_bytes is one body"
        except QuorumcastError as error:
            self._unsettled += 1
            self._failed(flight, error)
            return
        self.launch(bodies[0], len(events), flight)

    def launch(self, body: bytes, rows: int, flight: Flight | None = None) -> Flight:
        """Publish a body; without a flight, one that was not gathered here."""
        if flight is None:
            flight = Flight()
            flight.size = len(body)
            self.size += flight.size
        flight.rows = rows
        self._unsettled += 1
        try:
            ticket = self._publish(body, self._lane)
        except QuorumcastError as error:
            self._failed(flight, error)
        else:
            self._flights[ticket.number] = flight
        return flight

    # -- what becomes of it --------------------------------------------------------------------

    def acknowledged(self, said: Acknowledged) -> None:
        """Tickets are acknowledged, or confirmed."""
        over = said.confirmed or not self._confirms
        for number in range(said.first, said.last + 1):
            flight = self._flights.get(number)
            if flight is None:
                continue
            if over:
                del self._flights[number]
            if flight.acknowledge(said, number, self._level):
                self._settled(flight)
        self._next()

    def failed(self, first: int, last: int, error: QuorumcastError) -> None:
        """Tickets failed."""
        for number in range(first, last + 1):
            flight = self._flights.pop(number, None)
            if flight is not None:
                self._failed(flight, error)
        self._next()

    def fail_all(self, error: QuorumcastError) -> None:
        """Nothing that is under way will be acknowledged."""
        if self._events:
            self._events.clear()
            flight, self._flight = self._flight, Flight()
            self._unsettled += 1
            self._failed(flight, error)
        flights, self._flights = self._flights, {}
        for flight in flights.values():
            self._failed(flight, error)

    def _failed(self, flight: Flight, error: QuorumcastError) -> None:
        if flight.fail(error):
            if len(self._failures) < FAILURES:
                self._failures.append(flight)
            self._settled(flight)

    def raise_failure(self) -> None:
        """Tell of the first failure that nobody was told of, and forget the others."""
        failures, self._failures = self._failures, []
        for flight in failures:
            if not flight.noticed:
                flight.raise_failure()

    def _settled(self, flight: Flight) -> None:
        self._unsettled -= 1
        self.size -= flight.size

    def _next(self) -> None:
        """What gathered while the last publication was in flight is the next one."""
        if self._events and self._unsettled == 0 and self._batching.linger_ms <= 0:
            self.cut()


def _body(schema: Schema, event: Event) -> bytes:
    fields: dict[str, Any] = dict(event.attributes)
    return build_event(
        schema,
        event.payload,
        timestamp=event.timestamp,
        key=event.key,
        urgent=event.urgent,
        **fields,
    )
