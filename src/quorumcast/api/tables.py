"""Tables: what users publish from, and what `poll` gives them.

A table of events has these columns: channel, publisher, session, lane, seq, row, then every
event's fields and the channel's attributes, then votes and error. A body that cannot be read is
one row: its bytes are the payload, `error` says why, the rest is null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from struct import Struct, pack
from typing import Any, NamedTuple, cast

from quorumcast.api.feed import Part
from quorumcast.api.items import Batch, Singles, Vouched
from quorumcast.api.received import Received
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.limits import REASON_BYTES
from quorumcast.events import (
    BadPublication,
    BodyError,
    Event,
    Schema,
    build_batch,
    from_table,
    read_records,
)
from quorumcast.events.arrow import (
    ArrowArray,
    ArrowBatch,
    ArrowSchema,
    ArrowTable,
    arrow_type,
    pyarrow,
)
from quorumcast.events.columns import from_events

_BEFORE = ("channel", "publisher", "session", "lane")
_NUMBERS = (("seq", "int64"), ("row", "int32"))
_LANES = {lane: lane.name.lower() for lane in Lane}
_I64 = Struct("=q").pack

_PIECE_ROWS = 4096
"""Rows of the pieces that columns of one value are made of; a session's name takes 68 bytes."""


def table_schema(schema: Schema) -> ArrowSchema:
    """The columns of a table of received events.

    >>> table_schema(Schema.parse({"severity": "int8"})).names[-3:]
    ['severity', 'votes', 'error']
    """
    pa = pyarrow()
    fields = [pa.field(name, arrow_type("string"), False) for name in _BEFORE]
    fields += [pa.field(name, arrow_type(kind), False) for name, kind in _NUMBERS]
    fields += [
        pa.field(column.name, arrow_type(column.type.name), True) for column in schema.columns
    ]
    fields.append(pa.field("votes", arrow_type("int32"), False))
    fields.append(pa.field("error", arrow_type("string"), True))
    return pa.schema(fields)


def to_table(
    schema: Schema, parts: Sequence[Part], oldest: float, passed: Callable[[int, float], None]
) -> ArrowTable:
    """Rows of publications as one table, without those older than `oldest`.

    >>> to_table(Schema(), [], float("-inf"), lambda count, timestamp: None).num_rows
    0
    """
    pa = pyarrow()
    shape = table_schema(schema)
    blocks = [block for run in _alike(parts) for block in _blocks(schema, run)]
    tables = [block.table(shape) for block in blocks]
    table = pa.concat_tables(tables) if tables else pa.Table.from_batches([], shape)
    return table if oldest == float("-inf") else _without(table, oldest, passed)


def _without(table: ArrowTable, oldest: float, passed: Callable[[int, float], None]) -> ArrowTable:
    """The rows that are not too old; those without a timestamp stay."""
    compute = pyarrow().compute
    times = table.column("timestamp").cast(arrow_type("int64"))
    kept = table.filter(compute.fill_null(compute.greater_equal(times, oldest), True))
    if kept.num_rows < table.num_rows:
        for timestamp in times.to_pylist():
            if timestamp is not None and timestamp < oldest:
                passed(1, timestamp)
    return kept


def _repeated(kind: str, value: object, count: int) -> ArrowArray:
    """A column of one value: one short piece, which is kept, as often as it takes."""
    pa, piece = pyarrow(), _piece(kind, value)
    whole, rest = divmod(count, _PIECE_ROWS)
    return pa.chunked_array([*[piece] * whole, piece.slice(0, rest)])


@lru_cache(maxsize=64)
def _piece(kind: str, value: object) -> ArrowArray:
    pa = pyarrow()
    return pa.repeat(pa.scalar(value, arrow_type(kind)), _PIECE_ROWS)


class _Block(NamedTuple):
    """Rows of one stream that were vouched for alike."""

    stream: Stream
    vouched: Vouched
    seqs: ArrowArray
    rows: ArrowArray
    content: list[ArrowBatch]
    """Batches of the channel's columns."""
    error: str | None = None

    def table(self, shape: ArrowSchema) -> ArrowTable:
        """The rows with all columns; constant ones are made at once for the whole block."""
        pa, stream, count = pyarrow(), self.stream, len(self.seqs)
        named = (stream.channel, stream.publisher, stream.session.hex(), _LANES[stream.lane])
        before = [_repeated("string", each, count) for each in named]
        votes = _repeated("int32", self.vouched.votes, count)
        error = pa.nulls(count, arrow_type("string"))
        if self.error is not None:
            error = pa.array([self.error], arrow_type("string"))
        columns = pa.Table.from_batches(self.content).columns
        arrays = [*before, self.seqs, self.rows, *columns, votes, error]
        return pa.Table.from_arrays(arrays, schema=shape)


