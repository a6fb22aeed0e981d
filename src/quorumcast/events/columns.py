"""From what users have, events and tables, to a record batch that has the channel's schema.

Values are converted only where nothing is lost and nobody has to guess: text is never parsed, a
number is never turned into text, and a timestamp must have a zone or be an int of microseconds.
Errors name column and row.

A null, or a column that is missing, is a null attribute or key. A missing payload is empty, a
missing urgent is False, a missing timestamp is the caller's; a null in one of these is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from reprlib import repr as short_repr
from struct import error as StructError  # noqa: N812
from struct import pack
from types import NoneType
from typing import Any

from quorumcast.core.errors import ConfigError
from quorumcast.events.arrow import ArrowArray, ArrowBatch, ArrowType, arrow_type, pyarrow
from quorumcast.events.batch import time_range
from quorumcast.events.event import Event
from quorumcast.events.schema import FIELDS, Schema
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, Column

_FIELD_NAMES = frozenset(column.name for column in FIELDS)

_SHORT_ROWS = 10_000
"""Columns of one value are kept for batches up to this."""

# -- from events -------------------------------------------------------------------------------


def to_events(rows: Iterable[Event | Mapping[str, Any]], timestamp: Any) -> list[Event]:
    """Events of a list in which some may be mappings of fields and attributes by name.

    >>> to_events([{"payload": b"a"}], timestamp=7)[0].timestamp
    7
    """
    events: list[Event] = []
    for row, given in enumerate(rows):
        if isinstance(given, Event):
            events.append(given)
            continue
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"row {row}: {type(given).__name__} is no event: use Event or a dict")
        fields: dict[str, Any] = {"payload": b"", "timestamp": timestamp}
        attributes: dict[str, Any] = {}
        for name, value in given.items():
            (fields if name in _FIELD_NAMES else attributes)[name] = value
        if fields["timestamp"] is None and "timestamp" not in given:
            raise no_timestamp(f"row {row}: ")
        events.append(Event(**fields, attributes=attributes))
    return events


def no_timestamp(where: str = "") -> ConfigError:
    """The error for events without a time of their own.

    >>> str(no_timestamp("row 2: "))
    'row 2: no timestamp: add one, or give timestamp= for all that have none'
    """
    return ConfigError(f"{where}no timestamp: add one, or give timestamp= for all that have none")


def from_events(schema: Schema, events: Sequence[Event]) -> ArrowBatch:
    """A record batch of events.

    >>> from_events(Schema(), [Event(b"a", timestamp=1)]).num_rows
    1
    """
    names = schema.by_name
    unknown = set[str]().union(*[event.attributes for event in events]).difference(names)
    if unknown:
        row = next(row for row, event in enumerate(events) if unknown & event.attributes.keys())
        raise schema.unknown(min(unknown & events[row].attributes.keys(), key=str), row)
    lists: list[list[Any]] = [
        [event.timestamp for event in events],
        [event.key for event in events],
        [event.urgent for event in events],
        [event.payload for event in events],
        *([event.attributes.get(name) for event in events] for name in names),
    ]
    pa = pyarrow()
    arrays = [_array(column, values) for column, values in zip(schema.columns, lists, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow)


def _array(column: Column, values: list[Any]) -> ArrowArray:
    """Python values as an Arrow array, quickly where all are of the plain type and in range."""
    pa = pyarrow()
    target = arrow_type(column.type.name)
    if not _plain(column, values):
        values = [column.value(value, row) for row, value in enumerate(values)]
    try:
        return pa.array(values, target)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        for row, value in enumerate(values):
            column.value(value, row)
        raise


def _plain(column: Column, values: list[Any]) -> bool:
    kinds = set(map(type, values))
    if column.type.name == "timestamp":
        return kinds == {int} and TIMESTAMP_LEAST <= min(values) <= max(values) <= TIMESTAMP_MOST
    if not kinds <= ({column.type.plain, NoneType} if column.nullable else {column.type.plain}):
        return False
    if column.type.name == "float32":  # Arrow would make infinity of what is too large
        numbers = [value for value in values if value is not None]
        try:
            pack(f"<{len(numbers)}f", *numbers)
        except (StructError, OverflowError):
            return False
    return True


# -- from tables -------------------------------------------------------------------------------


def check_names(schema: Schema, names: Sequence[str], *, timestamp: Any) -> None:
    """Raise unless a table of these columns can become events.

    >>> check_names(Schema(), ["payload"], timestamp=None)
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: no timestamp: add one, or give timestamp= for all ...
    """
    for name in names:
        if name not in _FIELD_NAMES and name not in schema.by_name:
            raise schema.unknown(name)
        if names.count(name) > 1:
            raise ConfigError(f"{name}: the table has this column twice: drop one")
    if "timestamp" not in names and timestamp is None:
        raise no_timestamp()


def from_batch(schema: Schema, batch: ArrowBatch, timestamp: Any, first_row: int) -> ArrowBatch:
    """A record batch of the user's columns as one of the channel's.

    >>> batch = pyarrow().RecordBatch.from_pydict({"payload": [b"a"]})
    >>> from_batch(Schema(), batch, timestamp=5, first_row=0).schema.names
    ['timestamp', 'key', 'urgent', 'payload']
    """
    pa = pyarrow()
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    rows = batch.num_rows
    missing = {"payload": b"", "urgent": False}
    arrays: list[ArrowArray] = []
    for column in schema.columns:
        target = arrow_type(column.type.name)
        if column.name in given:
            array = _convert(column, given[column.name], target, first_row)
        elif column.nullable:
            array = _constant(column.type.name, None, rows)
        elif column.name == "timestamp":
            array = pa.repeat(pa.scalar(column.value(timestamp), target), rows)
        else:
            array = _constant(column.type.name, missing[column.name], rows)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema.arrow)


def _constant(kind: str, value: object, rows: int) -> ArrowArray:
    """A column of one value; that of a batch of usual length is made once."""
    make = _short_constant if rows <= _SHORT_ROWS else _make_constant
    return make(kind, value, rows)


def _make_constant(kind: str, value: object, rows: int) -> ArrowArray:
    pa, target = pyarrow(), arrow_type(kind)
    return pa.nulls(rows, target) if value is None else pa.repeat(pa.scalar(value, target), rows)


_short_constant = lru_cache(maxsize=32)(_make_constant)


def _convert(column: Column, array: ArrowArray, target: ArrowType, first_row: int) -> ArrowArray:
    pa = pyarrow()
    nulls = array.null_count and not column.nullable
    if array.type == target and not nulls and column.type.name != "timestamp":
        return array
    if pa.types.is_dictionary(array.type):  # first: a dictionary may hold nulls of its own
        array = array.dictionary_decode()
    if array.null_count and not column.nullable:
        row = pa.compute.index(pa.compute.is_null(array), True).as_py()
        raise column.unfit(f"null is not {column.type.name}", first_row + row)
    if array.type != target and not _same_family(column.type.name, array.type):
        raise column.unfit(f"a column of {array.type} is not {column.type.name}")

    def convert(rows: int) -> ArrowArray:
        return _cast(column, array.slice(0, rows), target)

    try:
        return convert(len(array))
    except (pa.ArrowException, OverflowError):
        if pa.types.is_integer(array.type) and column.type.plain is float:
            # Arrow refuses all above 2**53 (2**24), also the even ones that a float holds
            values = enumerate(array.to_pylist(), first_row)
            return pa.array([column.value(value, row) for row, value in values], target)
        row = _first_failure(len(array), convert)
        if pa.types.is_timestamp(array.type):  # some that Python cannot show end here
            array = array.view(arrow_type("int64"))
        value = short_repr(array[row].as_py())
        raise column.unfit(f"{value} is not {column.type.name}", first_row + row) from None


def _same_family(name: str, given: ArrowType) -> bool:
    """Whether values of the given type mean the same as values of the named one."""
    types = pyarrow().types
    if types.is_null(given):
        return True
    match name:
        case "bool":
            return types.is_boolean(given)
        case "float32" | "float64":
            return types.is_floating(given) or types.is_integer(given)
        case "string":
            return types.is_string(given) or types.is_large_string(given) or _is_view(given, "utf8")
        case "binary":
            return (
                types.is_binary(given)
                or types.is_large_binary(given)
                or types.is_fixed_size_binary(given)
                or _is_view(given, "binary")
            )
        case "timestamp":
            return types.is_integer(given) or (types.is_timestamp(given) and given.tz is not None)
        case _:
            return types.is_integer(given)


def _is_view(given: ArrowType, what: str) -> bool:
    types = pyarrow().types
    return types.is_string_view(given) if what == "utf8" else types.is_binary_view(given)


def _cast(column: Column, array: ArrowArray, target: ArrowType) -> ArrowArray:
    """The array as the column's type; OverflowError or ArrowException where a value is lost."""
    pa = pyarrow()
    name = column.type.name
    if name == "timestamp" and pa.types.is_integer(array.type):
        array = array.cast(arrow_type("int64"))
    # nanoseconds may go, as Python's datetimes have none; everything else must be exact
    options = pa.compute.CastOptions(target, allow_time_truncate=True)
    result = array.cast(options=options)
    if name == "timestamp":
        least, most = time_range(result)
        if least is not None and not TIMESTAMP_LEAST <= least <= most <= TIMESTAMP_MOST:
            raise OverflowError
    if name == "float32":
        infinite = pa.compute.is_inf
        both = pa.compute.equal(infinite(result), infinite(array.cast(arrow_type("float64"))))
        if pa.compute.all(both).as_py() is False:
            raise OverflowError
    return result


def _first_failure(rows: int, convert: Callable[[int], ArrowArray]) -> int:
    """The first row that does not convert: prefixes fail from it on."""
    good, bad = 0, rows
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            convert(middle)
            good = middle
        except (pyarrow().ArrowException, OverflowError):
            bad = middle
    return bad - 1
