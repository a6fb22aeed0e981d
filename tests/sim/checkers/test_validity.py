"""Validity: what a correct publisher published is acknowledged, and is at everybody who asked."""

from __future__ import annotations

import pytest

from quorumcast.core.ids import Incarnation, Lane
from quorumcast.core.outcomes import Gap, OutcomeUnknown, Refused, SubscriptionRefused
from quorumcast.core.records import Opened
from quorumcast.sim.checkers import validity
from tests.sim.checkers.story import (
    ACKNOWLEDGED,
    CHANNEL,
    DELIVERED,
    PUBLISHED,
    SUBSCRIBED,
    Story,
    told,
)

BODIES = [b"p1/1", b"p1/2", b"p1/3"]


def test_everything_everywhere_is_right() -> None:
    assert told().broken() == {}


# -- acknowledgements --------------------------------------------------------------------------


def test_a_publication_that_is_never_acknowledged_is_seen() -> None:
    story = told()
    story.publish(1)
    broken = story.broken()
    assert set(broken) == {"validity"}
    assert "publication 4 of p1 on alerts (normal) was never acknowledged" in broken["validity"]


def test_before_the_network_healed_nothing_is_owed() -> None:
    story = told()
    story.publish(1)
    assert story.broken(judged=False) == {}


def test_a_publisher_that_died_is_owed_no_acknowledgement() -> None:
    story = told()
    story.publish(1)
    story.live -= {"p1"}
    assert story.broken() == {}


@pytest.mark.parametrize("confirm", [True, False])
def test_refused_parties_are_seen(confirm: bool) -> None:
    story = told(confirm=confirm)
    story.outcome("p1", Refused(CHANNEL, Lane.NORMAL, "no place", 1, 1), ACKNOWLEDGED)
    assert set(story.broken()) == ({"validity"} if confirm else set())
    story = told(confirm=confirm)
    story.hand("s1", SubscriptionRefused(CHANNEL, "not allowed"))
    assert set(story.broken()) == ({"validity"} if confirm else set())


def given_up(*, after: int, named: Incarnation | None = None) -> Story:
    """p1's fourth publication is in another session, and is given up after a time."""
    story = told()
    (body,) = story.publish(1)
    stream = story.stream(session=2)
    opening = story.opening(session=2)
    if named is not None:
        opening = type(opening)("p1", 2, (named, *opening.incarnations[1:]))
    for replica in ("r2", "r3"):
        story.store(replica, Opened(stream, opening, b""), story.accepted(stream, [body]))
    unknown = OutcomeUnknown(CHANNEL, Lane.NORMAL, 4, 4)
    story.outcome("p1", unknown, PUBLISHED + after)
    return story


def test_a_session_that_misses_a_replica_may_be_given_up_in_time() -> None:
    assert given_up(after=30_000, named=Incarnation(0, 0)).broken() == {}


def test_a_session_that_is_given_up_early_is_seen() -> None:
    broken = given_up(after=20_000, named=Incarnation(0, 0)).broken()
    assert set(broken) == {"validity"}
    assert "was given up too early" in broken["validity"]


def test_a_session_that_names_all_that_stayed_is_no_excuse() -> None:
    broken = given_up(after=30_000).broken()
    assert set(broken) == {"validity"}
    assert "its session named all replicas that stayed" in broken["validity"]


def test_a_replica_that_lost_its_disk_need_not_be_named() -> None:
    story = given_up(after=30_000, named=Incarnation(0, 0))
    story.lost.add("r1")
    assert set(story.broken()) == {"validity"}


def test_what_was_acknowledged_cannot_be_unknown_later() -> None:
    story = told()
    unknown = OutcomeUnknown(CHANNEL, Lane.NORMAL, 3, 3)
    story.outcome("p1", unknown, PUBLISHED + 30_000)
    assert "and then its outcome was called unknown" in story.broken()["validity"]


# -- deliveries --------------------------------------------------------------------------------


def late(tick: int, *calls: tuple[tuple[str, ...], str]) -> Story:
    """s3 subscribes and changes its subscription, a tick after the other, and runs to the end."""
    story = told()
    story.live.add("s3")
    for offset, (patterns, start) in enumerate(calls):
        story.subscribe("s3", patterns=patterns, start=start, tick=tick + offset)
    return story


def test_a_subscriber_from_the_start_that_lacks_the_end_is_seen() -> None:
    story = late(SUBSCRIBED, (("*",), "earliest"))
    story.deliver("s3", BODIES[:2])
    violations = validity.check(story.case())
    assert ["s3 never got 1 publications" in str(each) for each in violations] == [True]


