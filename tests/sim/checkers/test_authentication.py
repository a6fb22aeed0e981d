"""Authentication: under a correct publisher's name comes what that publisher published, there."""

from __future__ import annotations

from quorumcast.core.ids import Lane
from tests.sim.checkers.story import CHANNEL, DELIVERED, told


def test_what_was_published_is_right() -> None:
    assert told().broken() == {}


def test_content_that_its_publisher_never_published_is_seen() -> None:
    story = told()
    for life in ("s1", "s2"):
        story.deliver(life, [b"forged"], first=4)
    broken = story.broken()
    assert set(broken) == {"authentication"}
    assert "p1 never published" in broken["authentication"]


def test_another_publishers_content_under_this_name_is_seen() -> None:
    story = told()
    story.publish(1, "p2")
    for life in ("s1", "s2"):
        story.deliver(life, [b"p2/1"], first=4)
    assert set(story.broken()) == {"authentication"}


def test_content_of_another_lane_is_seen() -> None:
    story = told(acknowledge=False)
    story.live -= {"p1"}
    urgent = story.stream(lane=Lane.URGENT)
    for life in ("s1", "s2"):
        story.deliver(life, [b"p1/1"], urgent)
    assert "authentication" in story.broken()


def test_other_content_than_was_acknowledged_at_a_position_is_seen() -> None:
    story = told(2)
    story.trace.delivered.clear()
    for life in ("s1", "s2"):
        story.deliver(life, [b"p1/2", b"p1/1"])
    assert "where b'p1/1' was acknowledged" in story.broken()["authentication"]


def test_content_that_was_published_later_is_seen() -> None:
    story = told()
    story.publish(1, tick=DELIVERED + 1)
    for life in ("s1", "s2"):
        story.deliver(life, [b"p1/4"], first=4)
    story.live -= {"p1"}
    assert set(story.broken()) == {"authentication"}


def test_a_byzantine_publisher_may_say_anything_under_its_own_name() -> None:
    story = told()
    for life in ("s1", "s2"):
        story.deliver(life, [b"anything"], story.stream("q1", channel=CHANNEL))
    assert story.broken() == {}


def test_a_frame_that_had_to_be_refused_is_seen() -> None:
    story = told()
    story.trace.breaches.append("r1 took a replayed frame of r2")
    assert story.broken() == {"authentication": "r1 took a replayed frame of r2"}
