"""Senders are counted, never messages; what is counted step by step is what a recount finds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Cover, Run, Tally, kth
from quorumcast.core.ids import Position
from tests.broadcast.cast import ZERO, digests, path
from tests.broadcast.recount import Twin, Votes

SENDERS = "xyz"

Step = tuple[str, str, int, str]


def steps(*kinds: str) -> st.SearchStrategy[list[Step]]:
    """Steps of these kinds in any order."""
    one = st.tuples(
        st.sampled_from(kinds),
        st.sampled_from(SENDERS),
        st.integers(-1, 3),
        st.text("ab", max_size=4),
    )
    return st.lists(one, max_size=30)


def sparingly(plan: list[Step], most: int) -> list[Step]:
    """At most so many READY and CONFIRMED of each sender: what a tally keeps of them is bounded."""
    kept: list[Step] = []
    counts: dict[tuple[str, str], int] = {}
    for what, sender, number, text in plan:
        if what in ("ready", "confirmed"):
            counts[what, sender] = counts.get((what, sender), 0) + 1
            if counts[what, sender] > most:
                continue
        kept.append((what, sender, number, text))
    return kept


EVERYTHING = ("held", "held", "ready", "confirmed", "grow", "trim", "replace", "floor", "forget")


# -- runs --------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 8), st.text("ab", min_size=1, max_size=5)), max_size=8))
def test_a_run_keeps_what_came_first_without_holes(runs: list[tuple[int, str]]) -> None:
    run, model = Run(4, digests("a")), Votes()
    model.merge(4, digests("a"))
    for first, text in runs:
        assert run.merge(first, digests(text)) == model.merge(first, digests(text))
        assert run.first == min(model.at)
        assert run.end == max(model.at)
        assert {at: run.digest(at) for at in range(run.first, run.end + 1)} == model.at
        assert run.digest(run.first - 1) is run.digest(run.end + 1) is None


@given(st.integers(1, 5), st.text("abc", min_size=1, max_size=6), st.integers(0, 14))
def test_a_trimmed_run_keeps_what_is_above(first: int, text: str, position: int) -> None:
    run = Run(first, digests(text))
    run.trim(position)
    for at in range(1, 16):
        inside = first <= at < first + len(text) and at > position
        assert run.digest(at) == (digests(text[at - first]) if inside else None)


# -- any order of things, counted anew -----------------------------------------------------------


@given(st.integers(3, 6), steps(*EVERYTHING))
@settings(max_examples=400)
def test_counts_are_a_recount_with_one_statement_of_a_kind(window: int, plan: list[Step]) -> None:
    """Whatever happens to the path, the highest READY and CONFIRMED of a sender count in full."""
    twin = Twin(window)
    for step in sparingly(plan, most=1):
        twin.do(step)
        twin.check(SENDERS)


@given(st.integers(3, 6), steps("held", "ready", "confirmed", "grow", "trim"))
@settings(max_examples=400)
def test_votes_count_in_full_whatever_else_is_said(window: int, plan: list[Step]) -> None:
    """Of many READY and CONFIRMED some are dropped: they count for no more than was said, and
    for no less than the highest."""
    twin = Twin(window)
    for step in plan:
        twin.do(step)
        naive, tally = twin.naive, twin.tally
        for kept, on in ((naive.confirmed, tally.confirmed.on), (naive.ready, tally.ready.on)):
            for sender in SENDERS:
                most = naive.covered(kept, sender)
                if kept is naive.ready:
                    most = naive.readied(sender)
                least = naive.highest_covered(kept, sender)
                assert least <= max(twin.base, on.get(sender, 0)) <= most
        for sender in SENDERS:
            assert max(twin.base, tally.match.get(sender, 0)) <= naive.matched(sender)


@given(st.integers(3, 6), steps("held", "held", "held", "grow", "trim", "replace", "floor"))
@settings(max_examples=300)
def test_votes_alone_are_counted_exactly(window: int, plan: list[Step]) -> None:
    twin = Twin(window)
    for step in plan:
        twin.do(step)
        twin.check(SENDERS)


@given(st.lists(st.text("ab", min_size=1, max_size=4), max_size=4), st.text("ab", max_size=4))
def test_a_correct_senders_statements_cover_the_path_once_it_is_there(
    prefixes: list[str], text: str
) -> None:
    """READYs that are prefixes of one sequence count as soon as the path reaches the highest, in
    whatever order they came."""
    own = Path(ZERO)
    tally = Tally(own, 8)
    stated = [text[: len(prefix)] for prefix in prefixes if text]
    for each in stated:
        tally.ready_at("x", path(each).tip)
    own.extend(digests(text))
    tally.grown()
    assert tally.ready.by(1) == max(map(len, stated), default=0)


@given(steps(*EVERYTHING))
def test_memory_is_bounded_by_the_window(plan: list[Step]) -> None:
    twin = Twin(3)
    for step in plan:
        twin.do(step)
        for run in twin.tally.runs.values():
            assert not run.digests or twin.base < run.first
            assert run.end <= twin.base + 3 or not run.digests
        for cover in (twin.tally.ready, twin.tally.confirmed):
            for kept in (cover.high, cover.low):
                assert all(twin.base < each.seq <= twin.base + 3 for each in kept.values())


# -- scenarios -----------------------------------------------------------------------------------


def test_repeated_messages_of_one_sender_count_once() -> None:
    tally = Tally(path("aa"), 20)
    for _ in range(5):
        tally.held("r2", 1, digests("aa"))
        tally.ready_at("r2", path("aa").tip)
        tally.confirmed_at("r2", path("aa").tip)
    assert (tally.held_by(1), tally.held_by(2)) == (2, 0)
    assert (tally.ready.by(1), tally.ready.by(2)) == (2, 0)
    assert (tally.confirmed.by(1), tally.confirmed.by(2)) == (2, 0)


def test_a_vote_that_changes_is_reported_and_does_not_count() -> None:
    tally = Tally(path("ab"), 20)
    assert tally.held("r2", 1, digests("aa")) is None
    assert tally.held("r2", 1, digests("ab")) == 2
    assert tally.match["r2"] == 1


def test_confirmed_counts_as_held_and_ready_below_it() -> None:
    """Its author may have voted otherwise: what it voted above still counts from there."""
    tally = Tally(path("aab"), 20)
    tally.held("r2", 1, digests("bbb"))
    assert tally.held_by(1) == 0
    tally.confirmed_at("r2", path("aa").tip)
    assert tally.held_by(1) == 3
    assert tally.ready.by(1) == 2


def test_a_statement_about_another_content_counts_for_nothing_here() -> None:
    tally = Tally(path("aa"), 20)
    tally.ready_at("r2", path("ab").tip)
    tally.confirmed_at("r3", path("b").tip)
    assert tally.ready.by(1) == tally.confirmed.by(1) == tally.held_by(1) == 0
    assert tally.puzzling()


def test_two_chains_for_one_position_are_reported_with_the_first() -> None:
    tally = Tally(path("a"), 20)
    first, second = path("a").tip, path("b").tip
    assert tally.ready_at("r2", first) is tally.confirmed_at("r2", first) is None
    assert tally.ready_at("r2", second) == first
    assert tally.confirmed_at("r2", second) == first
    assert tally.ready.by(1) == 1


def test_a_statement_counts_at_another_position_once_digests_link_it() -> None:
    own = path("a")
    tally = Tally(own, 20)
    tally.ready_at("r2", path("aab").tip)
    assert tally.ready.by(1) == 0
    own.extend(digests("a"))
    tally.grown()
    assert tally.ready.by(1) == 0
    own.extend(digests("b"))
    tally.grown()
    assert tally.ready.by(1) == 3


def test_what_lies_beyond_the_window_is_remembered_as_a_number() -> None:
    tally = Tally(path("a"), 4)
    tally.held("r2", 3, digests("aaaaaaaa"))
    tally.ready_at("r3", Position(9, b"q" * 32))
    tally.confirmed_at("r4", Position(10**18, b"q" * 32))
    assert tally.runs["r2"].end == 4
    assert not tally.ready.high
    assert not tally.confirmed.high
    assert [tally.heard_by(count) for count in (1, 2, 3, 4)] == [10**18, 10, 9, 0]
    assert tally.puzzling()


def test_nothing_puzzles_while_everybody_says_what_the_path_has() -> None:
    tally = Tally(path("aba"), 20)
    tally.held("r2", 1, digests("ab"))
    tally.ready_at("r3", path("aba").tip)
    tally.confirmed_at("r4", path("a").tip)
    assert not tally.puzzling()
    tally.held("r4", 2, digests("a"))
    assert tally.puzzling()


def test_a_new_incarnation_cancels_what_was_stated() -> None:
    tally = Tally(path("aa"), 20)
    tally.held("r2", 1, digests("aa"))
    tally.ready_at("r2", path("aa").tip)
    tally.confirmed_at("r2", path("a").tip)
    tally.forget("r2")
    assert tally.held_by(1) == tally.ready.by(1) == tally.confirmed.by(1) == tally.heard_by(1) == 0
    assert tally.held("r2", 1, digests("bb")) is None  # another life has other votes


def test_coverage_on_a_path_that_was_left_does_not_stay() -> None:
    """Another path is followed: what covered the old one covers the new one as far as they are
    the same."""
    tally = Tally(path("aaa"), 20)
    tally.ready_at("r2", path("aaa").tip)
    tally.confirmed_at("r3", path("aa").tip)
    tally.replaced(path("abb"))
    assert tally.ready.by(1) == 1
    assert tally.confirmed.by(1) == 1
    assert tally.held_by(1) == 1


def test_votes_above_a_settled_position_count_whatever_was_voted_below() -> None:
    """Position 1 is settled against r2's vote: from there on its votes agree with the path."""
    own = path("ba")
    tally = Tally(own, 20)
    tally.held("r2", 1, digests("aa"))
    assert tally.held_by(1) == 0
    own.trim(1)
    tally.trimmed()
    assert tally.held_by(1) == 2


@given(st.lists(st.integers(1, 99), max_size=8), st.integers(1, 9))
def test_the_kth_largest(values: list[int], k: int) -> None:
    largest = sorted(values)[::-1]
    assert kth(values, k) == (largest[k - 1] if k <= len(values) else 0)


@pytest.mark.parametrize("order", [(1, 3), (3, 1)])
def test_of_two_statements_of_one_sender_both_count_when_their_turn_comes(
    order: tuple[int, int],
) -> None:
    own = Path(ZERO)
    cover = Cover()
    for count in order:
        cover.state(own, "r2", path("aba"[:count]).tip)
    own.extend(digests("a"))
    cover.link(own)
    assert cover.by(1) == 1
    own.extend(digests("ba"))
    cover.link(own)
    assert cover.by(1) == 3
