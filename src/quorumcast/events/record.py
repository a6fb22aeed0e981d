"""The compact record: the body of a publication of one event.

All numbers are little-endian::

    form        u8   1
    flags       u8   1 urgent, 2 key present, 4 attributes present
    timestamp   i64  microseconds since 1970
    key              if present: length, UTF-8
    attributes       if present:
        check    u32  the schema's
        presence      a bit per attribute, first attribute in bit 0 of the first byte
        fixed         every attribute of fixed length; zeros where it is null
        variable      every other attribute that is present: length, bytes
    payload          the rest

A length below 255 is one byte; others are the byte 255 and an u32. Attributes are present when one
of them is not null. So one event has one record, and `decode` takes nothing but what `encode`
makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import BODY_BYTES
from quorumcast.events.event import Event
from quorumcast.events.foreign import BodyError
from quorumcast.events.schema import FIELDS, Schema
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, Column, Value

RECORD = 1
"""The form: the first byte of a compact record."""

_URGENT, _KEY, _ATTRIBUTES = 1, 2, 4
_LONG = 255

_HEAD = Struct("<BBq")
pack_head = _HEAD.pack

PLAIN_BYTES = _HEAD.size
"""Where the payload begins in a record without key and attributes; its timestamp ends there."""

_U32 = Struct("<I")

_TIMESTAMP, _KEY_COLUMN, _URGENT_COLUMN, _PAYLOAD = FIELDS


def encode(
    schema: Schema,
    payload: Any,
    timestamp: Any,
    key: Any = None,
    urgent: Any = False,
    attributes: Mapping[str, Any] | None = None,
    row: int | None = None,
) -> bytes:
    """The record of one event; `ConfigError` names the value that does not fit, and the row.

    >>> len(encode(Schema(), bytes(56), timestamp=1))
    66
    """
    if type(payload) is not bytes:
        payload = _PAYLOAD.value(payload, row)
    if type(timestamp) is not int or not TIMESTAMP_LEAST <= timestamp <= TIMESTAMP_MOST:
        timestamp = _TIMESTAMP.value(timestamp, row)
    if urgent is not False:
        urgent = _URGENT_COLUMN.value(urgent, row)
    if key is None and not attributes:
        return pack_head(RECORD, urgent, timestamp) + payload
    flags, keyed = int(urgent), b""
    if key is not None:
        flags |= _KEY
        keyed = _prefixed(_utf8(_KEY_COLUMN, key, row), row)
    packed = _pack_attributes(schema, attributes, row) if attributes else b""
    if packed:
        flags |= _ATTRIBUTES
    return pack_head(RECORD, flags, timestamp) + keyed + packed + payload


def encode_event(schema: Schema, event: Event, max_bytes: int, row: int) -> bytes:
    """The record of an event that errors call this row.

    >>> len(encode_event(Schema(), Event(bytes(56), timestamp=1), 100, row=0))
    66
    """
    attributes = event.attributes
    body = encode(schema, event.payload, event.timestamp, event.key, event.urgent, attributes, row)
    if len(body) > max_bytes:
        raise too_long(len(body), max_bytes, row)
    return body


def too_long(size: int, max_bytes: int, row: int | None = None) -> ConfigError:
    """The error for an event that fits in no body.

    >>> str(too_long(9, 8, row=3))
    'row 3: an event of 9 bytes is too long: use at most 8, and a reference to the rest'
    """
    where = "" if row is None else f"row {row}: "
    return ConfigError(
        f"{where}an event of {size} bytes is too long: use at most {max_bytes}, "
        "and a reference to the rest"
    )


def _pack_attributes(schema: Schema, given: Mapping[str, Any], row: int | None) -> bytes:
    """The attributes of a record; nothing if all are null."""
    for name in given:
        if name not in schema.by_name:
            raise schema.unknown(name, row)
    presence = 0
    fixed: list[Any] = []
    variable: list[bytes] = []
    for place, column in enumerate(schema.attributes):
        value, kind = given.get(column.name), column.type
        if value is not None:
            presence |= 1 << place
            # NaN is the value that differs from itself: all of them become one
            if type(value) is not kind.plain or value != value:
                value = column.value(value, row)
        if kind.code:
            fixed.append(0 if value is None else value)
        elif value is not None:
            raw = value if isinstance(value, bytes) else _utf8(column, value, row)
            variable.append(_prefixed(raw, row))
    if not presence:
        return b""
    head = _U32.pack(schema.check) + presence.to_bytes(_presence_bytes(schema), "little")
    try:
        packed = schema.fixed.pack(*fixed)
    except (StructError, OverflowError):
        for column in schema.attributes:  # one of them is out of its range, and says so here
            column.value(given.get(column.name), row)
        raise
    return head + packed + b"".join(variable)


def _utf8(column: Column, value: Any, row: int | None) -> bytes:
    try:
        return value.encode() if type(value) is str else str(column.value(value, row)).encode()
    except UnicodeEncodeError:
        column.value(value, row)
        raise


def _prefixed(raw: bytes, row: int | None) -> bytes:
    size = len(raw)
    if size > BODY_BYTES:
        raise too_long(size, BODY_BYTES, row)
    return (bytes((size,)) if size < _LONG else b"\xff" + _U32.pack(size)) + raw


def _presence_bytes(schema: Schema) -> int:
    return (len(schema.attributes) + 7) // 8


class Record(NamedTuple):
    """A record that was decoded; its payload is the body from `payload_start` on.

    >>> decode(Schema(), encode(Schema(), b"abc", timestamp=1)).payload_start
    10
    """

    timestamp: int
    key: str | None
    urgent: bool
    values: tuple[Value, ...]
    """Of the schema's attributes, in order."""
    payload_start: int

    def event(self, schema: Schema, body: bytes) -> Event:
        """The event of this record, with a copy of its payload."""
        attributes = dict(zip(schema.by_name, self.values, strict=True))
        payload = body[self.payload_start :]
        return Event(payload, self.timestamp, self.key, self.urgent, attributes)


