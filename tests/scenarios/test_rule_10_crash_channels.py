"""Rule 10: crash channels: f+1 copies deliver, one word is enough, no limit of 2α."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.core.channel import Retention
from quorumcast.core.errors import ConfigError
from quorumcast.core.messages import (
    AskBodies,
    AskOpening,
    AskVotes,
    Held,
    HeldUpTo,
    Message,
    Publish,
    ReadyUpTo,
    StatusCode,
)
from quorumcast.core.messages import Status as StatusMessage
from quorumcast.core.outcomes import Acknowledged
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story


def audience(**settings: Any) -> tuple[Stage, Story]:
    """A subscriber among the scripted replicas of a crash channel."""
    stage = Stage(n=3, scripted="r1 r2 r3", protocol="plain", **settings)
    story = stage.opens("P")
    stage.subscriber("S1")
    return stage, story


# -- delivery -----------------------------------------------------------------------------------


def test_one_copy_does_not_deliver_and_f_plus_1_do() -> None:
    stage, story = audience()
    for _ in range(5):
        stage.say("r1", "S1", story.held("A"), story.bodies("A"), story.confirmed("A"))
        stage.run(0.5)
    assert stage.read("S1") == ""

    stage.say("r2", "S1", story.held("A"))
    stage.run(1.0)
    assert stage.read("S1") == "A"


def test_what_was_delivered_survives_its_publisher_and_a_holder() -> None:
    stage = Stage(n=3, scripted="", protocol="plain")
    stage.subscriber("S1")
    stage.publisher("p")
    stage.drop("p", "r3", Publish)
    stage.drop("*", "r3", Held)
    stage.publish("p", "ABC")
    stage.flush()
    story = stage.story("p")
    assert stage.read("S1") == "ABC"
    assert stage.holds("r3", story) == ""

    stage.stop("p")
    stage.stop("r1")
    stage.heal()
    stage.subscriber("S2")
    stage.run(10.0)
    assert stage.holds("r3", story) == "ABC"
    assert stage.read("S2") == "ABC"


def test_one_word_is_enough_to_adopt() -> None:
    stage = Stage(n=3, scripted="r3", protocol="plain")
    stage.stop("r2")
    story = stage.opens("P", at="")

    def holder(_: str, message: Message) -> list[Message]:
        answers: dict[type, Message] = {
            AskOpening: story.opening_of(),
            AskVotes: story.held("AB"),
            AskBodies: story.bodies("AB"),
        }
        return [answers[type(message)]] if type(message) in answers else []

    stage.answers("r3", holder)
    stage.say("r3", "r1", story.held("AB"))
    stage.run(3.0)
    assert stage.holds("r1", story) == "AB"


# -- acknowledged and confirmed ------------------------------------------------------------------


def test_acknowledged_means_f_plus_1_holders() -> None:
    stage = Stage(n=5, f=2, scripted="", protocol="plain")
    stage.publisher("p")
    late = stage.hold("r3 r4 r5", "p", HeldUpTo)
    stage.drop("*", "r1 r2 r3 r4 r5", Held)  # or r1 would know of f+1 holders, and say so
    stage.publish("p", "A")
    stage.run(0.1)
    assert stage.acknowledged("p") == 0

    late.lift()
    stage.run(1.0)
    assert stage.acknowledged("p") == 1


def test_confirmed_means_known_at_f_plus_1_holders_without_any_ready() -> None:
    stage = Stage(n=3, scripted="r2 r3", protocol="plain")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AB"))
    stage.run(2.0)
    assert stage.confirmed("r1", story) == 0

    stage.say("r2", "r1", story.held("A"))
    stage.run(1.0)
    assert stage.confirmed("r1", story) == 1
    assert stage.said("r1", "*", ReadyUpTo) == []


def test_holders_are_counted_whatever_else_they_lack() -> None:
    stage = Stage(n=5, f=2, scripted="r2 r3 r4 r5", protocol="plain")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABC"))
    stage.say("r2", "r1", story.held("ABC"))
    stage.say("r3", "r1", story.held("AB"))
    stage.run(1.0)
    assert stage.confirmed("r1", story) == 2


# -- no limit ------------------------------------------------------------------------------------


def test_votes_go_on_beyond_2_alpha() -> None:
    stage = Stage(n=3, scripted="r2 r3", protocol="plain", alpha=2)
    story = stage.opens("P")
    for first, text in ((1, "ABCD"), (5, "EFGH"), (9, "IJ")):
        stage.say("P", "r1", story.publish(text, first=first))
        stage.flush()
    stage.run(1.0)

    assert stage.confirmed("r1", story) == 0
    assert stage.holds("r1", story) == "ABCDEFGHIJ"
    codes = [each.code for each in stage.heard("P", StatusMessage, "r1")]
    assert StatusCode.BLOCKED not in codes


def test_replica_that_missed_more_than_2_alpha_catches_up() -> None:
    stage = Stage(n=3, scripted="", protocol="plain", alpha=2)
    stage.publisher("p")
    stage.stop("r3")
    for text in ("ABCD", "EFGH", "IJKL"):
        stage.publish("p", text)
        stage.run(1.0)
    story = stage.story("p")
    assert stage.holds("r1", story) == "ABCDEFGHIJKL"

    stage.stop("p")
    stage.start("r3")
    stage.run(20.0)
    assert stage.holds("r3", story) == "ABCDEFGHIJKL"


# -- deliver = "first" ---------------------------------------------------------------------------


def test_first_copy_delivers_and_acknowledges_with_first() -> None:
    stage = Stage(n=2, scripted="", protocol="plain", deliver="first")
    stage.subscriber("S1")
    stage.stop("r2")
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.run(1.0)

    assert stage.read("S1") == "AB"
    told = [each for each in stage.outcomes["p"] if isinstance(each, Acknowledged)]
    assert [(each.last, each.replicas, each.confirmed) for each in told] == [(2, 1, False)]


def test_with_first_the_other_replica_copies_what_one_holder_has() -> None:
    stage = Stage(n=2, scripted="", protocol="plain", deliver="first")
    stage.publisher("p")
    stage.drop("p", "r2", Publish)
    stage.publish("p", "AB")
    stage.flush()
    assert stage.acknowledged("p") == 2
    stage.stop("p")
    stage.run(3.0)
    stage.stop("r1")
    stage.subscriber("S1")
    stage.run(5.0)

    assert stage.read("S1") == "AB"


def test_with_first_a_crash_of_publisher_and_holder_loses_what_was_acknowledged() -> None:
    stage = Stage(n=2, scripted="", protocol="plain", deliver="first")
    stage.publisher("p")
    stage.cut("r2")
    stage.publish("p", "A")
    stage.flush()
    assert stage.acknowledged("p") == 1
    story = stage.story("p")
    stage.stop("p")
    stage.stop("r1")
    stage.heal()
    stage.subscriber("S1")
    stage.run(10.0)
    assert stage.read("S1") == ""

    stage.start("r1")  # the holder comes back with its disk
    stage.run(20.0)
    assert stage.read("S1", story) == "A"


def test_f_plus_1_replicas_are_enough_for_first_alone() -> None:
    Stage(n=2, scripted="", protocol="plain", deliver="first")
    with pytest.raises(ConfigError, match="at least 3 replicas"):
        Stage(n=2, scripted="", protocol="plain")


# -- floors --------------------------------------------------------------------------------------


def test_one_floor_is_taken_over_and_all_but_f_make_a_gap() -> None:
    stage = Stage(n=3, scripted="", protocol="plain", retention=Retention(age_seconds=5.0))
    stage.publisher("p")
    stage.cut("r3")
    stage.publish("p", "ABC")
    stage.run(1.0)
    story = stage.story("p")
    stage.stop("p")
    stage.run(6.0)
    assert stage.stores["r1"].streams[story.stream].floor.seq == 3

    stage.stop("r2")
    stage.heal()
    stage.run(20.0)
    stored = stage.stores["r3"].streams[story.stream]
    assert (stored.floor.seq, stored.floor_confirmed) == (3, True)

    stage.subscriber("S1")
    stage.run(10.0)
    assert [(each.first, each.last) for each in stage.gaps("S1")] == [(1, 3)]
