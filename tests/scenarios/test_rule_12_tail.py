"""Rule 12: the tail is confirmed within a time that newer publications do not put off."""

from __future__ import annotations

import pytest

from quorumcast.core.messages import Held
from tests.scenarios.stage import Stage

REPLICAS = ("r1", "r2", "r3", "r4")


def told(stage: Stage, replica: str) -> list[float]:
    """When a replica first told a peer HELD, and when again."""
    return [
        time
        for time, by, to, message in stage.transcript
        if by == replica and to == "r4" and isinstance(message, Held)
    ]


def test_tail_of_a_publisher_that_died_is_confirmed() -> None:
    stage = Stage(scripted="", alpha=100, within_seconds=0.5)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.flush()
    story = stage.story("p")
    stage.stop("p")
    assert [stage.confirmed(each, story) for each in REPLICAS] == [0, 0, 0, 0]

    stage.run(2.0)
    assert [stage.confirmed(each, story) for each in REPLICAS] == [3, 3, 3, 3]


def test_time_runs_from_the_oldest_position() -> None:
    stage = Stage(alpha=100, within_seconds=0.5)
    story = stage.opens("P")
    began = stage.now
    for index, letter in enumerate("ABCDEFGH", 1):
        stage.say("P", "r1", story.publish(letter, first=index))
        stage.run(0.3)

    first = told(stage, "r1")[0]
    assert first - began == pytest.approx(0.5, abs=0.01)
    assert stage.heard("r4", Held, "r1")[0] == story.held("AB")


def test_nothing_is_told_before_alpha_or_the_time() -> None:
    stage = Stage(alpha=4, within_seconds=5.0)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABC"))
    stage.run(4.0)
    assert stage.heard("r4", Held, "r1") == []

    stage.say("P", "r1", story.publish("D", first=4))
    stage.run(0.1)
    assert stage.heard("r4", Held, "r1") == [story.held("ABCD")]


def test_time_runs_again_for_what_came_after_the_exchange() -> None:
    stage = Stage(scripted="", alpha=100, within_seconds=0.5)
    stage.publisher("p")
    for letter in "ABC":
        stage.publish("p", letter)
        stage.run(3.0)
    story = stage.story("p")
    stage.stop("p")
    assert [stage.confirmed(each, story) for each in REPLICAS] == [3, 3, 3, 3]


def test_tail_is_told_after_a_restart() -> None:
    stage = Stage(scripted="", alpha=100, within_seconds=5.0)
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.flush()
    story = stage.story("p")
    stage.stop("p")
    for replica in REPLICAS:
        stage.restart(replica)
    stage.run(10.0)
    assert [stage.confirmed(each, story) for each in REPLICAS] == [2, 2, 2, 2]


def test_tail_that_only_a_quorum_has_reaches_a_subscriber_that_a_liar_starves() -> None:
    stage = Stage(alpha=100, within_seconds=0.5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("AB"))  # r4 acknowledges too, and says nothing else
    stage.flush()
    stage.stop("P")
    assert stage.read("S1") == ""

    stage.run(5.0)
    assert stage.read("S1") == "AB"


def test_safety_does_not_rest_on_the_time() -> None:
    stage = Stage(alpha=100, within_seconds=0.0)
    stage.subscriber("S1")
    stage.subscriber("S2")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("P", "r2 r3", story.publish("B"))
    stage.say("r4", "S1", story.held("A"), story.bodies("A"))
    stage.say("r4", "S2", story.held("B"), story.bodies("B"))
    stage.run(5.0)
    assert "A" not in stage.read("S1") + stage.read("S2")
    assert stage.read("S2") == "B"
