"""An event as users hold it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.events import Event
from quorumcast.events.values import TIMESTAMP_LEAST, TIMESTAMP_MOST, microseconds


@given(st.integers(TIMESTAMP_LEAST, TIMESTAMP_MOST))
def test_every_timestamp_can_be_shown_and_comes_back(timestamp: int) -> None:
    shown = Event(b"", timestamp).time
    assert shown.tzinfo is UTC
    assert microseconds(shown) == timestamp


def test_the_first_and_the_last_time() -> None:
    assert Event(b"", TIMESTAMP_LEAST).time == datetime(1, 1, 1, tzinfo=UTC)
    assert Event(b"", TIMESTAMP_MOST).time == datetime.max.replace(tzinfo=UTC)


def test_attributes_by_name() -> None:
    event = Event(b"", 0, attributes={"severity": 5, "host": None})
    assert (event["severity"], event["host"]) == (5, None)
    with pytest.raises(KeyError):
        event["severty"]


def test_events_are_compared_by_value_and_do_not_change() -> None:
    assert Event(b"a", 1) == Event(b"a", 1, None, False, {})
    assert Event(b"a", 1) != Event(b"a", 1, "")
    with pytest.raises(AttributeError):
        Event(b"a", 1).payload = b"b"  # type: ignore[misc]


def test_two_events_do_not_share_their_attributes() -> None:
    assert Event(b"", 0).attributes is not Event(b"", 0).attributes
