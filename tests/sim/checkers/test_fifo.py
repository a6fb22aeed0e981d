"""FIFO without gaps: positions and calls in order, and no gap but what replicas dropped."""

from __future__ import annotations

import pytest

from quorumcast.core.outcomes import Gap
from quorumcast.core.records import Floored
from tests.sim.checkers.story import DELIVERED, STORED, Story, told


def read(*parts: tuple[int, list[bytes]], start: str = "earliest") -> Story:
    """s3 reads p1's stream in these parts; p1 is gone, and so is s3 at the end."""
    story = told()
    story.subscribe("s3", start=start)
    for first, bodies in parts:
        story.deliver("s3", bodies, first=first)
    return story


def test_one_after_the_other_is_right() -> None:
    assert read((1, [b"p1/1"]), (2, [b"p1/2", b"p1/3"])).broken() == {}


@pytest.mark.parametrize(
    "parts",
    [
        [(1, [b"p1/1"]), (3, [b"p1/3"])],
        [(2, [b"p1/2"]), (1, [b"p1/1"])],
        [(2, [b"p1/2", b"p1/3"])],
    ],
    ids=["a gap", "the wrong way round", "not from the start"],
)
def test_positions_that_are_not_due_are_seen(parts: list[tuple[int, list[bytes]]]) -> None:
    broken = read(*parts).broken()
    assert set(broken) == {"fifo"}
    assert "was due" in broken["fifo"]


def test_whoever_asked_for_the_latest_may_begin_anywhere_but_not_jump() -> None:
    assert read((2, [b"p1/2", b"p1/3"]), start="latest").broken() == {}
    assert set(read((1, [b"p1/1"]), (3, [b"p1/3"]), start="latest").broken()) == {"fifo"}


def test_whoever_named_a_position_begins_there() -> None:
    story = told()
    story.subscribe("s3", start={story.stream(): 3})
    story.deliver("s3", [b"p1/3"], first=3)
    assert story.broken() == {}
    story.subscribe("s4", start={story.stream(): 2})
    story.deliver("s4", [b"p1/3"], first=3)
    assert set(story.broken()) == {"fifo"}


def test_a_gap_that_replicas_made_is_right() -> None:
    story = read()
    stream = story.stream()
    chain = story.chain(stream, [b"p1/1", b"p1/2"])
    for replica in ("r1", "r2"):
        story.store(replica, Floored(stream, 2, chain, True), tick=DELIVERED - 1)
    story.hand("s3", Gap(stream, 1, 2, False))
    story.deliver("s3", [b"p1/3"], first=3)
    story.live.add("s3")
    assert story.broken() == {}


@pytest.mark.parametrize(
    ("replicas", "position", "tick"),
    [("", 2, STORED), ("r1", 2, STORED), ("r1 r2", 1, STORED), ("r1 r2", 2, DELIVERED + 1)],
    ids=["nobody", "too few", "less", "later"],
)
def test_a_gap_that_not_enough_replicas_made_is_seen(
    replicas: str, position: int, tick: int
) -> None:
    story = read()
    stream = story.stream()
    chain = story.chain(stream, [b"p1/1", b"p1/2"][:position])
    for replica in replicas.split():
        story.store(replica, Floored(stream, position, chain, True), tick=tick)
    story.hand("s3", Gap(stream, 1, 2, False))
    story.deliver("s3", [b"p1/3"], first=3)
    broken = story.broken()
    assert set(broken) == {"fifo"}
    assert "not enough replicas dropped them" in broken["fifo"]


def test_calls_of_a_user_that_change_places_are_seen() -> None:
    story = told(acknowledge=False)
    story.live -= {"p1"}
    stream = story.stream(session=2)
    story.publish(2, "p2")
    for life in ("s1", "s2"):
        story.deliver(life, [b"p2/2", b"p2/1"], stream._replace(publisher="p2"))
    broken = story.broken()
    assert set(broken) == {"fifo"}
    assert "publication 1 of p2 at position 2" in broken["fifo"]


def test_calls_of_two_lives_in_one_stream_are_seen() -> None:
    story = told(acknowledge=False)
    story.live -= {"p1"}
    stream = story.stream("p2")
    story.publish(1, "p2")
    story.publish(2, "p2#2")
    for life in ("s1", "s2"):
        story.deliver(life, [b"p2/1", b"p2#2/2"], stream)
    assert set(story.broken()) == {"fifo"}
