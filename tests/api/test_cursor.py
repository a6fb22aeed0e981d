"""Cursors as text, and how they follow what was read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.api import ConfigError, Cursor
from quorumcast.api.cursor import Next, Tracker
from quorumcast.core.ids import Lane, Stream

STREAM = Stream("alerts", "probe", b"1" * 32, Lane.NORMAL)

streams = st.builds(
    Stream,
    st.just("alerts"),
    st.text(min_size=1, max_size=20),
    st.binary(min_size=32, max_size=32),
    st.sampled_from(Lane),
)
places = st.builds(Next, st.integers(1, 2**63 - 1), st.integers(0, 2**63 - 1))


@given(st.dictionaries(streams, places, max_size=5))
def test_text_brings_a_cursor_back(entries: dict[Stream, Next]) -> None:
    cursor = Cursor("alerts", entries)
    assert Cursor.parse(str(cursor)) == cursor
    assert "\n" not in str(cursor)


GOOD = ["probe", "31" * 32, "normal", 4, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"channel": "alerts"}',
        json.dumps({"channel": 5, "streams": [GOOD]}),
        json.dumps({"channel": "alerts", "streams": {"a": 1}}),
        *(
            json.dumps({"channel": "alerts", "streams": [row]})
            for row in (
                GOOD[:4],
                [*GOOD, 1],
                [5, *GOOD[1:]],
                ["probe", "31", "normal", 4, 1],
                ["probe", "zz" * 32, "normal", 4, 1],
                ["probe", "31" * 32, "slow", 4, 1],
                ["probe", "31" * 32, "normal", 0, 1],
                ["probe", "31" * 32, "normal", 4, -1],
                ["probe", "31" * 32, "normal", 4.0, 1],
                ["probe", "31" * 32, "normal", True, 1],
                ["probe", "31" * 32, "normal", 2**63, 1],
                ["probe", "31" * 32, 7, 4, 1],
            )
        ),
    ],
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    assert Cursor.parse(json.dumps({"channel": "alerts", "streams": [GOOD]})).streams
    with pytest.raises(ConfigError, match="this is no cursor"):
        Cursor.parse(text)


def test_a_tracker_never_moves_backwards() -> None:
    tracker = Tracker("alerts", {STREAM: Next(5, 2)})
    tracker.move(STREAM, Next(5, 1))
    tracker.move(STREAM, Next(4))
    assert tracker.cursor({}).streams == {STREAM: Next(5, 2)}
    tracker.move(STREAM, Next(5, 3))
    tracker.move(STREAM, Next(6))
    assert tracker.cursor({}).streams == {STREAM: Next(6)}


def test_streams_that_were_not_read_yet_stand_at_their_start() -> None:
    other = STREAM._replace(publisher="other")
    tracker = Tracker("alerts", {})
    tracker.move(STREAM, Next(9))
    cursor = tracker.cursor({STREAM: 4, other: 7})
    assert cursor == Cursor("alerts", {STREAM: Next(9), other: Next(7)})