def decode(schema: Schema, body: bytes) -> Record:
    """What `encode` made this of; raises `BodyError` for anything that it does not make.

    >>> decode(Schema(), encode(Schema(), b"abc", timestamp=1, key="db-3")).key
    'db-3'
    """
    if len(body) < _HEAD.size:
        raise BodyError(f"record of {len(body)} bytes is shorter than its head of {_HEAD.size}")
    _, flags, timestamp = _HEAD.unpack_from(body)
    if flags > _URGENT | _KEY | _ATTRIBUTES:
        raise BodyError(f"record has unknown flags {flags}")
    if not TIMESTAMP_LEAST <= timestamp <= TIMESTAMP_MOST:
        raise BodyError(f"timestamp {timestamp} is outside the years 1 to 9999")
    at, key = _HEAD.size, None
    if flags & _KEY:
        raw, at = _take(body, at, "key")
        key = _text(raw, "key")
    values: tuple[Value, ...] = (None,) * len(schema.attributes)
    if flags & _ATTRIBUTES:
        values, at = _unpack_attributes(schema, body, at)
    return Record(timestamp, key, bool(flags & _URGENT), values, at)


def _unpack_attributes(schema: Schema, body: bytes, at: int) -> tuple[tuple[Value, ...], int]:
    start = at + _U32.size
    fixed_at = start + _presence_bytes(schema)
    end = fixed_at + schema.fixed.size
    if len(body) < start:
        raise BodyError("record ends within its attributes")
    (check,) = _U32.unpack_from(body, at)
    if check != schema.check:
        raise BodyError(other_schema(check, schema))
    if len(body) < end:
        raise BodyError("record ends within its attributes")
    presence = int.from_bytes(body[start:fixed_at], "little")
    if not presence or presence >> len(schema.attributes):
        raise BodyError("record marks no attribute, or one that the schema lacks, as present")
    unpacked = iter(schema.fixed.unpack_from(body, fixed_at))
    fixed: list[Any] = []
    values: list[Value] = []
    at = end
    for place, column in enumerate(schema.attributes):
        present = presence >> place & 1
        value: Any = None
        if column.type.code:
            value = next(unpacked)
            # what encode would have packed for this value, to be compared below
            fixed.append((value if value == value else nan) if present else 0)
        elif present:
            value, at = _take(body, at, column.name)
            if column.type.plain is str:
                value = _text(value, column.name)
        if present and column.type.name == "timestamp":
            _check_time(column.name, value)
        values.append(value if present else None)
    if schema.fixed.pack(*fixed) != body[fixed_at:end]:
        raise BodyError("record has a null, a bool or a NaN in a form that no publisher writes")
    return tuple(values), at


def _check_time(name: str, value: int) -> None:
    if not TIMESTAMP_LEAST <= value <= TIMESTAMP_MOST:
        raise BodyError(f"{name} {value} is outside the years 1 to 9999")


def _take(body: bytes, at: int, what: str) -> tuple[bytes, int]:
    """Bytes with their length before them, and where they end."""
    size = body[at] if at < len(body) else -1
    at += 1
    if size == _LONG:
        if at + _U32.size > len(body):
            raise BodyError(f"record ends within the length of {what}")
        (size,) = _U32.unpack_from(body, at)
        at += _U32.size
        if size < _LONG:
            raise BodyError(f"length {size} of {what} takes five bytes where one is enough")
    if size < 0 or at + size > len(body):
        raise BodyError(f"record ends within {what}")
    return body[at : at + size], at + size


def _text(raw: bytes, what: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BodyError(f"{what} is not UTF-8") from None


def other_schema(check: int, schema: Schema) -> str:
    """Why a body that was made under another schema is not read.

    >>> other_schema(1, Schema())
    "body was made under another schema (check 00000001) than this channel's (check 2e16b031)"
    """
    return (
        f"body was made under another schema (check {check:08x}) "
        f"than this channel's (check {schema.check:08x})"
    )
