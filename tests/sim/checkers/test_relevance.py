"""Relevance: a subscriber is handed only what it asks for at that time."""

from __future__ import annotations

import pytest

from tests.sim.checkers.story import DELIVERED, told


@pytest.mark.parametrize("patterns", [("p1",), ("p*",), ("q9", "*1")])
def test_what_matches_is_right(patterns: tuple[str, ...]) -> None:
    story = told()
    story.subscribe("s3", patterns=patterns)
    story.live.add("s3")
    story.deliver("s3", [b"p1/1", b"p1/2", b"p1/3"])
    assert story.broken() == {}


def test_a_publisher_that_was_not_asked_for_is_seen() -> None:
    story = told()
    story.subscribe("s3", patterns=("p2", "q*"))
    story.deliver("s3", [b"p1/1"])
    broken = story.broken()
    assert set(broken) == {"relevance"}
    assert "had asked for p2, q*" in broken["relevance"]


def test_a_delivery_without_any_subscription_is_seen() -> None:
    story = told()
    story.deliver("s3", [b"p1/1"])
    assert "had asked for nothing" in story.broken()["relevance"]


def test_a_delivery_before_the_subscription_is_seen() -> None:
    story = told()
    story.subscribe("s3", tick=DELIVERED + 1)
    story.deliver("s3", [b"p1/1"])
    assert set(story.broken()) == {"relevance"}


def test_a_delivery_after_the_end_of_the_subscription_is_seen() -> None:
    story = told()
    story.subscribe("s1", patterns=(), tick=DELIVERED + 5)
    assert story.broken() == {}
    story.publish(1)
    story.deliver("s1", [b"p1/4"], first=4, tick=DELIVERED + 6)
    story.live -= {"p1"}
    assert "relevance" in story.broken()


def test_the_subscription_in_force_counts_and_not_an_earlier_one() -> None:
    story = told()
    story.subscribe("s2", patterns=("p2",), tick=DELIVERED - 1)
    assert set(story.broken()) == {"relevance"}
