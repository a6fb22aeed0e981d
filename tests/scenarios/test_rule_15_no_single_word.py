"""Rule 15: no single replica's word governs a client."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.evidence import Weight
from quorumcast.core.messages import (
    AskVotes,
    Credit,
    Follow,
    HeldUpTo,
    Publish,
    Status,
    StatusCode,
    SubscribeStatus,
)
from quorumcast.core.outcomes import Refused, SubscriptionRefused
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL, Story

ALL = "r1 r2 r3 r4"


def desk() -> tuple[Stage, Story]:
    """A publisher that has opened a session with four scripted replicas."""
    stage = Stage(scripted=ALL, alpha=5)
    stage.publisher("p")
    stage.publish("p", "ABCDEFGH")
    stage.flush()
    return stage, stage.story("p")


def sent(stage: Stage, replica: str) -> str:
    """What a publisher sent to a replica, resent letters once."""
    bodies: dict[int, str] = {}
    for each in stage.said("p", replica, Publish):
        for position, body in enumerate(each.bodies, each.first):
            bodies[position] = body.decode()
    return "".join(bodies[position] for position in sorted(bodies))


# -- credit ---------------------------------------------------------------------------------------


def test_publisher_sends_while_q_replicas_give_credit() -> None:
    stage, story = desk()
    stage.say("r1 r2", "p", Credit(story.stream, 6))
    stage.run(0.1)
    assert sent(stage, "r1") == ""

    stage.say("r3", "p", Credit(story.stream, 4))
    stage.run(0.1)
    assert [sent(stage, each) for each in ("r1", "r2", "r3")] == ["ABCD"] * 3
    assert sent(stage, "r4") == ""


def test_one_replica_cannot_stop_a_publisher() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.flush()
    story = stage.story("p")
    for _ in range(20):
        stage.say("r4", "p", Status(story.stream, StatusCode.WAIT, 0, "no room"))
        stage.say("r4", "p", Status(story.stream, StatusCode.BLOCKED, 0))
        stage.publish("p", "x")
        stage.run(0.5)
    assert sent(stage, "r4") == ""
    assert stage.acknowledged("p", confirmed=True) == 23
    assert stage.read("S1") == "ABC" + "x" * 20


def test_one_replica_cannot_hurry_a_publisher() -> None:
    stage, story = desk()
    stage.say("r4", "p", Credit(story.stream, 1_000_000))
    stage.say("r1 r2", "p", Credit(story.stream, 2))
    stage.run(0.1)
    assert sent(stage, "r4") == "AB"
    assert sent(stage, "r1") == "AB"


def test_one_replica_cannot_acknowledge() -> None:
    stage, story = desk()
    stage.say("r1 r2 r3 r4", "p", Credit(story.stream, 5))
    stage.run(0.1)
    for _ in range(3):
        stage.say("r3 r4", "p", story.held_up_to("AB"))
        stage.say("r4", "p", story.confirmed("AB"))
        stage.run(0.1)
    assert stage.acknowledged("p") == 0

    stage.say("r1", "p", story.held_up_to("A"))
    stage.run(0.1)
    assert stage.acknowledged("p") == 1


def test_acknowledgement_of_something_else_does_not_count() -> None:
    stage, story = desk()
    stage.say(ALL, "p", Credit(story.stream, 5))
    stage.run(0.1)
    stage.say("r1 r2", "p", story.held_up_to("A"))
    stage.say("r4", "p", story.held_up_to("X"), story.confirmed("X"))
    stage.run(0.1)
    assert stage.acknowledged("p") == 0
    (evidence,) = [each for each in stage.evidence["p"] if isinstance(each.second, HeldUpTo)]
    assert (evidence.weight, evidence.parties) == (Weight.LOCAL, frozenset({"r4"}))


# -- rejections -----------------------------------------------------------------------------------


def test_one_rejection_is_a_suspicion_and_f_plus_1_equal_ones_an_error() -> None:
    stage, story = desk()
    stage.say("r4", "p", *[Status(story.stream, StatusCode.REJECTED, 0, "no")] * 3)
    stage.say("r3", "p", Status(story.stream, StatusCode.REJECTED, 0, "never"))
    stage.flush()
    assert [each for each in stage.outcomes.get("p", []) if isinstance(each, Refused)] == []
    assert {(each.weight, each.parties) for each in stage.evidence["p"]} == {
        (Weight.SUSPICION, frozenset({"r4"})),
        (Weight.SUSPICION, frozenset({"r3"})),
    }

    stage.say("r1", "p", Status(story.stream, StatusCode.REJECTED, 0, "no"))
    stage.flush()
    (refused,) = [each for each in stage.outcomes["p"] if isinstance(each, Refused)]
    assert refused.reason == "no"


def test_publisher_goes_on_although_one_replica_rejects() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.flush()
    stage.say("r4", "p", Status(stage.story("p").stream, StatusCode.REJECTED, 0, "no"))
    stage.publish("p", "CD")
    stage.run(5.0)
    assert stage.acknowledged("p", confirmed=True) == 4


def test_publisher_without_rights_is_told_so() -> None:
    stage = Stage(channels=(Channel(CHANNEL, publishers=("q",)),))
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(1.0)
    (refused,) = [each for each in stage.outcomes["p"] if isinstance(each, Refused)]
    assert refused.reason == "p may not publish on news"


def test_one_refusal_of_a_subscription_is_not_believed() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    stage.say("r4", "S1", *[SubscribeStatus(CHANNEL, 1, False, "no")] * 3)
    stage.flush()
    assert stage.outcomes.get("S1", []) == []
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(3.0)
    assert stage.read("S1") == "A"
    assert not any(isinstance(each, SubscriptionRefused) for each in stage.outcomes["S1"])


# -- announced streams ----------------------------------------------------------------------------


def test_stream_that_one_replica_announces_costs_a_subscriber_nothing_but_a_note() -> None:
    stage = Stage(scripted=ALL, alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    for _ in range(10):
        stage.say("r4", "S1", story.held("ABC"), story.bodies("ABC"), story.confirmed("ABC"))
        stage.run(1.0)
    assert stage.said("S1", ALL, AskVotes) == []
    assert stage.said("S1", ALL, Follow) == []

    stage.say("r3", "S1", story.held("ABC"))
    stage.run(2.0)
    assert stage.said("S1", ALL, AskVotes) != []


def test_streams_that_one_replica_invents_replace_each_other() -> None:
    stage = Stage(scripted=ALL, alpha=5)
    subscriber = stage.subscriber("S1")
    stage.client("P")
    true = stage.opens("P", 1)
    stage.say("r1 r2", "S1", true.held("A"), true.bodies("A"))
    for nonce in range(2, 802):
        invented = Story(stage.cluster, stage.opens("P", nonce, at="").opening)
        stage.say("r4", "S1", invented.held("X"), invented.bodies("X"))
    stage.flush()
    followed = subscriber._subscriptions[CHANNEL].followers
    assert true.stream in followed
    assert len(followed) <= 257

    stage.say("r3", "S1", true.held("A"))
    stage.run(1.0)
    assert stage.read("S1") == "A"


# -- streams are independent ----------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
def test_one_stuck_stream_stalls_no_other(protocol: str) -> None:
    stage = Stage(alpha=2, protocol=protocol)
    stage.subscriber("S1")
    stuck = stage.opens("P")
    stage.say("P", "r1", stuck.publish("ABCDEF"))
    stage.say("P", "r2", stuck.publish("XYZ"))
    stage.publisher("p")
    stage.publish("p", "abcdefghijklmnop")
    stage.run(20.0)
    assert stage.read("S1") == "abcdefghijklmnop"
    assert stage.acknowledged("p", confirmed=True) == 16

    own = stage.opens("P", 2)
    for first in range(1, 9, 2):
        stage.say("P", "r1 r2 r3", own.publish("KL", first=first))
        stage.run(2.0)
    assert stage.read("S1", own) == "KLKLKLKL"
