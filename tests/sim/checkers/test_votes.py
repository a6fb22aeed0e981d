"""One vote per id, in order, by right, within the limit."""

from __future__ import annotations

from typing import Any

from quorumcast.core.ids import Incarnation
from quorumcast.core.records import Accepted, Confirmed, Floored, Incarnated, Opened
from tests.sim.checkers.story import LIFE, Story, told

NEXT = Incarnation(2, 8)


def voted(*runs: tuple[int, list[bytes]], **settings: Any) -> Story:
    """r1 votes for these runs in a stream of q1."""
    story = told(**settings)
    stream = story.stream("q1")
    story.store("r1", story.opened(stream))
    for first, bodies in runs:
        story.store("r1", story.accepted(stream, bodies, first))
    return story


def test_votes_in_order_are_right() -> None:
    assert voted((1, [b"A1"]), (2, [b"A2", b"A3"])).broken() == {}
    assert voted((1, [b"A1"]), (1, [b"A1"])).broken() == {}


def test_two_votes_for_one_id_are_seen() -> None:
    broken = voted((1, [b"A"]), (1, [b"B"])).broken()
    assert set(broken) == {"votes"}
    assert "r1 voted for two contents at position 1" in broken["votes"]


def test_a_second_vote_after_a_wipe_is_another_incarnations() -> None:
    story = voted((1, [b"A"]))
    story.lost.add("r1")
    stream = story.stream("q1")
    story.store("r1", None)
    again = Opened(stream, type(story.opening())("q1", 1, (NEXT, LIFE, LIFE, LIFE)), b"")
    story.store("r1", again, story.accepted(stream, [b"B"]), life=NEXT)
    assert story.broken() == {}


def test_a_second_vote_after_a_wipe_in_the_same_incarnation_is_seen() -> None:
    story = voted((1, [b"A"]))
    story.lost.add("r1")
    stream = story.stream("q1")
    story.store("r1", None, story.opened(stream), story.accepted(stream, [b"B"]))
    assert set(story.broken()) == {"votes"}


def test_digests_that_are_not_of_the_bodies_are_seen() -> None:
    story = voted()
    stream = story.stream("q1")
    digests = story.accepted(stream, [b"B"]).digests
    story.store("r1", Accepted(stream, 1, digests, (b"A",), b""))
    broken = story.broken()
    assert set(broken) == {"votes"}
    assert "digests that are not of its bodies" in broken["votes"]


def test_votes_out_of_order_are_seen() -> None:
    broken = voted((1, [b"A1"]), (3, [b"A3"])).broken()
    assert set(broken) == {"votes"}
    assert "position 3" in broken["votes"]
    assert "out of order, after 1" in broken["votes"]
    assert set(voted((2, [b"A2"])).broken()) == {"votes"}


def test_votes_go_on_after_confirmed_contents_and_floors() -> None:
    story = voted()
    stream = story.stream("q1")
    story.store("r1", story.installed(stream, [b"A1"]), story.confirmed(stream, [b"A1"]))
    story.store("r1", story.accepted(stream, [b"A2"], 2))
    chain = story.chain(stream, [b"A1", b"A2"])
    story.store("r1", Floored(stream, 2, chain, True), story.accepted(stream, [b"A3"], 3))
    assert story.broken() == {}


def test_a_vote_at_or_below_a_floor_is_seen() -> None:
    story = voted((1, [b"A1"]))
    stream = story.stream("q1")
    story.store("r1", Floored(stream, 1, bytes(32), False), story.accepted(stream, [b"A1"]))
    broken = story.broken()
    assert set(broken) == {"votes"}
    assert "not above its floor" in broken["votes"]


def test_a_vote_in_a_session_that_does_not_name_the_incarnation_is_seen() -> None:
    story = voted()
    story.store("r1", story.accepted(story.stream("q1"), [b"A"]), life=NEXT)
    broken = story.broken()
    assert set(broken) == {"votes"}
    assert "does not name its incarnation" in broken["votes"]


def test_an_earlier_incarnation_that_is_still_valid_may_be_named() -> None:
    story = voted()
    valid = Incarnated(((LIFE, 0.0), (NEXT, 9.0)), ())
    story.store("r1", valid, story.accepted(story.stream("q1"), [b"A"]), life=NEXT)
    assert story.broken() == {}


def test_where_nobody_lies_any_incarnation_may_vote() -> None:
    story = voted(protocol="plain", liars=0)
    story.store("r1", story.accepted(story.stream("q1"), [b"A"]), life=NEXT)
    assert "votes" not in story.broken()


def test_votes_beyond_two_alpha_are_seen() -> None:
    bodies = [b"A1", b"A2", b"A3", b"A4", b"A5"]
    assert voted((1, bodies[:4]), alpha=2).broken() == {}
    broken = voted((1, bodies), alpha=2).broken()
    assert set(broken) == {"votes"}
    assert "position 5" in broken["votes"]
    assert voted((1, bodies), alpha=2, confirm=False).broken() == {}


def test_the_limit_moves_with_the_confirmed_position() -> None:
    story = voted((1, [b"A1", b"A2", b"A3", b"A4"]), alpha=2)
    stream = story.stream("q1")
    story.store("r1", Confirmed(stream, 1, story.chain(stream, [b"A1"])))
    story.store("r1", story.accepted(stream, [b"A5"], 5))
    assert story.broken() == {}
    story.store("r1", story.accepted(stream, [b"A6"], 6))
    assert set(story.broken()) == {"votes"}
