"""The way in: bodies from events and tables, events and tables from bodies.

Upon a body, `read` checks its length, its form, and all of it by the rules of that form, before
anybody sees a value. What passes is a `Publication`: its rows become Python values when they are
asked for, its columns stay where they are in the body. What does not pass is a `BadPublication`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import BODY_BYTES, INLINE_BODY_BYTES, REASON_BYTES
from quorumcast.events import batch as batches
from quorumcast.events import columns, record
from quorumcast.events.arrow import ArrowArray, ArrowBatch, ArrowTable, pyarrow
from quorumcast.events.batch import BATCH
from quorumcast.events.event import Event
from quorumcast.events.foreign import BadPublication, BodyError
from quorumcast.events.record import RECORD, Record, pack_head
from quorumcast.events.schema import Schema
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST

ROWS_AT_ONCE = 65_536
"""Rows of a table that are converted at a time, so that no second copy of it is made."""

BYTES_AT_ONCE = 64 * 2**20
"""Bytes of a table that are converted at a time; Arrow's offsets end at 2 GiB."""


# -- reading -----------------------------------------------------------------------------------


class Publication(ABC):
    """The events of one body that passed every check.

    >>> body = build_event(Schema(), b"disk failing", timestamp=1)
    >>> publication = read(Schema(), body)
    >>> len(publication), publication[0].payload, publication.batch.num_rows
    (1, b'disk failing', 1)
    """

    __slots__ = ("body", "schema")

    schema: Schema
    body: bytes

    def __init__(self, schema: Schema, body: bytes) -> None:
        self.schema = schema
        self.body = body

    @property
    @abstractmethod
    def batch(self) -> ArrowBatch:
        """The events as a `pyarrow.RecordBatch` over the bytes of the body."""

    @property
    def table(self) -> ArrowTable:
        """The same as a `pyarrow.Table`."""
        return pyarrow().Table.from_batches([self.batch])

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, row: int) -> Event: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Event]: ...

    def __repr__(self) -> str:
        return f"<Publication of {len(self)} events in {len(self.body)} bytes>"

    def _row(self, row: int) -> int:
        rows = len(self)
        if not -rows <= row < rows:
            raise IndexError(f"row {row} of {rows}")
        return row % rows


class _OfRecord(Publication):
    __slots__ = ("_record",)

    def __init__(self, schema: Schema, body: bytes) -> None:
        super().__init__(schema, body)
        self._record: Record = record.decode(schema, body)

    @property
    def batch(self) -> ArrowBatch:
        return batches.from_record(self.schema, self._record, self.body)

    def __len__(self) -> int:
        return 1

    def __getitem__(self, row: int) -> Event:
        self._row(row)
        return self._record.event(self.schema, self.body)

    def __iter__(self) -> Iterator[Event]:
        yield self[0]


class _OfBatch(Publication):
    __slots__ = ("_batch", "_plain")

    def __init__(self, schema: Schema, body: bytes, batch: ArrowBatch | None = None) -> None:
        super().__init__(schema, body)
        self._batch = batches.decode(schema, body) if batch is None else batch
        self._plain: list[ArrowArray] | None = None

    @property
    def batch(self) -> ArrowBatch:
        return self._batch

    def __len__(self) -> int:
        return self._batch.num_rows

    def __getitem__(self, row: int) -> Event:
        return batches.event(self.schema, self._columns(), self._row(row))

    def __iter__(self) -> Iterator[Event]:
        return batches.events(self.schema, self._columns())

    def _columns(self) -> list[ArrowArray]:
        if self._plain is None:  # not before the first event: some readers want columns alone
            self._plain = batches.plain(self._batch)
        return self._plain


_RECORD_FORM = bytes((RECORD,))
_BATCH_FORM = bytes((BATCH,))
_PLAIN_RECORD = bytes((RECORD, 0))

_TOGETHER = 3
"""Batches that are worth looking at together."""

_FORMS: dict[int, type[_OfRecord | _OfBatch]] = {RECORD: _OfRecord, BATCH: _OfBatch}


def read(schema: Schema, body: bytes) -> Publication | BadPublication:
    """The events of a body, or what is wrong with it; never an exception, whatever the bytes.

    >>> read(Schema(), b"hello")
    BadPublication(reason='form 104 is unknown', body=b'hello')
    """
    if not 0 < len(body) <= BODY_BYTES:
        return BadPublication(f"body of {len(body)} bytes: use 1 to {BODY_BYTES}", body)
    form = _FORMS.get(body[0])
    if form is None:
        return BadPublication(f"form {body[0]} is unknown", body)
    try:
        return form(schema, body)
    except BodyError as error:
        return BadPublication(str(error)[:REASON_BYTES], body)


def read_all(schema: Schema, bodies: Sequence[bytes]) -> list[Publication | BadPublication]:
    """What `read` says of each body; batches of one publisher in much less time.

    >>> bodies = build_batch(Schema(), [{"payload": b"a"}, {"payload": b"b"}], timestamp=1)
    >>> [len(each) for each in read_all(Schema(), [*bodies, *bodies])]
    [2, 2]
    """
    if len(bodies) < _TOGETHER or not all(map(_may_be_batch, bodies)):
        return [read(schema, body) for body in bodies]
    found = batches.decode_all(schema, bodies)
    return [
        BadPublication(str(each)[:REASON_BYTES], body)
        if isinstance(each, BodyError)
        else _OfBatch(schema, body, each)
        for body, each in zip(bodies, found, strict=True)
    ]


