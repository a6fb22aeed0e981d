"""What a batch says, read from its buffers without Arrow, and that these lie within the body.

Arrow does not look where its buffers end when it reads: an offset that points behind them gives
the bytes of somebody else, and often no crash. Here each is compared with the body's own bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from struct import unpack
from typing import Any

from quorumcast.events import Event, Schema
from quorumcast.events.arrow import ArrowArray, ArrowBatch, ArrowBuffer, pyarrow

CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "timestamp": "q"} | {
    "float32": "f",
    "float64": "d",
}


def inside(body: bytes, buffer: ArrowBuffer | None) -> bytes:
    """A buffer's bytes, which must be bytes of the body."""
    if buffer is None or not buffer.size:
        return b""
    start = buffer.address - pyarrow().py_buffer(body).address
    assert 0 <= start <= start + buffer.size <= len(body)
    return body[start : start + buffer.size]


def bits(raw: bytes, rows: int) -> list[bool]:
    assert len(raw) * 8 >= rows
    return [bool(raw[row // 8] >> row % 8 & 1) for row in range(rows)]


def _column(name: str, array: ArrowArray, body: bytes) -> list[Any]:
    rows = len(array)
    validity, *data = [inside(body, buffer) for buffer in array.buffers()]
    present = bits(validity, rows) if array.null_count else [True] * rows
    assert present.count(False) == array.null_count
    if name == "bool":
        values: list[Any] = bits(data[0], rows)
    elif name in CODES:
        size = {"b": 1, "h": 2, "i": 4, "f": 4, "q": 8, "d": 8}[CODES[name]] * rows
        assert len(data[0]) >= size
        values = list(unpack(f"<{rows}{CODES[name]}", data[0][:size]))
    else:
        offsets = unpack(f"<{rows + 1}i", data[0][: 4 * rows + 4])
        assert 0 <= offsets[0] <= offsets[-1] <= len(data[1])
        assert sorted(offsets) == list(offsets)
        pieces = [data[1][a:b] for a, b in pairwise(offsets)]
        values = [each.decode() for each in pieces] if name == "string" else list(pieces)
    return [value if here else None for value, here in zip(values, present, strict=True)]


def values(schema: Schema, batch: ArrowBatch, body: bytes) -> list[list[Any]]:
    """The values of every column; timestamps are ints."""
    return [
        _column(column.type.name, array, body)
        for column, array in zip(schema.columns, batch.columns, strict=True)
    ]


def columns(schema: Schema, events: Sequence[Event]) -> list[list[Any]]:
    """The same of events."""
    fields = ("timestamp", "key", "urgent", "payload")
    lists: list[list[Any]] = [[getattr(event, name) for event in events] for name in fields]
    return lists + [[event[name] for event in events] for name in schema.by_name]