def _alike(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """Consecutive parts that can share a block: publications of one stream, vouched for alike."""
    for _, run in groupby(parts, key=_kind):
        yield list(run)


def _kind(part: Part) -> tuple[object, ...]:
    item = part.item
    bad = isinstance(item, Batch) and isinstance(item.content, BadPublication)
    alone = id(part) if bad or isinstance(item, Singles) else 0
    return item.stream, item.vouched, alone


def _blocks(schema: Schema, parts: list[Part]) -> Iterator[_Block]:
    item = parts[0].item
    if isinstance(item, Singles):
        (part,) = parts
        bodies = item.bodies[part.first : part.first + part.length]
        yield from _of_singles(schema, item, item.first + part.first, bodies)
    elif isinstance(item.content, BadPublication):
        yield _of_bad(schema, item, item.seq, item.content)
    else:
        yield _of_batches(item, parts)


def _of_singles(
    schema: Schema, item: Singles, first: int, bodies: Sequence[bytes]
) -> Iterator[_Block]:
    """A block of them all, or, where one cannot be read, as many as it takes."""
    pa, count = pyarrow(), len(bodies)
    try:
        content = read_records(schema, bodies)
    except BodyError as error:
        if count == 1:
            yield _of_bad(schema, item, first, BadPublication(str(error)[:REASON_BYTES], bodies[0]))
            return
        half = count // 2
        yield from _of_singles(schema, item, first, bodies[:half])
        yield from _of_singles(schema, item, first + half, bodies[half:])
        return
    seqs = pa.array(range(first, first + count), arrow_type("int64"))
    rows = pa.repeat(pa.scalar(0, arrow_type("int32")), count)
    yield _Block(item.stream, item.vouched, seqs, rows, [content])


def _of_batches(item: Batch, parts: list[Part]) -> _Block:
    pa = pyarrow()
    seqs: list[bytes] = []
    rows: list[bytes] = []
    content: list[ArrowBatch] = []
    for part in parts:
        assert isinstance(part.item, Batch)
        assert not isinstance(part.item.content, BadPublication)
        batch = part.item.content.batch
        whole = part.length == batch.num_rows
        content.append(batch if whole else batch.slice(part.first, part.length))
        seqs.append(_I64(part.item.seq) * part.length)
        rows.append(_row_numbers(part.first + part.length)[4 * part.first :])
    packed = ((seqs, "int64"), (rows, "int32"))
    count = sum(part.length for part in parts)
    arrays = [
        pa.Array.from_buffers(arrow_type(kind), count, [None, pa.py_buffer(b"".join(pieces))])
        for pieces, kind in packed
    ]
    return _Block(item.stream, item.vouched, arrays[0], arrays[1], content)


@lru_cache(maxsize=4)
def _row_numbers(count: int) -> bytes:
    """0, 1, 2, ... as Arrow has them: batches of a publisher are often equally long."""
    return pack(f"={count}i", *range(count))


def _of_bad(
    schema: Schema, item: Batch | Singles, seq: int, bad: BadPublication, row: int = 0
) -> _Block:
    pa = pyarrow()
    columns = [
        pa.array([bad.body if each.name == "payload" else None], arrow_type(each.type.name))
        for each in schema.columns
    ]
    names = [each.name for each in schema.columns]
    content = pa.RecordBatch.from_arrays(columns, names=names)
    seqs, rows = pa.array([seq], arrow_type("int64")), pa.array([row], arrow_type("int32"))
    return _Block(item.stream, item.vouched, seqs, rows, [content], bad.reason)


def received_table(schema: Schema, events: Sequence[Received]) -> ArrowTable:
    """Events that were handed over one by one as a table.

    >>> received_table(Schema(), []).num_rows
    0
    """
    pa = pyarrow()
    shape = table_schema(schema)
    tables: list[ArrowTable] = []
    for event in events:
        stream, vouched = event.id.stream, Vouched(event.votes, event.confirmed)
        if event.error is not None:
            bad = BadPublication(event.error, event.payload)
            item = Batch(stream, event.seq, bad, len(bad.body), vouched)
            tables.append(_of_bad(schema, item, event.seq, bad, event.row).table(shape))
            continue
        fields = (event.payload, event.timestamp, event.key, event.urgent, event.attributes)
        content = from_events(schema, [Event(*fields)])
        seqs = pa.array([event.seq], arrow_type("int64"))
        rows = pa.array([event.row], arrow_type("int32"))
        tables.append(_Block(stream, vouched, seqs, rows, [content]).table(shape))
    whole = pa.concat_tables(tables) if tables else pa.Table.from_batches([], shape)
    return whole.combine_chunks()


# -- publishing --------------------------------------------------------------------------------


def to_bodies(schema: Schema, data: Any, timestamp: int) -> list[bytes]:
    """The bodies of publications of a table, a data frame, or a list of events.

    Anything that can hand out an Arrow stream is taken: pyarrow, pandas and polars can.

    >>> len(to_bodies(Schema(), [{"payload": b"a"}, {"payload": b"b"}], timestamp=1))
    1
    """
    if isinstance(data, list | tuple):
        return build_batch(schema, cast("Sequence[Any]", data), timestamp=timestamp)
    pa: Any = pyarrow()
    if not isinstance(data, pa.Table | pa.RecordBatch):
        if hasattr(data, "iloc"):  # pandas: the index is no column
            data = pa.Table.from_pandas(data, preserve_index=False)
        elif hasattr(data, "__arrow_c_stream__"):
            data = pa.RecordBatchReader.from_stream(data).read_all()
        else:
            raise ConfigError(
                f"{type(data).__name__} is no batch: use a pyarrow Table or RecordBatch, "
                "a pandas or polars DataFrame, or a list of events or dicts"
            )
    return from_table(schema, data, timestamp=timestamp)
