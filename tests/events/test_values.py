"""Which Python values each type takes, and what is said of those that it does not."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from math import copysign, inf, isnan, nan
from typing import Any

import pytest
from hypothesis import given

from quorumcast.core.errors import ConfigError
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, TYPES, Column
from tests.events.strategies import VALUES


class Three:
    """Stands for a whole number, as numpy's integers do."""

    def __index__(self) -> int:
        return 3


EAST, WEST = timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))

TAKEN: list[tuple[str, Any, Any]] = [
    ("bool", True, True),
    ("int8", -128, -128),
    ("int8", 127, 127),
    ("int16", Three(), 3),
    ("int32", 2**31 - 1, 2**31 - 1),
    ("int64", -(2**63), -(2**63)),
    ("float32", 0.1, 0.10000000149011612),
    ("float32", 2**24, 16_777_216.0),
    ("float32", 2**40, float(2**40)),
    ("float32", inf, inf),
    ("float64", 2**53, 9_007_199_254_740_992.0),
    ("float64", 2**60, float(2**60)),
    ("string", "", ""),
    ("string", "é\0🙂", "é\0🙂"),
    ("binary", bytearray(b"ab"), b"ab"),
    ("binary", memoryview(b"abc")[1:], b"bc"),
    ("timestamp", 0, 0),
    ("timestamp", TIMESTAMP_LEAST, TIMESTAMP_LEAST),
    ("timestamp", datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=1))), 3_600_000_000),
    ("timestamp", datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), -1),
    ("timestamp", datetime.min.replace(tzinfo=UTC), TIMESTAMP_LEAST),
    ("timestamp", datetime.max.replace(tzinfo=UTC), TIMESTAMP_MOST),
]


@pytest.mark.parametrize(("name", "given_", "taken"), TAKEN)
def test_what_is_taken(name: str, given_: Any, taken: Any) -> None:
    found = Column("x", TYPES[name]).value(given_)
    assert found == taken
    assert type(found) is type(taken)


REFUSED: list[tuple[str, Any]] = [
    ("bool", 1),
    ("bool", "true"),
    ("int8", 128),
    ("int8", -129),
    ("int8", True),
    ("int8", 1.0),
    ("int8", "1"),
    ("int64", 2**63),
    ("float32", 2**24 + 1),
    ("float32", 1e39),
    ("float32", True),
    ("float64", 2**53 + 1),
    ("float64", 10**400),
    ("float64", "1.0"),
    ("float64", 1j),
    ("float64", Decimal("0.1")),
    ("string", b"text"),
    ("string", "\ud800"),
    ("binary", "text"),
    ("binary", [1, 2]),
    ("timestamp", True),
    ("timestamp", 1.0),
    ("timestamp", "2024-01-01"),
    ("timestamp", date(2024, 1, 1)),
    ("timestamp", datetime(2024, 1, 1)),  # noqa: DTZ001
    ("timestamp", TIMESTAMP_LEAST - 1),
    ("timestamp", TIMESTAMP_MOST + 1),
    # Python shows these two; in UTC they are outside its years
    ("timestamp", datetime.min.replace(tzinfo=EAST)),
    ("timestamp", datetime.max.replace(tzinfo=WEST)),
]


@pytest.mark.parametrize(("name", "given_"), REFUSED)
def test_what_is_refused_names_column_row_type_and_what_is_right(name: str, given_: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Column("x", TYPES[name]).value(given_, row=7)
    text = str(caught.value)
    assert text.startswith("row 7, x: ")
    assert f" is not {name}: use {TYPES[name].right}, or None" in text
    assert len(text) < 400


@pytest.mark.parametrize("name", TYPES)
def test_none_is_null_where_that_is_allowed(name: str) -> None:
    assert Column("x", TYPES[name]).value(None) is None
    with pytest.raises(ConfigError, match="^x: None is not"):
        Column("x", TYPES[name], nullable=False).value(None)


def test_a_long_value_is_not_repeated_in_the_error() -> None:
    with pytest.raises(ConfigError) as caught:
        Column("x", TYPES["int8"]).value("y" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_every_nan_becomes_the_same_one(name: str) -> None:
    for number in (nan, -nan, copysign(nan, -1)):
        found = Column("x", TYPES[name]).value(number)
        assert isinstance(found, float)
        assert isnan(found)
        assert copysign(1, found) == 1


@pytest.mark.parametrize("name", TYPES)
def test_values_that_were_read_are_taken_as_they_are(name: str) -> None:
    @given(VALUES[name])
    def check(value: Any) -> None:
        column = Column("x", TYPES[name])
        assert column.value(column.value(value)) == column.value(value) == value

    check()
