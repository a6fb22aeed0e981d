"""The batch: the body of a publication of several events.

Eight bytes, then an Arrow IPC message that holds one record batch, as Arrow writes it::

    form      u8   2
    zeros     3
    check     u32  the schema's
    message        continuation mark, length of metadata, metadata, body

The eight bytes keep Arrow's buffers aligned: Python's `bytes` begin at multiples of 8. The schema
is the channel's and does not travel. A batch of one row is read, though `build_batch` writes a
compact record for it: whoever cuts rows out of a batch may be left with one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any

from quorumcast.events import flatgate
from quorumcast.events.arrow import ArrowArray, ArrowBatch, arrow_type, pyarrow
from quorumcast.events.event import Event
from quorumcast.events.foreign import BodyError
from quorumcast.events.record import PLAIN_BYTES, Record, encode_event, other_schema
from quorumcast.events.schema import FIELDS, Schema
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST

BATCH = 2
"""The form: the first byte of a batch."""

EVENTS_AT_ONCE = 1024
"""Rows that iteration turns into Python values at a time: enough to be fast, and little memory."""

_HEAD = Struct("<B3sI")
_OFFSETS = Struct("<ii")


# -- reading -----------------------------------------------------------------------------------


def decode(schema: Schema, body: bytes) -> ArrowBatch:
    """The record batch over the body's own bytes, validated in full; raises `BodyError`.

    >>> from quorumcast.events.columns import from_events
    >>> events = [Event(b"a", timestamp=1), Event(b"b", timestamp=2)]
    >>> (body,) = encode_batch(Schema(), from_events(Schema(), events), 1000)
    >>> decode(Schema(), body).num_rows
    2
    """
    batch = _decode(schema, body)
    for place, column in enumerate(schema.columns):
        if column.type.name == "timestamp":
            _check_times(column.name, batch.column(place))
    return batch


def decode_all(schema: Schema, bodies: Sequence[bytes]) -> list[ArrowBatch | BodyError]:
    """Each body's record batch as `decode` has it, or its error; times are looked at together.

    >>> from quorumcast.events.columns import from_events
    >>> batch = from_events(Schema(), [Event(b"a", timestamp=1), Event(b"b", timestamp=2)])
    >>> good, bad = decode_all(Schema(), [*encode_batch(Schema(), batch, 1000), b"?"])
    >>> good.num_rows, str(bad)
    (2, 'batch of 1 bytes is shorter than its head of 8')
    """
    found: list[ArrowBatch | BodyError] = []
    for body in bodies:
        try:
            found.append(_decode(schema, body))
        except BodyError as error:
            found.append(error)
    good = [each for each in found if not isinstance(each, BodyError)]
    if good and not _times_fit(schema, good):
        return [_decoded(schema, body) for body in bodies]
    return found


def _decoded(schema: Schema, body: bytes) -> ArrowBatch | BodyError:
    try:
        return decode(schema, body)
    except BodyError as error:
        return error


def _decode(schema: Schema, body: bytes) -> ArrowBatch:
    """All that `decode` checks but the range of times."""
    if len(body) < _HEAD.size:
        raise BodyError(f"batch of {len(body)} bytes is shorter than its head of {_HEAD.size}")
    _, zeros, check = _HEAD.unpack_from(body)
    if any(zeros):
        raise BodyError("batch has something in the three bytes after its form")
    if check != schema.check:
        raise BodyError(other_schema(check, schema))
    rows = flatgate.check(schema.columns, body, _HEAD.size)
    pa = pyarrow()
    try:
        message = pa.py_buffer(body).slice(_HEAD.size)
        batch: ArrowBatch = pa.ipc.read_record_batch(message, schema.arrow)
        if batch.num_rows != rows:
            raise BodyError(f"Arrow finds {batch.num_rows} rows, the metadata say {rows}")
        batch.validate(full=True)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise BodyError(f"Arrow: {error}") from None
    return batch


def _times_fit(schema: Schema, found: list[ArrowBatch]) -> bool:
    table = pyarrow().Table.from_batches(found)
    for place, column in enumerate(schema.columns):
        if column.type.name == "timestamp":
            try:
                _check_times(column.name, table.column(place))
            except BodyError:
                return False
    return True


def _check_times(name: str, array: ArrowArray) -> None:
    least, most = time_range(array)
    if least is not None and not TIMESTAMP_LEAST <= least <= most <= TIMESTAMP_MOST:
        raise BodyError(f"{name} from {least} to {most} is outside the years 1 to 9999")


def time_range(array: ArrowArray) -> tuple[Any, Any]:
    """The least and the greatest of timestamps, as ints; None if all are null.

    >>> time_range(pyarrow().array([5, None, 3], arrow_type("timestamp")))
    (3, 5)
    """
    function = pyarrow().compute.get_function("min_max")  # half the time of compute.min_max
    found = function.call([array])
    return found["min"].value, found["max"].value


def plain(batch: ArrowBatch) -> list[ArrowArray]:
    """The columns of a batch whose scalars are events' values: timestamps are ints.

    >>> from quorumcast.events.columns import from_events
    >>> plain(from_events(Schema(), [Event(b"a", timestamp=1)]))[0].to_pylist()
    [1]
    """
    kind, view = arrow_type("timestamp"), arrow_type("int64")
    return [array.view(view) if array.type == kind else array for array in batch.columns]


def event(schema: Schema, columns: Sequence[ArrowArray], row: int) -> Event:
    """One row of plain columns as an event.

    >>> from quorumcast.events.columns import from_events
    >>> event(Schema(), plain(from_events(Schema(), [Event(b"a", timestamp=1)])), 0).payload
    b'a'
    """
    timestamp, key, urgent, payload, *values = [column[row].as_py() for column in columns]
    return Event(payload, timestamp, key, urgent, dict(zip(schema.by_name, values, strict=True)))


def events(schema: Schema, columns: Sequence[ArrowArray]) -> Iterator[Event]:
    """All rows of plain columns as events, some at a time.

    >>> from quorumcast.events.columns import from_events
    >>> batch = from_events(Schema(), [Event(b"a", timestamp=1), Event(b"b", timestamp=2)])
    >>> [event.payload for event in events(Schema(), plain(batch))]
    [b'a', b'b']
    """
    names = tuple(schema.by_name)
    for start in range(0, len(columns[0]), EVENTS_AT_ONCE):
        lists = [column.slice(start, EVENTS_AT_ONCE).to_pylist() for column in columns]
        timestamps, keys, urgents, payloads = lists[: len(FIELDS)]
        if names:
            rows = zip(*lists[len(FIELDS) :], strict=True)
            attributes = [dict(zip(names, row, strict=True)) for row in rows]
            yield from map(Event, payloads, timestamps, keys, urgents, attributes)
        else:
            yield from map(Event, payloads, timestamps, keys, urgents)


def from_record(schema: Schema, record: Record, body: bytes) -> ArrowBatch:
    """A compact record as a batch of one row; the payload stays where it is in the body.

    >>> from quorumcast.events import record
    >>> body = record.encode(Schema(), b"abc", timestamp=1)
    >>> from_record(Schema(), record.decode(Schema(), body), body).column("payload").to_pylist()
    [b'abc']
    """
    pa = pyarrow()
    payload = pa.py_buffer(body).slice(record.payload_start)
    offsets = pa.py_buffer(_OFFSETS.pack(0, payload.size))
    values = (record.timestamp, record.key, record.urgent, None, *record.values)
    arrays = [
        pa.array([value], arrow_type(column.type.name))
        for value, column in zip(values, schema.columns, strict=True)
    ]
    arrays[3] = pa.Array.from_buffers(arrow_type("binary"), 1, [None, offsets, payload])
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow)


def from_plain_records(schema: Schema, bodies: Sequence[bytes]) -> ArrowBatch | None:
    """Records of a timestamp and a payload as one batch; None if one is no such record.

    >>> from quorumcast.events import record
    >>> bodies = [record.encode(Schema(), payload, timestamp=7) for payload in (b"a", b"b")]
    >>> from_plain_records(Schema(), bodies).column("payload").to_pylist()
    [b'a', b'b']
    """
    if min(map(len, bodies)) < PLAIN_BYTES:
        return None
    pa, rows = pyarrow(), len(bodies)
    packed = b"".join([body[PLAIN_BYTES - 8 : PLAIN_BYTES] for body in bodies])
    times = pa.Array.from_buffers(arrow_type("timestamp"), rows, [None, pa.py_buffer(packed)])
    least, most = time_range(times)
    if not TIMESTAMP_LEAST <= least <= most <= TIMESTAMP_MOST:
        return None
    given = {
        "timestamp": times,
        "urgent": pa.repeat(pa.scalar(False, arrow_type("bool")), rows),
        "payload": pa.array([body[PLAIN_BYTES:] for body in bodies], arrow_type("binary")),
    }
    arrays = [
        given[column.name] if column.name in given else pa.nulls(rows, arrow_type(column.type.name))
        for column in schema.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow)


# -- writing -----------------------------------------------------------------------------------


def encode_batch(
    schema: Schema, batch: ArrowBatch, max_bytes: int, first_row: int = 0
) -> Iterator[bytes]:
    """The bodies of a batch that has the channel's schema, each within `max_bytes`.

    `first_row` is what the first row is called in errors.

    >>> from quorumcast.events.columns import from_events
    >>> batch = from_events(Schema(), [Event(bytes(56), timestamp=1)] * 100)
    >>> [len(body) for body in encode_batch(Schema(), batch, 100_000)]
    [7576]
    """
    rows = batch.num_rows
    if rows == 1:
        yield encode_event(schema, event(schema, plain(batch), 0), max_bytes, first_row)
        return
    size = _HEAD.size + pyarrow().ipc.get_record_batch_size(batch)
    if rows and size <= max_bytes:
        yield _HEAD.pack(BATCH, bytes(3), schema.check) + batch.serialize()
        return
    parts = min(rows, -(-size // max_bytes))
    for part in range(parts):
        start, end = rows * part // parts, rows * (part + 1) // parts
        yield from encode_batch(
            schema, batch.slice(start, end - start), max_bytes, first_row + start
        )
