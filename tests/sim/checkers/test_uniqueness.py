"""Uniqueness: an id once, and a publication under one id."""

from __future__ import annotations

from tests.sim.checkers.story import DELIVERED, told


def test_each_once_is_right() -> None:
    assert told().broken() == {}


def test_an_id_that_is_delivered_twice_is_seen() -> None:
    story = told()
    story.deliver("s1", [b"p1/3"], first=3)
    broken = story.broken()
    assert "s1 delivered position 3" in broken["uniqueness"]
    assert set(broken) == {"uniqueness", "fifo"}, "what comes twice is out of order as well"


def test_a_publication_under_two_ids_is_seen() -> None:
    story = told()
    for life in ("s1", "s2"):
        story.deliver(life, [b"p1/1"], story.stream(session=2))
    broken = story.broken()
    assert set(broken) == {"uniqueness"}
    assert "s1 delivered b'p1/1' under two ids" in broken["uniqueness"]


def test_a_byzantine_publisher_may_repeat_itself() -> None:
    story = told()
    for life in ("s1", "s2"):
        story.deliver(life, [b"A", b"A"], story.stream("q1"))
    assert story.broken() == {}


def test_a_subscription_that_ended_and_began_again_reads_again() -> None:
    story = told()
    story.subscribe("s1", patterns=(), tick=DELIVERED + 1)
    story.subscribe("s1", tick=DELIVERED + 2)
    story.deliver("s1", [b"p1/1", b"p1/2", b"p1/3"], tick=DELIVERED + 3)
    assert story.broken() == {}


def test_a_changed_subscription_that_still_matches_does_not() -> None:
    story = told()
    story.subscribe("s1", patterns=("p*",), tick=DELIVERED + 2)
    assert story.broken() == {}
    story.deliver("s1", [b"p1/1", b"p1/2", b"p1/3"], tick=DELIVERED + 3)
    assert "uniqueness" in story.broken()


def test_a_new_life_of_a_subscriber_reads_again() -> None:
    story = told()
    story.subscribe("s2#2", tick=40)
    story.deliver("s2#2", [b"p1/1", b"p1/2", b"p1/3"], tick=50)
    story.live = {"p1", "s1", "s2#2"}
    assert story.broken() == {}
