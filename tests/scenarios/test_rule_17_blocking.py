"""Rule 17: `block` lets a trusted subscriber stop a channel, and nothing else does."""

from __future__ import annotations

import pytest

from quorumcast.broker.admission import WAITS
from quorumcast.core.ids import Lane
from quorumcast.core.messages import Bodies, Credit, Follow, Status, StatusCode, Unsubscribe
from quorumcast.core.outcomes import SubscriptionRefused
from tests.scenarios.blocking import (
    ALL,
    LONG,
    WINDOW,
    blocker,
    hold,
    play,
    release,
    small_windows,
    stopped,
)
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL

_windows = pytest.fixture(autouse=True, scope="module")(small_windows)


# -- stop and go -------------------------------------------------------------------------------


def test_subscriber_that_does_not_read_stops_its_publishers_and_lets_them_go_on() -> None:
    stage = play()
    stage.subscriber("S1")
    assert stopped(stage) == 2
    assert [stage.holds(each, stage.story("p")) for each in ALL.split()] == ["ab"] * 4
    assert stage.read("S1") == stage.read("B") == "ab"

    release(stage)
    stage.run(0.1)  # before anybody would repeat anything
    assert stage.acknowledged("p") == len("ab" + LONG)
    assert stage.read("S1") == stage.read("B") == "ab" + LONG


def test_subscriber_that_reads_is_noticed_by_nobody() -> None:
    stage = play()
    stage.publish("p", LONG)
    stage.run(1.0)
    assert stage.acknowledged("p", confirmed=True) == len(LONG)
    assert stage.read("B") == LONG
    assert not [each for each in stage.said("r1", "p", Status) if each.code is StatusCode.WAIT]


def test_publisher_is_told_that_a_subscriber_lets_it_wait_and_not_which() -> None:
    stage = play()
    stopped(stage)
    reasons = {each.reason for each in stage.said("r1", "p", Status) if each.code}
    assert reasons == {"a trusted subscriber lets the channel wait"}


def test_urgent_lane_waits_too() -> None:
    stage = play()
    stage.publish("p", "abc", lane=Lane.URGENT)
    stage.run(1.0)
    hold(stage)
    stage.publish("p", LONG, lane=Lane.URGENT)
    stage.run(10.0)
    assert stage.acknowledged("p") == 3
    release(stage)
    stage.run(1.0)
    assert stage.read("B") == "abc" + LONG


@pytest.mark.parametrize("protocol", ["ab", "bracha", "plain"])
def test_stream_that_begins_meanwhile_gets_one_window(protocol: str) -> None:
    stage = play(protocol=protocol)
    stopped(stage)
    stage.publisher("q")
    stage.publish("q", LONG)
    stage.run(30.0)
    assert stage.acknowledged("q") == WINDOW
    assert stage.read("B") == "ab"
    release(stage)
    stage.run(10.0)
    assert stage.acknowledged("q") == len(LONG)
    assert sorted(stage.read("B")) == sorted("ab" + LONG + LONG)


def test_what_no_replica_takes_is_bounded_by_a_window_at_any_time() -> None:
    stage = play()
    stage.publish("p", LONG)
    for _ in range(200):
        stage.run(0.0005)
        story = stage.story("p") if stage.sessions("p") else None
        if story is not None:
            heads = [len(stage.holds(each, story)) for each in ALL.split()]
            assert max(heads) <= len(stage.read("B")) + WINDOW
    assert stage.read("B") == LONG


def test_those_who_come_later_let_publishers_wait_until_they_have_caught_up() -> None:
    stage = Stage(scripted="", alpha=50, trusted_subscribers=("B",))
    stage.publisher("p")
    stage.publish("p", LONG)
    stage.run(1.0)
    late = stage.hold(ALL, "B", Bodies)
    blocker(stage)
    stage.run(1.0)
    stage.publish("p", "xyz")
    stage.run(20.0)
    assert stage.acknowledged("p") == len(LONG)
    late.lift()
    stage.run(20.0)
    assert stage.read("B") == LONG + "xyz"


# -- links that break, words that are lost -----------------------------------------------------


def test_subscriber_that_died_stops_nobody() -> None:
    stage = play()
    assert stopped(stage) == 2
    stage.stop("B")
    stage.run(0.1)
    assert stage.acknowledged("p") == len("ab" + LONG)


def test_one_lost_link_does_not_end_the_stop_and_its_return_does_not_either() -> None:
    stage = play()
    stopped(stage)
    stage.unlink("B", "r2")
    stage.run(10.0)
    assert stage.acknowledged("p") == 2
    for replica in ("r1", "r2", "r3", "r4"):
        stage.link("B", replica)
    stage.run(10.0)
    assert stage.acknowledged("p") == 2
    release(stage)
    stage.run(1.0)
    assert stage.read("B") == "ab" + LONG


