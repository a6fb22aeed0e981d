"""Fairness: the wait for an acknowledgement has a bound, whatever the run allows itself."""

from __future__ import annotations

from quorumcast.core.outcomes import Acknowledged
from quorumcast.sim.checkers.fairness import PATIENCE_TICKS
from tests.sim.checkers.story import PUBLISHED, Story, told


def waited(ticks: int, *, published: int = PUBLISHED) -> Story:
    """p1's fourth publication is acknowledged so many ticks after the call."""
    story = told()
    (body,) = story.publish(1, tick=published)
    stream = story.stream(session=2)
    story.keep([body], stream=stream, session=2)
    for life in ("s1", "s2"):
        story.deliver(life, [body], stream, tick=published + 1)
    story.outcome("p1", Acknowledged(stream, 1, 4, 4, 3, False), published + ticks)
    return story


def test_a_wait_within_the_bound_is_right() -> None:
    assert waited(500).broken(patience_ticks=500) == {}


def test_a_longer_wait_is_seen() -> None:
    broken = waited(501).broken(patience_ticks=500)
    assert set(broken) == {"fairness"}
    assert "publication 4 of p1 waited 0.501 s" in broken["fairness"]


def test_a_run_cannot_allow_itself_any_wait() -> None:
    assert waited(PATIENCE_TICKS).broken() == {}
    assert set(waited(PATIENCE_TICKS + 1).broken()) == {"fairness"}


def test_before_the_network_healed_nobody_can_be_served() -> None:
    story = waited(900)
    assert story.broken(patience_ticks=500, healed_tick=PUBLISHED + 400) == {}
    assert set(story.broken(patience_ticks=500, healed_tick=PUBLISHED + 399)) == {"fairness"}


def test_one_long_wait_of_one_publisher_is_enough() -> None:
    story = waited(100)
    bodies = story.publish(2, "p2")
    stream = story.stream("p2")
    story.keep(bodies, stream=stream)
    for life in ("s1", "s2"):
        story.deliver(life, bodies, stream)
    story.acknowledge(1, life="p2", stream=stream, tick=PUBLISHED + 50)
    story.acknowledge(2, first=2, life="p2", stream=stream, tick=PUBLISHED + 5_000)
    broken = story.broken(patience_ticks=500)
    assert "publication 2 of p2 waited 5 s" in broken["fairness"]
