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
from time import time_ns
from typing import Any

import msgspec

from quorumcast.api.flight import WHOLE, Flight, Handle, Patience
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.ids import Lane
from quorumcast.core.limits import BODY_BYTES
from quorumcast.core.outcomes import Acknowledged, Ticket
from quorumcast.events import Event, Schema, build_batch, build_event, from_table
from quorumcast.events.arrow import arrow_type, pyarrow
from quorumcast.runtime.channels import ChannelSettings

ROW_BYTES = 24
"""What Arrow adds to an event: a timestamp, two offsets, some bits."""

ATTRIBUTE_BYTES = 9
"""What Arrow may add for an attribute: eight bytes or an offset, and a bit."""


TURN_BYTES = 2**20
"""What a publisher hands over before it lets the loop send it: a busy one never waits by itself.
Much at a time costs all parties less; more than this does not fit the caches of a processor."""

PUBLICATION_BYTES = 1024
"""What a publication counts for in a turn besides its size: small ones cost their number."""

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


class Budget:
    """How much more a publisher may send before something is acknowledged, or is sent at all."""

    __slots__ = ("launched", "left")

    def __init__(self, size: int) -> None:
        self.left = size
        self.launched = 0
        """What was published since the loop last had its turn, in bytes."""


class Gathering:
    """One lane of a publisher: events in, publications out, acknowledgements back.

    Most events are a payload and nothing else. Those are gathered as columns, all others as
    events; the first of the others in a batch makes events of the columns.
    """

    def __init__(
        self,
        settings: ChannelSettings,
        lane: Lane,
        batching: Batching,
        budget: Budget,
        publish: Callable[[bytes, Lane], Ticket],
        patience: Patience,
    ) -> None:
        schema = self._schema = settings.schema
        self._lane = lane
        self._is_urgent = lane is Lane.URGENT
        self._batching = batching
        self._budget = budget
        self._publish = publish
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._level = settings.durability
        self._confirms = settings.channel.confirm
        self._row_bytes = ROW_BYTES + ATTRIBUTE_BYTES * len(schema.attributes)
        self._payloads: list[bytes] = []
        self._times: list[int] = []
        self._events: list[Event] = []
        self._flight = Flight(patience)
        self._flights: dict[int, Flight] = {}
        """Publications that are not confirmed yet, by the number of their ticket."""
        self._failures: list[Flight] = []
        self._unsettled = 0
        self.events_acknowledged = 0
        """So many events of this lane are safe."""
        self._alarm: asyncio.TimerHandle | asyncio.Handle | None = None

    # -- gathering -----------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether everything that was taken is settled."""
        return not self._payloads and not self._events and self._unsettled == 0

    def add(
        self, payload: bytes, timestamp: Any, key: Any, urgent: Any, attributes: dict[str, Any]
    ) -> Handle:
        """Take an event; `ConfigError` now, and not when its batch is built, if it does not fit."""
        plain = (
            timestamp is None
            and key is None
            and not attributes
            and type(payload) is bytes
            and urgent is self._is_urgent
            and len(payload) < BODY_BYTES // 2
        )
        at = time_ns() // 1000 if timestamp is None else timestamp
        size = self._row_bytes
        if plain:
            size += len(payload)
        else:
            size += len(_body(self._schema, payload, at, key, urgent, attributes))
        flight, batching = self._flight, self._batching
        if flight.rows and flight.size + size > batching.batch_bytes:
            self.cut()
            flight = self._flight
        row = flight.rows
        flight.rows = row + 1
        flight.size += size
        self._budget.left -= size
        if plain and not self._events:
            self._payloads.append(payload)
            self._times.append(at)
        else:
            self._add_event(Event(payload, at, key, urgent, attributes))
        if flight.rows >= batching.batch_events or flight.size >= batching.batch_bytes:
            self.cut()
        elif row == 0:
            self._begin()
        return Handle(flight, row)

    def check(
        self, payload: Any, timestamp: Any, key: Any, urgent: Any, attributes: dict[str, Any]
    ) -> None:
        """Raise `ConfigError` unless an event fits."""
        _body(self._schema, payload, timestamp or 0, key, urgent, attributes)

    def _add_event(self, event: Event) -> None:
        if self._payloads:
            pairs = zip(self._payloads, self._times, strict=True)
            self._events = [Event(*pair, None, self._is_urgent) for pair in pairs]
            self._payloads, self._times = [], []
        self._events.append(event)

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
        flight = self._flight
        if not flight.rows:
            return
        self._flight = Flight(self._patience)
        body = self._build(flight.rows)
        self._launch(body, flight)

    def _build(self, rows: int) -> bytes:
        """The body of what was gathered; all of it was checked when it came."""
        schema, events, payloads, times = self._schema, self._events, self._payloads, self._times
        self._events, self._payloads, self._times = [], [], []
        if rows == 1 and payloads:
            return build_event(schema, payloads[0], timestamp=times[0], urgent=self._is_urgent)
        if rows == 1:
            event = events[0]
            fields = (event.payload, event.timestamp, event.key, event.urgent, event.attributes)
            return _body(schema, *fields)
        bodies = build_batch(schema, events) if events else self._columns(payloads, times)
        assert len(bodies) == 1, "a batch within batch_bytes is one body"
        return bodies[0]

    def _columns(self, payloads: list[bytes], times: list[int]) -> list[bytes]:
        pa = pyarrow()
        arrays = {
            "timestamp": pa.array(times, arrow_type("int64")),
            "payload": pa.array(payloads, arrow_type("binary")),
        }
        if self._is_urgent:
            arrays["urgent"] = pa.repeat(pa.scalar(True, arrow_type("bool")), len(times))
        batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
        return from_table(self._schema, batch)

    def launch(self, body: bytes, rows: int) -> Handle:
        """Publish a body that was not gathered here, after all that was."""
        self.cut()
        flight = Flight(self._patience)
        flight.rows, flight.size = rows, len(body)
        self._budget.left -= flight.size
        self._launch(body, flight)
        return Handle(flight, WHOLE)

    def _launch(self, body: bytes, flight: Flight) -> None:
        self._unsettled += 1
        self._budget.launched += flight.size + PUBLICATION_BYTES
        try:
            ticket = self._publish(body, self._lane)
        except QuorumcastError as error:
            self._failed(flight, error)
        else:
            self._flights[ticket.number] = flight

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
                self.events_acknowledged += flight.rows
                self._settled(flight)
        self._next()

    def failed(self, first: int, last: int, error: QuorumcastError) -> None:
        """Tickets failed."""
        for number in range(first, last + 1):
            flight = self._flights.pop(number, None)
            if flight is not None:
                self._failed(flight, error)
        self._next()

    def refused(self, first: int, last: int, error: QuorumcastError) -> None:
        """Tickets are refused, and so is what was gathered: nothing of it was published."""
        self._fail_gathered(error)
        self.failed(first, last, error)

    def fail_all(self, error: QuorumcastError) -> None:
        """Nothing that is under way will be acknowledged."""
        self._fail_gathered(error)
        flights, self._flights = self._flights, {}
        for flight in flights.values():
            self._failed(flight, error)

    def _fail_gathered(self, error: QuorumcastError) -> None:
        if self._flight.rows:
            self._events, self._payloads, self._times = [], [], []
            flight, self._flight = self._flight, Flight(self._patience)
            self._unsettled += 1
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
        self._budget.left += flight.size

    def _next(self) -> None:
        """What gathered while the last publication was in flight is the next one."""
        if self._flight.rows and self._unsettled == 0 and self._batching.linger_ms <= 0:
            self.cut()


def _body(
    schema: Schema, payload: Any, timestamp: Any, key: Any, urgent: Any, attributes: Any
) -> bytes:
    return build_event(schema, payload, timestamp=timestamp, key=key, urgent=urgent, **attributes)
