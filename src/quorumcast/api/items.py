"""What waits in a subscription's queue: publications, and how far each was handed over.

Publications of one event each come in long runs and wait as such: nothing is done for each of them
before it is handed over, one by one or as the columns of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from quorumcast.api.cursor import Next
from quorumcast.api.received import PublicationId, Received
from quorumcast.core.ids import Stream
from quorumcast.core.outcomes import Delivery
from quorumcast.events import (
    BadPublication,
    Event,
    Publication,
    Schema,
    Value,
    is_record,
    read,
    read_all,
)

_NOTHING: Mapping[str, Value] = {}


class Vouched(NamedTuple):
    """How a delivery was vouched for: the same for all its publications."""

    votes: int
    confirmed: bool


class Batch:
    """One publication of several events, or one whose body is neither record nor batch."""

    __slots__ = ("_events", "content", "row", "rows", "seq", "size", "stream", "vouched")

    def __init__(
        self,
        stream: Stream,
        seq: int,
        content: Publication | BadPublication,
        size: int,
        vouched: Vouched,
    ) -> None:
        self.stream = stream
        self.seq = seq
        self.content = content
        self.rows = 1 if isinstance(content, BadPublication) else len(content)
        self.row = 0
        self.size = size
        """Bytes of its body, all of which stay until its last event is handed over."""
        self.vouched = vouched
        self._events: Iterator[Event] | None = None

    @property
    def left(self) -> int:
        """Events that were not handed over yet."""
        return self.rows - self.row

    @property
    def at(self) -> Next:
        """Where reading goes on."""
        return Next(self.seq, self.row) if self.row < self.rows else Next(self.seq + 1)

    def begin(self, at: Next) -> None:
        """Leave out what a cursor says was read."""
        if at.seq == self.seq:
            self.row = min(at.row, self.rows)

    def cut(self, count: int, size: int) -> None:
        """Keep so many of the events and bytes; of a publication all, or none without room."""
        if min(count, size) <= 0:
            self.rows = self.row

    def freed(self, count: int) -> int:
        """Bytes that went with the last so many events that were handed over."""
        return self.size if self.left == 0 else 0

    def next(self) -> Received:
        """The next event."""
        row, content = self.row, self.content
        self.row += 1
        if isinstance(content, BadPublication):
            return _unreadable(self.stream, self.seq, content, self.vouched)
        if self._events is None:
            self._events = islice(content, row, None)
        return _received(self.stream, self.seq, row, self.rows, next(self._events), self.vouched)


class Singles:
    """Consecutive publications of one event each; `row` counts publications."""

    __slots__ = ("bodies", "first", "row", "rows", "schema", "stream", "vouched")

    def __init__(
        self, schema: Schema, stream: Stream, first: int, bodies: Sequence[bytes], vouched: Vouched
    ) -> None:
        self.schema = schema
        self.stream = stream
        self.first = first
        self.bodies = bodies
        self.rows = len(bodies)
        self.row = 0
        self.vouched = vouched

    @property
    def left(self) -> int:
        """Events that were not handed over yet."""
        return self.rows - self.row

    @property
    def at(self) -> Next:
        """Where reading goes on."""
        return Next(self.first + self.row)

    def begin(self, at: Next) -> None:
        """Leave out what a cursor says was read."""
        if at.seq == self.first:
            self.row = min(at.row, 1)

    @property
    def size(self) -> int:
        """Bytes of the bodies that were not handed over yet."""
        return sum(map(len, self.bodies[self.row : self.rows]))

    def cut(self, count: int, size: int) -> None:
        """Keep so many of the events, and those that begin within so many bytes."""
        self.rows = min(self.rows, self.row + max(0, count), self.row + self.within(size))

    def within(self, size: int) -> int:
        """How many of the next events it takes to have so many bytes."""
        count = 0
        while size > 0 and count < self.left:
            size -= len(self.bodies[self.row + count])
            count += 1
        return count

    def freed(self, count: int) -> int:
        """Bytes that went with the last so many events that were handed over."""
        row = self.row
        if count == 1:  # for each event that is read by itself
            return len(self.bodies[row - 1])
        return sum(map(len, self.bodies[row - count : row]))

    def next(self) -> Received:
        """The next event."""
        seq, body = self.first + self.row, self.bodies[self.row]
        self.row += 1
        content = read(self.schema, body)
        if isinstance(content, BadPublication):
            return _unreadable(self.stream, seq, content, self.vouched)
        return _received(self.stream, seq, 0, 1, content[0], self.vouched)


def items_of(schema: Schema, delivery: Delivery) -> Iterator[Batch | Singles]:
    """The publications of a delivery, in order.

    >>> from quorumcast.core.ids import Lane
    >>> from quorumcast.events import build_event
    >>> bodies = tuple(build_event(Schema(), b"%d" % number, timestamp=1) for number in range(3))
    >>> stream = Stream("alerts", "probe", bytes(32), Lane.NORMAL)
    >>> [item.rows for item in items_of(Schema(), Delivery(stream, 1, bodies, 3, True))]
    [3]
    """
    vouched = Vouched(delivery.votes, delivery.confirmed)
    seq, stream = delivery.first, delivery.stream
    for single, run in groupby(delivery.bodies, key=is_record):
        bodies = list(run)
        if single:
            yield Singles(schema, stream, seq, bodies, vouched)
            seq += len(bodies)
        else:
            for body, content in zip(bodies, read_all(schema, bodies), strict=True):
                yield Batch(stream, seq, content, len(body), vouched)
                seq += 1


def _received(
    stream: Stream, seq: int, row: int, rows: int, event: Event, vouched: Vouched
) -> Received:
    return Received(
        PublicationId.of(stream, seq),
        row,
        rows,
        event.timestamp,
        event.key,
        event.urgent,
        event.payload,
        event.attributes,
        vouched.votes,
        vouched.confirmed,
    )


def _unreadable(stream: Stream, seq: int, bad: BadPublication, vouched: Vouched) -> Received:
    return Received(
        PublicationId.of(stream, seq),
        row=0,
        rows=1,
        timestamp=0,
        key=None,
        urgent=False,
        payload=bad.body,
        attributes=_NOTHING,
        votes=vouched.votes,
        confirmed=vouched.confirmed,
        error=bad.reason,
    )
