"""Accounts of streams that are known from a party's word alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.broker.hearsay import Hearsay
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.limits import SESSIONS_UNCONFIRMED as M


def stream(number: int, publisher: str = "p", lane: Lane = Lane.NORMAL) -> Stream:
    """One stream per number."""
    return Stream("c", publisher, number.to_bytes(32, "big"), lane)


def add(
    hearsay: Hearsay, party: str, each: Stream, *, settled: bool = False
) -> list[Stream] | None:
    """What a replica does: those that lose their place are dropped."""
    gone = hearsay.add(party, each, settled=settled)
    for other in gone or ():
        hearsay.drop(party, other)
    return gone


def test_latest_replaces_the_oldest_of_a_publisher_and_lane() -> None:
    hearsay = Hearsay()
    assert [add(hearsay, "r2", stream(n)) for n in range(M)] == [[]] * M
    assert add(hearsay, "r2", stream(M)) == [stream(0)]
    assert hearsay.of("r2") == [stream(n) for n in range(1, M + 1)]


def test_what_is_said_to_be_confirmed_keeps_its_place() -> None:
    hearsay = Hearsay()
    add(hearsay, "r2", stream(0), settled=True)
    for number in range(1, 10):
        add(hearsay, "r2", stream(number))
    assert hearsay.speaks("r2", stream(0))
    assert len(hearsay.of("r2")) == M


def test_account_that_is_full_of_confirmed_ones_takes_no_more() -> None:
    hearsay = Hearsay()
    for number in range(M):
        add(hearsay, "r2", stream(number), settled=True)
    assert add(hearsay, "r2", stream(99)) is None
    assert "r2" in hearsay.missed
    assert add(hearsay, "r2", stream(0)) == []
    hearsay.settle(stream(1))
    assert add(hearsay, "r2", stream(99)) == []


def test_lanes_publishers_and_parties_do_not_disturb_each_other() -> None:
    hearsay = Hearsay()
    for number in range(M):
        for party in ("r2", "r3"):
            assert add(hearsay, party, stream(number)) == []
            assert add(hearsay, party, stream(number, lane=Lane.URGENT)) == []
            assert add(hearsay, party, stream(number, "q")) == []


def test_known_until_the_last_who_spoke_of_it_is_dropped() -> None:
    hearsay = Hearsay()
    add(hearsay, "r2", stream(0))
    add(hearsay, "r3", stream(0))
    hearsay.drop("r2", stream(0))
    assert hearsay.known(stream(0))
    hearsay.drop("r3", stream(0))
    assert not hearsay.known(stream(0))


def test_stored_stream_is_on_nobodys_account() -> None:
    hearsay = Hearsay()
    for party in ("r2", "r3"):
        add(hearsay, party, stream(0))
    hearsay.settle(stream(0))
    assert hearsay.of("r2") == hearsay.of("r3") == []


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcdefgh"), st.booleans())))
def test_accounts_are_bounded_whatever_is_said(words: list[tuple[int, str, bool]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorumcast.broker.hearsay.FOREIGN_STREAMS_PER_PEER", 10)
        hearsay = Hearsay()
        for number, publisher, settled in words:
            add(hearsay, "r4", stream(number, publisher), settled=settled)
            streams = hearsay.of("r4")
            assert len(streams) <= 10
            for name in "abcdefgh":
                assert sum(1 for each in streams if each.publisher == name) <= M
