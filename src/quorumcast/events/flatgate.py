"""The gate before Arrow: is this a plain record batch message that fits its schema and its bytes?

Arrow's C++ reader believes much of a message's metadata. It inflates compressed buffers to the
size that they claim, a terabyte if they say so, and hands out arrays whose buffers are too small
for their length; reading those crashes the process. So the metadata, a FlatBuffers table, is read
here first, and nothing passes but a message in which

- metadata version is V5, the header a record batch, and nothing optional is there: no compression,
  no variadic buffers, no custom metadata;
- every table, field and vector lies within the metadata, and is aligned;
- the body is as long as it says, and ends where the message ends;
- there are as many nodes and buffers as the schema has, every node has the length of the batch, and
  only columns that may be null have nulls;
- buffers begin at multiples of 8, follow each other without overlap, lie within the body, and hold
  as many values as the column has.

What the buffers contain (offsets, UTF-8, nulls) is left to Arrow's own full validation, which is
sound once this holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct, unpack_from

from quorumcast.events.foreign import BodyError
from quorumcast.events.values import Column

_PREFIX = Struct("<Ii")
_CONTINUATION = 0xFFFFFFFF
_V5 = 4
_RECORD_BATCH = 3

_U16 = Struct("<H").unpack_from
_I16 = Struct("<h").unpack_from
_I32 = Struct("<i").unpack_from
_U32 = Struct("<I").unpack_from
_I64 = Struct("<q").unpack_from

_MESSAGE = (("version", 2), ("header type", 1), ("header", 4), ("body length", 8))
_MESSAGE_EXTRAS = ("custom metadata",)
_BATCH = (("length", 8), ("nodes", 4), ("buffers", 4))
_BATCH_EXTRAS = ("compression", "variadic buffers")


def metadata_bytes(columns: int) -> int:
    """The longest metadata that a batch of so many columns may have.

    A column takes a node of 16 bytes and up to three buffers of 16; the rest is a page for tables.

    >>> metadata_bytes(4)
    1280
    """
    return 1024 + 64 * columns


def check(columns: Sequence[Column], body: bytes, start: int) -> int:
    """The number of rows of the message that begins at `start`; raises `BodyError`.

    >>> check((), bytes(8), 0)
    Traceback (most recent call last):
    ...
    quorumcast.events.foreign.BodyError: message does not begin with a continuation mark
    """
    if len(body) < start + _PREFIX.size:
        raise BodyError("message is shorter than its prefix")
    mark, size = _PREFIX.unpack_from(body, start)
    start += _PREFIX.size
    if mark != _CONTINUATION:
        raise BodyError("message does not begin with a continuation mark")
    most = metadata_bytes(len(columns))
    if not 0 < size <= most or size % 8 or start + size > len(body):
        raise BodyError(
            f"metadata of {size} bytes: use a multiple of 8, at most {most}, within the body"
        )
    end = start + size
    return _check_metadata(tuple(columns), body[start:end], len(body) - end)


@lru_cache(maxsize=64)
def _check_metadata(columns: tuple[Column, ...], metadata: bytes, rest: int) -> int:
    """The number of rows, if this can stand before a body of `rest` bytes; raises `BodyError`.

    Batches of equal form have equal metadata, and most publishers send many of those.
    """
    batch, body_length = _message(metadata)
    if body_length != rest:
        raise BodyError(f"message claims a body of {body_length} bytes and has {rest}")
    return _batch(columns, metadata, batch, body_length)


def _message(metadata: bytes) -> tuple[int, int]:
    """Where the record batch's table is, and how long the message's body."""
    root = _uoffset(metadata, 0, "message")
    version, kind, header, length = _table(metadata, root, "message", _MESSAGE, _MESSAGE_EXTRAS)
    found = _I16(metadata, version)[0] if version else 0
    if found != _V5:
        raise BodyError(f"metadata version {found + 1}: use 5")
    found = metadata[kind] if kind else 0
    if found != _RECORD_BATCH:
        raise BodyError(f"message is of type {found}: use a record batch, {_RECORD_BATCH}")
    if not header:
        raise BodyError("message has no header")
    return _uoffset(metadata, header, "header"), _I64(metadata, length)[0] if length else 0


def _batch(columns: Sequence[Column], metadata: bytes, table: int, body_length: int) -> int:
    """Check nodes and buffers against the schema and the body; the number of rows."""
    length, nodes_at, buffers_at = _table(metadata, table, "batch", _BATCH, _BATCH_EXTRAS)
    rows = _I64(metadata, length)[0] if length else 0
    # every row has a timestamp of 8 bytes: this bounds the products below
    if not 0 < rows <= body_length // 8:
        raise BodyError(f"batch claims {rows} rows in {body_length} bytes")
    nodes = _pairs(metadata, nodes_at, "nodes", len(columns))
    variable = [column.type.bits for column in columns].count(0)
    buffers = _pairs(metadata, buffers_at, "buffers", 2 * len(columns) + variable)
    _check_places(buffers, body_length)
    sizes = iter(buffers[1::2])
    bitmap = (rows + 7) // 8
    for column, node_rows, nulls in zip(columns, nodes[::2], nodes[1::2], strict=True):
        if node_rows != rows:
            raise BodyError(f"{column.name} has {node_rows} rows, the batch {rows}")
        if not 0 <= nulls <= (rows if column.nullable else 0):
            raise BodyError(f"{column.name} has {nulls} nulls among {rows} rows")
        validity, data = next(sizes), next(sizes)
        if validity < bitmap and (nulls or validity):
            raise BodyError(f"{column.name} has {validity} bytes of validity for {rows} rows")
        bits = column.type.bits
        if bits:
            least = (rows * bits + 7) // 8
        else:
            least = 4 * (rows + 1)
            next(sizes)  # the values' bytes: validation compares them with the offsets
        if data < least:
            raise BodyError(f"{column.name} has {data} bytes for {rows} rows: use {least}")
    return rows


def _check_places(buffers: Sequence[int], body_length: int) -> None:
    """Buffers are aligned and follow each other within the body."""
    end = 0
    for offset, size in zip(buffers[::2], buffers[1::2], strict=True):
        if offset < end or size < 0 or offset % 8 or offset + size > body_length:
            raise BodyError(
                f"buffer of {size} bytes at {offset}: use a multiple of 8, from {end} on, "
                f"within the body of {body_length}"
            )
        end = offset + size


# -- FlatBuffers: offsets are relative, a table's fields are found through its vtable -----------


def _uoffset(metadata: bytes, at: int, what: str) -> int:
    """Where an offset points: forward, aligned, with room for another number."""
    target = at + _U32(metadata, at)[0]
    if target <= at or target % 4 or target + 4 > len(metadata):
        raise BodyError(f"offset of {what} leaves the metadata")
    return target


def _table(
    metadata: bytes, at: int, what: str, fields: Sequence[tuple[str, int]], extras: Sequence[str]
) -> list[int]:
    """Where the table's fields are, 0 where one is absent; none of the extras may be there."""
    vtable = at - _I32(metadata, at)[0]
    if not 0 <= vtable <= len(metadata) - 4 or vtable % 2:
        raise BodyError(f"vtable of {what} is outside the metadata")
    entries, size = _U16(metadata, vtable)[0], _U16(metadata, vtable + 2)[0]
    if entries < 4 or entries % 2 or vtable + entries > len(metadata):
        raise BodyError(f"vtable of {what} leaves the metadata")
    if size < 4 or at + size > len(metadata):
        raise BodyError(f"table of {what} leaves the metadata")
    offsets = [_U16(metadata, entry)[0] for entry in range(vtable + 4, vtable + entries, 2)]
    for place, offset in enumerate(offsets[len(fields) :]):
        if offset:
            name = extras[place] if place < len(extras) else "a field of a later version"
            raise BodyError(f"{what} has {name}: not allowed here")
    places: list[int] = []
    for (name, width), offset in zip(fields, offsets, strict=False):
        if offset and (not 4 <= offset <= size - width or (at + offset) % width):
            raise BodyError(f"{name} of {what} is misplaced")
        places.append(at + offset if offset else 0)
    return places + [0] * (len(fields) - len(places))


def _pairs(metadata: bytes, at: int, what: str, count: int) -> tuple[int, ...]:
    """The numbers of a vector of `count` structs of two 64-bit numbers."""
    if not at:
        raise BodyError(f"batch has no {what}")
    vector = _uoffset(metadata, at, what)
    found = _U32(metadata, vector)[0]
    if found != count:
        raise BodyError(f"batch has {found} {what}: the schema has {count}")
    if (vector + 4) % 8 or vector + 4 + 16 * count > len(metadata):
        raise BodyError(f"{what} of batch are misplaced")
    return unpack_from(f"<{2 * count}q", metadata, vector + 4)
