"""From what users have to the channel's columns: what is converted, and what is named and refused.

Whatever is taken must come back: a body that our own reader refuses is a bug of the builder.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from quorumcast.core.errors import ConfigError
from quorumcast.events import BadPublication, Event, Schema, build_batch, from_table, read
from tests.events.strategies import schema_and_events

PLAIN = Schema()
WIDE = Schema.parse(
    {
        "flag": "bool",
        "small": "int8",
        "large": "int64",
        "ratio": "float32",
        "exact": "float64",
        "name": "string",
        "raw": "binary",
        "seen": "timestamp",
    }
)


def events_of(schema: Schema, bodies: list[bytes]) -> list[Event]:
    found = [read(schema, body) for body in bodies]
    bad = [each.reason for each in found if isinstance(each, BadPublication)]
    assert bad == []
    return [event for part in found for event in part]  # type: ignore[union-attr]


def through(column: str, array: Any) -> list[Any]:
    """The values of one column of a table, after it was published and read."""
    table = pa.table({column: array})
    return [event[column] for event in events_of(WIDE, from_table(WIDE, table, timestamp=1))]


# -- tables --------------------------------------------------------------------------------------


@given(schema_and_events(1, 6))
def test_a_table_that_was_read_can_be_published(drawn: tuple[Schema, list[Event]]) -> None:
    schema, events = drawn
    (body,) = build_batch(schema, events)
    found = read(schema, body)
    assert not isinstance(found, BadPublication)
    assert events_of(schema, from_table(schema, found.table)) == events
    assert events_of(schema, from_table(schema, found.batch)) == events


CONVERTED: list[tuple[str, Any, list[Any]]] = [
    ("small", pa.array([1, None, -128], pa.int64()), [1, None, -128]),
    ("small", pa.array([127], pa.uint64()), [127]),
    ("small", pa.array([1, 2, 1]).dictionary_encode(), [1, 2, 1]),
    ("large", pa.array([1], pa.int8()), [1]),
    ("ratio", pa.array([0.5, nan, inf, None]), [0.5, nan, inf, None]),
    ("ratio", pa.array([1, 2**24, 2**40], pa.int64()), [1.0, 2.0**24, 2.0**40]),
    ("ratio", pa.array([1.5], pa.float16()), [1.5]),
    ("exact", pa.array([2**53, 2**60]), [2.0**53, 2.0**60]),
    ("exact", pa.array([1.5], pa.float32()), [1.5]),
    ("name", pa.array(["a", None], pa.large_string()), ["a", None]),
    ("name", pa.array(["a"], pa.string_view()), ["a"]),
    ("name", pa.array(["a", "b", "a", None]).dictionary_encode(), ["a", "b", "a", None]),
    ("raw", pa.array([b"ab"], pa.binary(2)), [b"ab"]),
    ("raw", pa.array([b"ab"], pa.large_binary()), [b"ab"]),
    ("raw", pa.array([b"ab"], pa.binary_view()), [b"ab"]),
    ("seen", pa.array([1, -1]), [1, -1]),
    ("seen", pa.array([5], pa.timestamp("s", "UTC")), [5_000_000]),
    ("seen", pa.array([5999], pa.timestamp("ns", "America/New_York")), [5]),
    ("seen", pa.array([datetime(1970, 1, 1, tzinfo=UTC)]), [0]),
    ("flag", pa.array([True, None, False]), [True, None, False]),
    ("flag", pa.nulls(3), [None, None, None]),
    ("seen", pa.nulls(2), [None, None]),
    ("name", pa.nulls(2), [None, None]),
]


@pytest.mark.parametrize(("column", "array", "values"), CONVERTED)
def test_types_that_hold_the_same_values_are_converted(
    column: str, array: Any, values: list[Any]
) -> None:
    assert repr(through(column, array)) == repr(values)


REFUSED: list[tuple[str, Any, str]] = [
    ("small", pa.array([1, 2, 300, 1]), "row 2, small: 300 is not int8: use a whole number"),
    ("small", pa.array([1.0]), "small: a column of double is not int8"),
    ("small", pa.array(["1"]), "small: a column of string is not int8"),
    ("small", pa.array([True]), "small: a column of bool is not int8"),
    ("large", pa.array([0, 2**63], pa.uint64()), "row 1, large: 9223372036854775808 is not int64"),
    ("ratio", pa.array([1.0, 1e300]), "row 1, ratio: 1e+300 is not float32"),
    ("ratio", pa.array([1, 2**24 + 1]), "row 1, ratio: 16777217 is not float32"),
    ("exact", pa.array([2**53 + 1]), "row 0, exact: 9007199254740993 is not float64"),
    ("exact", pa.array([Decimal("1.5")]), "exact: a column of decimal128(2, 1) is not float64"),
    ("name", pa.array([1]), "name: a column of int64 is not string"),
    ("name", pa.array([b"a"]), "name: a column of binary is not string"),
    ("raw", pa.array(["a"]), "raw: a column of string is not binary"),
    ("seen", pa.array(["2024"]), "seen: a column of string is not timestamp"),
    ("seen", pa.array([1], pa.timestamp("us")), "seen: a column of timestamp[us] is not"),
    ("seen", pa.array([date(2024, 1, 1)]), "seen: a column of date32[day] is not timestamp"),
    ("seen", pa.array([1, 2**62]), "row 1, seen: 4611686018427387904 is not timestamp"),
    ("seen", pa.array([1, 2**62], pa.timestamp("s", "UTC")), "row 1, seen: 4611686018427387904"),
    ("flag", pa.array([1]), "flag: a column of int64 is not bool"),
    ("name", pa.array([["a"]]), "name: a column of list<"),
]


@pytest.mark.parametrize(("column", "array", "text"), REFUSED)
def test_what_would_be_lost_or_guessed_is_refused_by_column_and_row(
    column: str, array: Any, text: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        through(column, array)
    assert text in str(caught.value)
    assert ": use " in str(caught.value)


def test_what_a_table_leaves_out() -> None:
    table = pa.table({"name": ["a", "b"]})
    assert events_of(WIDE, from_table(WIDE, table, timestamp=7)) == [
        Event(b"", 7, None, False, {**dict.fromkeys(WIDE.by_name), "name": name}) for name in "ab"
    ]


@pytest.mark.parametrize("column", ["payload", "timestamp", "urgent"])
def test_a_null_where_none_may_be_is_named(column: str) -> None:
    values: dict[str, Any] = {"payload": b"a", "timestamp": 1, "urgent": True}
    plain = pa.array([values[column], None, values[column]])
    # the indices of this one have no nulls: its dictionary has
    inside = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 0], pa.int8()), pa.array([values[column], None])
    )
    for array in (plain, plain.dictionary_encode(), inside):
        table = pa.table({column: array})
        with pytest.raises(ConfigError, match=f"row 1, {column}: null is not"):
            from_table(PLAIN, table, timestamp=1)


def test_rows_are_counted_over_chunks() -> None:
    chunks = pa.chunked_array([[1] * 70_000, [2, 300]])
    with pytest.raises(ConfigError, match="row 70001, small: 300 is not int8"):
        from_table(WIDE, pa.table({"small": chunks}), timestamp=1)


def test_chunks_slices_and_dictionaries_that_differ_by_chunk() -> None:
    names = pa.chunked_array(
        [pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    )
    table = pa.table({"name": names, "small": pa.chunked_array([[1], [2, 3, 4]])}).slice(1, 2)
    found = events_of(WIDE, from_table(WIDE, table, timestamp=1))
    assert [(event["name"], event["small"]) for event in found] == [("b", 2), ("c", 3)]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pa.table({"payload": [b"a"]}), "no timestamp: add one, or give timestamp="),
        (pa.table({"hots": ["a"], "timestamp": [1]}), "'hots' is not an attribute"),
        ({"payload": [b"a"]}, "dict is no table: use a pyarrow.Table"),
        (None, "NoneType is no table"),
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([1])], ["timestamp", "timestamp"]),
            "timestamp: the table has this column twice: drop one",
        ),
    ],
)
def test_tables_that_cannot_be_events(table: Any, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_table(WIDE, table)
    assert text in str(caught.value)


def test_an_empty_table_makes_no_bodies() -> None:
    assert from_table(WIDE, pa.table({"name": pa.array([], pa.string())}), timestamp=1) == []
    assert from_table(WIDE, pa.table({}), timestamp=1) == []


# -- lists ---------------------------------------------------------------------------------------


def test_events_and_mappings_may_be_mixed() -> None:
    rows = [
        Event(b"a", 5, "k"),
        {"payload": b"b", "small": 3, "urgent": True},
        {"timestamp": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "key": "x"},
    ]
    nothing = dict.fromkeys(WIDE.by_name)
    assert events_of(WIDE, build_batch(WIDE, rows, timestamp=9)) == [
        Event(b"a", 5, "k", False, nothing),
        Event(b"b", 9, None, True, {**nothing, "small": 3}),
        Event(b"", 1_000_000, "x", False, nothing),
    ]


LISTS: list[tuple[list[Any], str]] = [
    ([{"payload": b""}, {"payload": b"", "small": 300}], "row 1, small: 300 is not int8"),
    ([{"payload": b""}, {"payload": b"", "small": True}], "row 1, small: True is not int8"),
    ([{"payload": b""}, {"payload": None}], "row 1, payload: None is not binary"),
    ([{"payload": b""}, {"payload": "text"}], "row 1, payload: 'text' is not binary"),
    ([{}, {"name": "\ud800"}], "row 1, name: '\\ud800' is not string"),
    ([{}, {"ratio": 1e39}], "row 1, ratio: 1e+39 is not float32"),
    ([{}, {"ratio": 2**24 + 1}], "row 1, ratio: 16777217 is not float32"),
    ([{}, {"timestamp": None}], "row 1, timestamp: None is not timestamp"),
    ([{}, {"timestamp": 2**62}], "row 1, timestamp: 4611686018427387904 is not timestamp"),
    ([{}, {"hots": 1}], "row 1: 'hots' is not an attribute of this channel: use flag,"),
    ([{}, {7: 1, "hots": 1}], "row 1: 7 is not an attribute of this channel"),
    ([{}, b"a"], "row 1: bytes is no event: use Event or a dict"),
    ([Event(b"", 1), Event("text", 1)], "row 1, payload: 'text' is not binary"),  # type: ignore[arg-type]
    ([Event(b"", 1), Event(b"", 1, urgent=None)], "row 1, urgent: None is not bool"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("rows", "text"), LISTS)
def test_values_that_do_not_fit_are_named_by_row(rows: list[Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_batch(WIDE, rows, timestamp=1)
    assert text in str(caught.value)
    if text.startswith("row 1, "):  # alone it is a record, and row 0
        with pytest.raises(ConfigError) as caught:
            build_batch(WIDE, rows[1:], timestamp=1)
        assert text.replace("row 1", "row 0") in str(caught.value)


def test_events_without_a_time_need_one() -> None:
    with pytest.raises(ConfigError, match="row 1: no timestamp: add one"):
        build_batch(PLAIN, [{"timestamp": 1}, {"payload": b"a"}])


def test_values_of_other_types_that_fit_are_taken_in_lists_too() -> None:
    rows = [{"ratio": 1, "raw": bytearray(b"x")}, {"ratio": 0.1, "raw": memoryview(b"y")}]
    found = events_of(WIDE, build_batch(WIDE, rows, timestamp=1))
    assert [event["ratio"] for event in found] == [1.0, 0.10000000149011612]
    assert [event["raw"] for event in found] == [b"x", b"y"]


def test_nothing_to_publish_makes_no_bodies() -> None:
    assert build_batch(PLAIN, []) == []
    assert build_batch(PLAIN, iter(())) == []


@pytest.mark.parametrize("most", [0, -1, 8 * 2**20 + 1])
def test_a_bound_that_makes_no_sense_is_refused(most: int) -> None:
    with pytest.raises(ConfigError, match=f"max_bytes = {most} is out of range"):
        build_batch(PLAIN, [], max_bytes=most)
    with pytest.raises(ConfigError, match=f"max_bytes = {most} is out of range"):
        from_table(PLAIN, pa.table({}), max_bytes=most)
