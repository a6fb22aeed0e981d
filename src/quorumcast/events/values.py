"""The types that a channel's attributes may have, and which Python values each of them takes.

A value is taken as it is or converted without loss, with two exceptions: a float loses the
precision that a float32 has not, and NaN keeps neither sign nor payload. None is the null of every
type. Types are those that Python, Arrow and Spark all have, so that a value means the same to
whoever reads it; that is also why timestamps end with the year 9999, where Python's do.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import nan
from numbers import Real
from operator import index
from reprlib import repr as short_repr
from struct import Struct
from typing import Any, TypeAlias, cast

import msgspec

from quorumcast.core.errors import ConfigError

Value: TypeAlias = bool | int | float | str | bytes | None
"""What an attribute holds once it is part of an event; timestamps are int microseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMESTAMP_LEAST = -62_135_596_800_000_000
"""0001-01-01 in microseconds: the first that Python and Spark can show."""
TIMESTAMP_MOST = 253_402_300_799_999_999
"""9999-12-31T23:59:59.999999 in microseconds: the last."""

_MICROSECOND = timedelta(microseconds=1)
_FLOAT32 = Struct("<f")


class Type(msgspec.Struct, frozen=True):
    """One type: how it is packed, and what it takes.

    >>> TYPES["int8"].code, TYPES["string"].code
    ('b', '')
    """

    name: str
    code: str
    """The struct character of a value; empty where values vary in length."""
    bits: int
    """Bits of a value in an Arrow data buffer; 0 where values vary in length."""
    plain: type
    """The Python type that needs no conversion before packing; NoneType if all do."""
    convert: Callable[[Any], Value]
    """The value to pack, or TypeError, ValueError, OverflowError if it does not fit."""
    right: str
    """What would be right, for the error."""


def whole_number(value: Any, least: int, most: int) -> int:
    """An int within bounds; takes whatever stands for an int exactly, but no bool.

    >>> whole_number(5, 0, 9)
    5
    """
    if isinstance(value, bool):
        raise TypeError
    number = index(value)
    if not least <= number <= most:
        raise ValueError
    return number


def microseconds(value: Any) -> int:
    """A timestamp from an int (microseconds since 1970 in UTC) or a datetime that has a zone.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC))
    2000000
    """
    if isinstance(value, datetime):
        # A TypeError where the zone is missing; a zone can also put year 1 or 9999 out of range.
        value = (value - EPOCH) // _MICROSECOND
    return whole_number(value, TIMESTAMP_LEAST, TIMESTAMP_MOST)


def _signed(bits: int) -> Type:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    code = {8: "b", 16: "h", 32: "i", 64: "q"}[bits]
    return Type(
        f"int{bits}",
        code,
        bits,
        int,
        lambda value: whole_number(value, least, most),
        f"a whole number from {least} to {most}",
    )


def _float64(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    number = float(value)
    if number != number:
        return nan  # the one NaN that a compact record may hold
    if isinstance(value, int) and number != value:
        raise ValueError  # an int that a float cannot hold exactly
    return number


def _float32(value: Any) -> float:
    number: float = _FLOAT32.unpack(_FLOAT32.pack(_float64(value)))[0]
    if isinstance(value, int) and number != value:
        raise ValueError  # an int that a float32 cannot hold exactly
    return number


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # a UnicodeEncodeError where it holds half a surrogate pair
    return str(value)


def _binary(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError
    return bytes(cast("bytes", value))


TYPES: dict[str, Type] = {
    kind.name: kind
    for kind in (
        Type("bool", "?", 1, bool, _boolean, "True or False"),
        _signed(8),
        _signed(16),
        _signed(32),
        _signed(64),
        Type(
            "float32",
            "f",
            32,
            float,
            _float32,
            "a float of at most 3.4e38, or an int that a float32 holds exactly",
        ),
        Type("float64", "d", 64, float, _float64, "a float, or an int that a float holds exactly"),
        Type("string", "", 0, str, _string, "a str of whole Unicode characters"),
        Type("binary", "", 0, bytes, _binary, "bytes (text.encode() for text)"),
        Type(
            "timestamp",
            "q",
            64,
            type(None),
            microseconds,
            "an int of microseconds since 1970 in UTC, or a datetime with a time zone, "
            "in the years 1 to 9999",
        ),
    )
}
"""Every type by the name that a channel's schema gives it."""


class Column(msgspec.Struct, frozen=True):
    """A field of every event, or an attribute of a channel's events.

    >>> Column("severity", TYPES["int8"]).nullable
    True
    """

    name: str
    type: Type
    nullable: bool = True

    def value(self, given: Any, row: int | None = None) -> Value:
        """The value that an event of this column holds, or a `ConfigError` that names it.

        >>> Column("severity", TYPES["int8"]).value(300, row=7)
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: row 7, severity: 300 is not int8: use a whole number ...
        """
        if given is None and self.nullable:
            return None
        try:
            return self.type.convert(given)
        except (TypeError, ValueError, OverflowError):
            raise self.unfit(f"{short_repr(given)} is not {self.type.name}", row) from None

    def unfit(self, what: str, row: int | None = None) -> ConfigError:
        """The error for a value that this column does not take.

        >>> str(Column("urgent", TYPES["bool"], nullable=False).unfit("null is not bool"))
        'urgent: null is not bool: use True or False'
        """
        where = self.name if row is None else f"row {row}, {self.name}"
        right = f"{self.type.right}, or None" if self.nullable else self.type.right
        return ConfigError(f"{where}: {what}: use {right}")
