"""Totality: what one delivered, all have; within 2α where a faulty publisher may split them."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.core.limits import SESSIONS_UNCONFIRMED
from quorumcast.core.outcomes import Gap
from quorumcast.core.records import Floored
from quorumcast.sim.checkers import totality
from tests.sim.checkers.story import DELIVERED, STORED, Story, told


def apart(
    one: int, other: int, *, publisher: str = "q1", start: str = "earliest", **settings: Any
) -> Story:
    """s1 and s2 come to these positions in a stream of a Byzantine (q1) or dead publisher."""
    story = told(alpha=2, **settings)
    bodies = story.publish(max(one, other), "p2")
    stream = story.stream(publisher)
    story.trace.subscribed.pop("s2")
    story.subscribe("s2", start=start)
    for life, count in (("s1", one), ("s2", other)):
        if count:
            story.deliver(life, bodies[:count], stream)
    return story


@pytest.mark.parametrize(("one", "other"), [(4, 4), (4, 0), (0, 4), (7, 3)])
def test_on_ab_streams_of_a_byzantine_publisher_may_differ_by_two_alpha(
    one: int, other: int
) -> None:
    assert apart(one, other).broken() == {}


@pytest.mark.parametrize(("one", "other"), [(5, 0), (8, 3)])
def test_on_ab_a_larger_difference_is_seen(one: int, other: int) -> None:
    broken = apart(one, other).broken()
    assert set(broken) == {"totality"}
    assert "they may differ by 4" in broken["totality"]


def test_on_bracha_any_difference_is_seen() -> None:
    assert apart(3, 3, protocol="bracha").broken() == {}
    broken = apart(3, 2, protocol="bracha").broken()
    assert set(broken) == {"totality"}
    assert "s1 came to position 3 and s2 to 2" in broken["totality"]
    assert set(apart(1, 0, protocol="bracha").broken()) == {"totality"}


@pytest.mark.parametrize("protocol", ["ab", "bracha", "plain"])
def test_any_difference_in_a_correct_publishers_stream_is_seen(protocol: str) -> None:
    assert apart(3, 3, publisher="p2", protocol=protocol).broken() == {}
    broken = apart(3, 2, publisher="p2", protocol=protocol).broken()
    assert set(broken) == {"totality"}, "it died unacknowledged: nothing is owed, but all or none"


def test_where_replicas_only_crash_a_byzantine_publisher_is_promised_nothing() -> None:
    assert apart(9, 0, protocol="plain").broken() == {}


def test_without_confirmation_nothing_is_promised() -> None:
    assert apart(9, 0, publisher="p2", confirm=False).broken() == {}


def test_before_the_network_healed_nothing_is_owed() -> None:
    assert apart(9, 0).broken(judged=False) == {}


def test_whoever_asked_for_the_latest_ends_where_the_others_do() -> None:
    assert apart(3, 0, protocol="bracha", start="latest").broken() == {}
    story = apart(3, 0, protocol="bracha", start="latest")
    story.deliver("s2", [b"p2/2"], story.stream("q1"), first=2)
    assert set(story.broken()) == {"totality"}


def test_a_changed_subscription_counts() -> None:
    story = apart(3, 0, protocol="bracha")
    story.trace.subscribed["s2"] = []
    story.subscribe("s2", patterns=("p1",))
    assert story.broken() == {}
    story.subscribe("s2", patterns=("*",), tick=DELIVERED + 1)
    assert set(story.broken()) == {"totality"}


def test_what_was_dropped_for_good_is_not_missing() -> None:
    story = apart(3, 0, protocol="bracha")
    stream = story.stream("q1")
    story.hand("s2", Gap(stream, 1, 3, False))
    assert "totality" in story.broken()
    for replica in ("r1", "r2"):
        story.store(replica, story.opened(stream), Floored(stream, 3, bytes(32), True), tick=STORED)
    assert totality.check(story.case()) == []


def split(streams: int) -> Story:
    """Subscribers differ by one position in so many sessions of q1."""
    story = told(alpha=2)
    for session in range(streams):
        story.deliver("s1", [b"A"], story.stream("q1", session))
    return story


def test_a_byzantine_publisher_can_split_a_few_streams_only() -> None:
    most = 3 * SESSIONS_UNCONFIRMED
    assert split(most).broken() == {}
    broken = split(most + 1).broken()
    assert set(broken) == {"totality"}
    assert f"subscribers differ in {most + 1} streams of q1" in broken["totality"]