def test_subscriber_that_does_not_read_gives_no_credit_on_new_links() -> None:
    stage = play()
    stopped(stage)
    since = stage.now
    for replica in ALL.split():
        stage.unlink("B", replica)
        stage.link("B", replica)
    stage.run(20.0)
    head = len(stage.holds("r1", stage.story("p")))
    assert head < len(LONG)
    assert {each.through for each in stage.said("B", ALL, Follow, since)} == {2}
    assert stage.said("B", ALL, Credit, since) == []
    stage.run(20.0)
    assert len(stage.holds("r1", stage.story("p"))) == head
    release(stage)
    stage.run(1.0)
    assert stage.read("B") == "ab" + LONG


def test_publisher_that_resumes_on_new_links_waits_on() -> None:
    stage = play()
    stopped(stage)
    for replica in ALL.split():
        stage.unlink("p", replica)
        stage.link("p", replica)
    stage.run(10.0)
    assert stage.acknowledged("p") == 2
    release(stage)
    stage.run(1.0)
    assert stage.read("B") == "ab" + LONG


def test_replicas_that_restart_hear_from_the_subscriber_that_it_waits() -> None:
    stage = play()
    stopped(stage)
    for replica in ALL.split():
        stage.restart(replica)
    stage.run(20.0)
    assert stage.read("B") == "ab"
    whole = stage.acknowledged("p")
    assert whole < len(LONG)
    stage.run(20.0)
    assert stage.acknowledged("p") == whole
    release(stage)
    stage.run(10.0)
    assert stage.read("B") == "ab" + LONG


@pytest.mark.parametrize("lost", [Follow, Credit])
def test_credit_that_is_lost_is_given_again(lost: type) -> None:
    stage = play()
    if lost is Follow:
        stopped(stage)
    loss = stage.drop("B", ALL, lost)
    if lost is Follow:
        release(stage)
    else:
        stage.publish("p", LONG)
    stage.run(1.0)
    assert loss.hits
    assert stage.acknowledged("p") < len(LONG)
    loss.lift()
    stage.run(10.0)
    assert stage.acknowledged("p") >= len(LONG)


def test_end_of_a_subscription_that_is_lost_is_said_again() -> None:
    stage = play()
    stopped(stage)
    loss = stage.drop("B", ALL, Unsubscribe)
    stage._do("B", lambda machine: machine.unsubscribe(CHANNEL))
    stage.run(1.0)
    assert loss.hits == 4
    assert stage.acknowledged("p") == 2
    loss.lift()
    stage.run(10.0)
    assert stage.acknowledged("p") == len("ab" + LONG)


# -- liars -------------------------------------------------------------------------------------


def test_one_replica_cannot_stop_a_channel_in_a_subscribers_name() -> None:
    stage = play("r4")
    stage.publish("p", "ab")
    stage.run(1.0)
    story = stage.story("p")
    for _ in range(20):
        stage.say("r4", "p", Status(story.stream, StatusCode.WAIT, 0, WAITS))
        stage.publish("p", "x")
        stage.run(0.5)
    assert stage.acknowledged("p", confirmed=True) == 22


def test_one_replica_cannot_lift_a_stop() -> None:
    stage = play("r4")
    stage.publish("p", "ab")
    stage.run(1.0)
    hold(stage)
    story = stage.story("p")
    stage.publish("p", LONG)
    for _ in range(10):
        stage.say("r4", "p", Credit(story.stream, 10**6), story.held_up_to("ab" + LONG))
        stage.run(1.0)
    assert stage.acknowledged("p") == 2
    assert len(stage.holds("r1", story)) == 2


def test_untrusted_subscriber_is_refused_and_stops_nobody() -> None:
    stage = Stage(scripted="", alpha=50, trusted_subscribers=("audit",))
    stage.publisher("p")
    blocker(stage)
    stage.publish("p", LONG)
    stage.run(5.0)
    assert stage.acknowledged("p") == len(LONG)
    refused = [each for each in stage.outcomes["B"] if isinstance(each, SubscriptionRefused)]
    assert refused == [SubscriptionRefused(CHANNEL, f"B may not block {CHANNEL}")]


def test_publisher_that_does_not_listen_is_not_listened_to() -> None:
    stage = play()
    stage.publish("p", "ab")
    stage.run(1.0)
    hold(stage)
    story = stage.opens("P")
    for first in range(1, len(LONG), 4):
        stage.say("P", ALL, story.publish(LONG[first - 1 :][:4], first=first))
        stage.run(0.1)
    assert [len(stage.holds(each, story)) for each in ALL.split()] == [WINDOW] * 4
