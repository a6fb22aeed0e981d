"""Streams that replicas list, until enough of them do."""

from __future__ import annotations

import pytest

from quorumcast.client.listing import Listing
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import Head


def head(number: int, last: int = 1) -> Head:
    """One stream per number."""
    return Head(Stream("c", "p", number.to_bytes(32, "big"), Lane.NORMAL), 0, last, 0)


def test_stream_is_known_once_enough_replicas_list_it() -> None:
    listing = Listing(need=2)
    assert listing.add("r1", head(1, 5)) == {}
    assert listing.add("r1", head(1, 6)) == {}
    assert listing.add("r2", head(1, 4)) == {"r1": head(1, 6), "r2": head(1, 4)}
    assert list(listing.known()) == [head(1).stream]


def test_latest_begins_after_the_head_that_a_correct_replica_has() -> None:
    listing = Listing(need=2)
    for replica, last in (("r1", 5), ("r2", 4), ("r4", 99)):
        listing.add(replica, head(1, last))
    listing.add("r4", head(2, 7))
    assert listing.after_latest(["r1", "r2", "r4"]) == {head(1).stream: 6}
    assert listing.after_latest(["r1", "r2"]) == {head(1).stream: 5}
    assert listing.after_latest(["r1"]) == {}


def test_followed_and_forgotten_are_listed_no_more() -> None:
    listing = Listing(need=2)
    for replica in ("r1", "r2"):
        listing.add(replica, head(1))
        listing.add(replica, head(2))
    listing.take(head(1).stream)
    assert list(listing.known()) == [head(2).stream]
    listing.forget("r2")
    assert listing.known() == {}


def test_list_of_one_replica_is_bounded_the_latest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.client.listing.LISTED_STREAMS", 10)
    listing = Listing(need=1)
    for number in range(100):
        listing.add("r4", head(number))
    assert list(listing.known()) == [head(number).stream for number in range(90, 100)]
