"""Tables: what users publish from, and what `poll` gives them.

A table of events has these columns: channel, publisher, session, lane, seq, row, then every
event's fields and the channel's attributes, then votes and error. A body that cannot be read is
one row: its bytes are the payload, `error` says why, the rest is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, cast

from quorumcast.api.feed import Item, Part
from quorumcast.api.received import PublicationId, Received
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane
from quorumcast.events import BadPublication, Event, Schema, build_batch, from_table
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
    batches: list[ArrowBatch] = []
    for single, run in groupby(parts, key=_is_single):
        if single:
            batches.append(_of_singles(schema, shape, [part.item for part in run]))
        else:
            batches += [_of_part(schema, shape, part) for part in run]
    table = pa.Table.from_batches(batches, shape)
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


def _is_single(part: Part) -> bool:
    """Publications of one event are many: a batch of one row for each would take for ever."""
    return part.item.rows == 1 and not isinstance(part.item.content, BadPublication)


def _of_singles(schema: Schema, shape: ArrowSchema, items: list[Item]) -> ArrowBatch:
    events: list[Event] = []
    for item in items:
        assert not isinstance(item.content, BadPublication), "bad ones have a batch of their own"
        events.append(item.content[0])
    columns = from_events(schema, events).columns
    nothing = [None] * len(items)
    return _assembled(
        shape, [item.id for item in items], nothing, columns, [item.votes for item in items]
    )


def _of_part(schema: Schema, shape: ArrowSchema, part: Part) -> ArrowBatch:
    item, content = part.item, part.item.content
    if isinstance(content, BadPublication):
        columns = _bad_columns(schema, content.body)
        return _assembled(shape, [item.id], [content.reason], columns, [item.votes])
    columns = content.batch.slice(part.first, part.length).columns
    rows = range(part.first, part.first + part.length)
    return _assembled(shape, [item.id], [None] * part.length, columns, [item.votes], rows)


def _bad_columns(schema: Schema, body: bytes) -> list[ArrowArray]:
    return [
        pyarrow().array([body if each.name == "payload" else None], arrow_type(each.type.name))
        for each in schema.columns
    ]


def _assembled(
    shape: ArrowSchema,
    ids: Sequence[PublicationId],
    errors: Sequence[str | None],
    columns: Sequence[ArrowArray],
    votes: Sequence[int],
    rows: Sequence[int] | None = None,
) -> ArrowBatch:
    """A batch of these columns; one id and count of votes stand for all rows of a publication."""
    pa = pyarrow()
    count = len(errors)

    def column(values: Sequence[Any], kind: str) -> ArrowArray:
        if len(values) < count:
            return pa.repeat(pa.scalar(values[0], arrow_type(kind)), count)
        return pa.array(values, arrow_type(kind))

    return pa.RecordBatch.from_arrays(
        [
            column([each.channel for each in ids], "string"),
            column([each.publisher for each in ids], "string"),
            column([each.session.hex() for each in ids], "string"),
            column([Lane(each.lane).name.lower() for each in ids], "string"),
            column([each.seq for each in ids], "int64"),
            column([0] if rows is None else rows, "int32"),
            *columns,
            column(votes, "int32"),
            pa.array(errors, arrow_type("string")),
        ],
        schema=shape,
    )


def received_table(schema: Schema, events: Sequence[Received]) -> ArrowTable:
    """Events that were handed over one by one as a table.

    >>> received_table(Schema(), []).num_rows
    0
    """
    pa = pyarrow()
    shape = table_schema(schema)
    batches: list[ArrowBatch] = []
    for event in events:
        columns = _bad_columns(schema, event.payload)
        if event.error is None:
            fields = (event.payload, event.timestamp, event.key, event.urgent, event.attributes)
            columns = from_events(schema, [Event(*fields)]).columns
        batches.append(
            _assembled(shape, [event.id], [event.error], columns, [event.votes], [event.row])
        )
    return pa.Table.from_batches(batches, shape).combine_chunks()


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
