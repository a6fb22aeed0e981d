"""Bodies that a subscriber keeps until they are delivered, or found to be false."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.client.copies import Copies


def kept(copies: Copies, position: int) -> dict[str, bytes]:
    """The bodies at a position, by sender."""
    return dict(copies.at(position))


def test_one_body_per_position_and_replica_the_first() -> None:
    copies = Copies({})
    copies.add("r1", 1, b"a", most=100)
    copies.add("r1", 1, b"b", most=100)
    copies.add("r2", 1, b"c", most=100)
    assert kept(copies, 1) == {"r1": b"a", "r2": b"c"}


def test_bytes_are_bounded_per_replica() -> None:
    copies = Copies({})
    for position in range(2, 10):
        copies.add("r4", position, b"x" * 40, most=100)
        copies.add("r1", position, b"x" * 10, most=100)
    assert [position for position in range(2, 10) if "r4" in kept(copies, position)] == [2, 3]
    assert all("r1" in kept(copies, position) for position in range(2, 10))


def test_a_replica_without_room_is_told_so_and_may_be_kept_in_any_case() -> None:
    copies = Copies({})
    assert copies.add("r1", 5, b"x" * 90, most=100)
    assert not copies.add("r1", 1, b"y" * 50, most=100)
    assert kept(copies, 1) == {}
    copies.keep("r1", 1, b"y" * 50)
    assert kept(copies, 1) == {"r1": b"y" * 50}


def test_first_body_of_a_stream_may_be_large() -> None:
    copies = Copies({})
    assert copies.add("r1", 1, b"x" * 5000, most=100)
    assert not copies.add("r1", 2, b"x", most=100)


def test_streams_share_what_a_replica_may_send_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.client.copies.COPIES_BYTES", 250)
    totals: dict[str, int] = {}
    streams = [Copies(totals) for _ in range(4)]
    taken = [copies.add("r4", 2, b"x" * 100, most=100) for copies in streams]
    assert taken == [True, True, False, False]
    assert streams[3].add("r1", 2, b"x" * 100, most=100)
    streams[0].clear()
    assert streams[2].add("r4", 2, b"x" * 100, most=100)


def test_false_body_makes_room_for_another() -> None:
    totals: dict[str, int] = {}
    copies = Copies(totals)
    copies.add("r4", 2, b"x" * 90, most=100)
    copies.remove("r4", 2)
    assert totals == {}
    assert copies.add("r4", 3, b"y" * 90, most=100)
    assert kept(copies, 2) == {}


def test_likely_body_is_the_one_that_most_sent() -> None:
    copies = Copies({})
    assert copies.likely(1, 9) is None
    for replica, body in (("r4", b"x"), ("r1", b"a"), ("r2", b"a")):
        copies.add(replica, 1, body, most=100)
    assert copies.likely(1, 9) == ("r1", [b"a"])


def test_likely_bodies_are_the_longest_run_where_nobody_differs() -> None:
    copies = Copies({})
    copies.add_run("r1", 3, [b"c", b"d"], most=100)
    copies.add_run("r2", 2, [b"b", b"c", b"d", b"e"], most=100)
    assert copies.likely(3, 9) == ("r2", [b"c", b"d", b"e"])
    assert copies.likely(3, 4) in (("r1", [b"c", b"d"]), ("r2", [b"c", b"d"]))
    copies.add_run("r4", 3, [b"c", b"x"], most=100)
    assert copies.likely(3, 9) in ((replica, [b"c"]) for replica in ("r1", "r2", "r4"))


def test_runs_may_overlap_what_is_there_and_the_first_body_counts() -> None:
    totals: dict[str, int] = {}
    copies = Copies(totals)
    assert copies.add_run("r1", 2, [b"b", b"c"], most=100) == []
    assert copies.add_run("r1", 1, [b"A", b"B", b"C", b"D"], most=100) == []
    assert copies.runs(1, 9) == [("r1", [b"A", b"b", b"c", b"D"])]
    assert totals == {"r1": 8}


def test_of_a_run_that_does_not_fit_the_first_are_kept() -> None:
    copies = Copies({})
    assert copies.add_run("r1", 1, [b"x" * 40] * 4, most=100) == [3, 4]
    assert [len(body) for _, run in copies.runs(1, 9) for body in run] == [40, 40]


def test_delivered_bodies_go() -> None:
    totals: dict[str, int] = {}
    copies = Copies(totals)
    for position in (1, 2, 3):
        copies.add("r1", position, b"x" * 50, most=200)
    copies.drop(2)
    assert [bool(copies.at(position)) for position in (1, 2, 3)] == [False, False, True]
    assert copies.add("r1", 4, b"x" * 100, most=200)
    copies.clear()
    assert totals == {}


@given(
    st.lists(
        st.tuples(st.sampled_from(["r1", "r4"]), st.integers(1, 12), st.integers(0, 60)),
        max_size=60,
    ),
    st.integers(0, 12),
)
def test_a_replica_never_keeps_more_than_its_bytes_and_totals_are_exact(
    added: list[tuple[str, int, int]], last: int
) -> None:
    totals: dict[str, int] = {}
    copies = Copies(totals)
    for replica, position, size in added:
        copies.add(replica, position, b"x" * size, most=100)
    copies.drop(last)
    for replica in ("r1", "r4"):
        bodies = [kept(copies, at)[replica] for at in range(1, 13) if replica in kept(copies, at)]
        assert sum(map(len, bodies)) <= 100
        assert totals.get(replica, 0) == sum(len(body) + 1 for body in bodies)