def _may_be_batch(body: bytes) -> bool:
    return body[:1] == _BATCH_FORM and len(body) <= BODY_BYTES


def is_record(body: bytes) -> bool:
    """Whether a body claims to be a compact record: then it is one event, or one bad publication.

    >>> is_record(build_event(Schema(), b"disk failing", timestamp=1)), is_record(b"")
    (True, False)
    """
    return body[:1] == _RECORD_FORM


def read_records(schema: Schema, bodies: Sequence[bytes]) -> ArrowBatch:
    """Compact records as the rows of one batch; `BodyError` if one of them cannot be read.

    >>> bodies = [build_event(Schema(), payload, timestamp=1) for payload in (b"a", b"b")]
    >>> read_records(Schema(), bodies).column("payload").to_pylist()
    [b'a', b'b']
    """
    if {body[:2] for body in bodies} == {_PLAIN_RECORD}:  # neither key, attributes nor urgent
        batch = batches.from_plain_records(schema, bodies)
        if batch is not None:
            return batch
    events = [record.decode(schema, body).event(schema, body) for body in bodies]
    return columns.from_events(schema, events)


# -- building ----------------------------------------------------------------------------------


def build_event(
    schema: Schema,
    /,
    payload: bytes,
    *,
    timestamp: int | datetime,
    key: str | None = None,
    urgent: bool = False,
    **attributes: Any,
) -> bytes:
    """The body of a publication of one event; `ConfigError` says what does not fit.

    >>> schema = Schema.parse({"severity": "int8"})
    >>> body = build_event(schema, b"disk failing", timestamp=1, key="db-3", severity=5)
    >>> read(schema, body)[0]["severity"]
    5
    """
    if (  # most events of busy publishers, in half the time
        key is None
        and not attributes
        and urgent is False
        and type(payload) is bytes
        and type(timestamp) is int
        and len(payload) < INLINE_BODY_BYTES
        and TIMESTAMP_LEAST <= timestamp <= TIMESTAMP_MOST
    ):
        return pack_head(RECORD, 0, timestamp) + payload
    body = record.encode(schema, payload, timestamp, key, urgent, attributes)
    if len(body) > BODY_BYTES:
        raise record.too_long(len(body), BODY_BYTES)
    return body


def build_batch(
    schema: Schema,
    rows: Iterable[Event | Mapping[str, Any]],
    *,
    timestamp: int | datetime | None = None,
    max_bytes: int = BODY_BYTES,
) -> list[bytes]:
    """The bodies of publications of these events, in order, each within `max_bytes`.

    A row is an `Event`, or a mapping of fields and attributes by name: `payload` is empty, `urgent`
    False, `timestamp` the argument where it is missing; the rest is null.

    >>> rows = [{"payload": b"a"}, {"payload": b"b", "key": "db-3"}]
    >>> bodies = build_batch(Schema(), rows, timestamp=1)
    >>> [event.key for event in read(Schema(), bodies[0])]
    [None, 'db-3']
    """
    _check_most(max_bytes)
    events = columns.to_events(rows, timestamp)
    if len(events) == 1:
        return [record.encode_event(schema, events[0], max_bytes, row=0)]
    if not events:
        return []
    batch = columns.from_events(schema, events)
    return list(batches.encode_batch(schema, batch, max_bytes))


def from_table(
    schema: Schema,
    table: ArrowTable | ArrowBatch | Any,
    *,
    timestamp: int | datetime | None = None,
    max_bytes: int = BODY_BYTES,
) -> list[bytes]:
    """The bodies of publications of a `pyarrow.Table` or `RecordBatch`, a row an event.

    Columns are found by name; what is missing is as in `build_batch`. A type that holds the same
    values is converted (`int64` to `int8`, a dictionary of strings, timestamps of any zone and
    unit), others are errors.

    >>> table = pyarrow().Table.from_pydict({"payload": [b"a", b"b"], "severity": [1, 2]})
    >>> schema = Schema.parse({"severity": "int8"})
    >>> len(read(schema, from_table(schema, table, timestamp=1)[0]))
    2
    """
    _check_most(max_bytes)
    pa = pyarrow()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise ConfigError(
            f"{type(table).__name__} is no table: use a pyarrow.Table or pyarrow.RecordBatch"
        )
    columns.check_names(schema, table.schema.names, timestamp=timestamp)
    bodies: list[bytes] = []
    row = 0
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        part = table.slice(start, ROWS_AT_ONCE) if table.num_rows > ROWS_AT_ONCE else table
        batches_ = part.to_batches()
        for given in batches_ if len(batches_) == 1 else part.combine_chunks().to_batches():
            bodies += _from_batch(schema, given, timestamp, max_bytes, row)
            row += given.num_rows
    return bodies


def _from_batch(
    schema: Schema, given: ArrowBatch, timestamp: Any, max_bytes: int, first_row: int
) -> list[bytes]:
    half = given.num_rows // 2
    if half and given.nbytes > BYTES_AT_ONCE:
        first, second = given.slice(0, half), given.slice(half)
        return [
            *_from_batch(schema, first, timestamp, max_bytes, first_row),
            *_from_batch(schema, second, timestamp, max_bytes, first_row + half),
        ]
    batch = columns.from_batch(schema, given, timestamp, first_row)
    return list(batches.encode_batch(schema, batch, max_bytes, first_row))


def _check_most(max_bytes: int) -> None:
    if not 0 < max_bytes <= BODY_BYTES:
        raise ConfigError(f"max_bytes = {max_bytes} is out of range: use 1 to {BODY_BYTES}")