def test_a_late_subscriber_from_the_start_is_owed_what_was_before() -> None:
    story = late(DELIVERED + 100, (("p1",), "earliest"))
    assert "s3 never got 3 publications" in story.broken()["validity"]
    story.deliver("s3", BODIES, tick=DELIVERED + 110)
    assert story.broken() == {}


def test_a_subscriber_that_died_is_owed_nothing() -> None:
    story = late(SUBSCRIBED, (("*",), "earliest"))
    story.live -= {"s3"}
    assert story.broken() == {}


@pytest.mark.parametrize("patterns", [("p2",), ()], ids=["others", "nothing"])
def test_a_subscriber_that_asks_for_others_is_owed_nothing(patterns: tuple[str, ...]) -> None:
    assert late(SUBSCRIBED, (("*",), "earliest"), (patterns, "earliest")).broken() == {}


def test_a_changed_subscription_from_the_start_is_owed_what_newly_matches() -> None:
    story = late(SUBSCRIBED, (("p2",), "earliest"), (("p*",), "earliest"))
    assert "s3 never got 3 publications" in story.broken()["validity"]


def test_a_subscription_that_began_again_is_owed_everything_again() -> None:
    story = told()
    story.subscribe("s1", patterns=(), tick=DELIVERED + 1)
    story.subscribe("s1", tick=DELIVERED + 2)
    assert "s1 never got 3 publications" in story.broken()["validity"]


def test_a_subscription_to_a_position_is_owed_what_follows_it() -> None:
    story = told()
    story.live.add("s3")
    story.subscribe("s3", start={story.stream(): 3})
    assert "s3 never got 1 publications" in story.broken()["validity"]
    story.deliver("s3", BODIES[2:], first=3)
    assert story.broken() == {}


def test_a_subscription_to_the_latest_is_owed_what_follows_its_first() -> None:
    story = late(SUBSCRIBED, (("*",), "latest"))
    assert story.broken() == {}, "it may have come after everything"
    story.deliver("s3", BODIES[1:2], first=2)
    violations = validity.check(story.case())
    assert "s3 never got 1 publications" in str(violations)


def test_a_subscription_to_the_latest_is_owed_what_is_published_after_it_got_anything() -> None:
    story = late(SUBSCRIBED, (("*",), "latest"))
    for life in ("s1", "s2", "s3"):
        story.deliver(life, [b"A"], story.stream("q1"), tick=DELIVERED)
    assert story.broken() == {}
    bodies = story.publish(2, "p2", tick=DELIVERED + 1)
    stream = story.stream("p2")
    story.keep(bodies, stream=stream)
    story.acknowledge(2, life="p2", stream=stream, tick=DELIVERED + 5)
    for life in ("s1", "s2"):
        story.deliver(life, bodies, stream, tick=DELIVERED + 5)
    assert "s3 never got 2 publications" in story.broken()["validity"]


def test_a_gap_that_replicas_did_not_make_is_no_excuse() -> None:
    story = late(SUBSCRIBED, (("*",), "earliest"))
    story.hand("s3", Gap(story.stream(), 1, 3, False))
    assert set(story.broken()) == {"fifo", "totality", "validity"}


# -- channels ----------------------------------------------------------------------------------


def test_without_confirmation_what_a_replica_withholds_may_be_missed() -> None:
    story = told(confirm=False)
    story.trace.delivered.pop("s2")
    assert story.broken() == {}


def crash_channel(*holders: str, deliver: str = "safe") -> Story:
    """p1 is dead; its publication is at these replicas, and at no subscriber."""
    story = Story(protocol="plain", liars=0, deliver=deliver)
    story.subscribe("s1")
    story.live = {"s1"}
    bodies = story.publish(1)
    for replica in holders:
        stream = story.stream()
        story.store(replica, story.opened(stream), story.accepted(stream, bodies))
    return story


def test_on_a_crash_channel_what_one_survivor_holds_is_owed() -> None:
    assert "s1 never got 1 publications" in crash_channel("r2").broken()["validity"]
    assert crash_channel().broken() == {}


def test_on_a_crash_channel_what_no_survivor_holds_is_not() -> None:
    story = crash_channel("r2")
    story.lost.add("r2")
    assert story.broken() == {}


def test_an_acknowledgement_of_one_holder_is_worth_what_the_holder_is() -> None:
    story = crash_channel("r2", deliver="first")
    story.acknowledge(1)
    assert set(story.broken()) == {"validity"}
    story.lost.add("r2")
    assert story.broken() == {}
