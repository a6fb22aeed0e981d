"""Agreement: one content per id, whoever delivers it."""

from __future__ import annotations

from tests.sim.checkers.story import Story, told


def two_faced(one: bytes, other: bytes) -> Story:
    """q1 is Byzantine; s1 and s2 deliver something at position 1 of its stream."""
    story = told()
    story.deliver("s1", [one], story.stream("q1"))
    story.deliver("s2", [other], story.stream("q1"))
    return story


def test_equal_contents_are_right() -> None:
    assert two_faced(b"A", b"A").broken() == {}


def test_two_contents_for_one_id_are_seen() -> None:
    broken = two_faced(b"A", b"B").broken()
    assert set(broken) == {"agreement"}
    assert "s1 delivered b'A' and s2 b'B' for position 1" in broken["agreement"]


def test_two_contents_in_two_sessions_are_two_publications() -> None:
    story = told()
    for life in ("s1", "s2"):
        story.deliver(life, [b"A"], story.stream("q1", 1))
        story.deliver(life, [b"B"], story.stream("q1", 2))
    assert story.broken() == {}


def test_an_earlier_life_of_a_subscriber_counts_too() -> None:
    story = told()
    story.subscribe("s2#2", tick=40)
    story.deliver("s2#2", [b"p1/1", b"p1/2", b"p1/3"], tick=50)
    story.deliver("s1", [b"A"], story.stream("q1"))
    story.live = {"p1", "s2#2"}
    assert story.broken() == {}, "s1 is gone: what it had of q1 is not owed to others"
    story.deliver("s2#2", [b"B"], story.stream("q1"), tick=50)
    assert set(story.broken()) == {"agreement"}
