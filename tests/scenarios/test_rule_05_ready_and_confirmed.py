"""Rule 5: HELD, READY and CONFIRMED; the schedules that break weaker versions."""

from __future__ import annotations

import pytest

from quorumcast.core.messages import (
    AskDigests,
    Bodies,
    ConfirmedUpTo,
    Digests,
    Held,
    Message,
    ReadyUpTo,
)
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

CORRECT = ("r1", "r2", "r3")


def confirmed(stage: Stage, story: Story) -> list[int]:
    return [stage.confirmed(each, story) for each in CORRECT]


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
def test_ready_survives_a_restart(protocol: str) -> None:
    stage = Stage(alpha=5, protocol=protocol, within_seconds=0.05)
    story = stage.opens("P")
    stage.drop("r2", "r3", ReadyUpTo)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "r1 r2", story.held("A"))
    stage.say("r4", "r1", story.ready("A"))
    stage.run(0.1)
    assert [stage.ready(each, story) for each in CORRECT] == [1, 1, 0]
    assert confirmed(stage, story) == [1, 0, 0]

    stage.restart("r2")
    stage.heal()
    stage.run(10.0)

    assert confirmed(stage, story) == [1, 1, 1]
    assert [stage.holds(each, story) for each in CORRECT] == ["A", "A", "A"]


def test_confirmed_counts_as_ready() -> None:
    stage = Stage(alpha=2)
    stage.publisher("p")
    stage.drop("r1", "r2 r3", ReadyUpTo)
    stage.say("r4", "p", stage.hello("r4"))
    stage.publish("p", "ABCDEFGHIJKL")
    stage.run(30.0)

    story = stage.story("p")
    assert confirmed(stage, story) == [12, 12, 12]
    assert stage.acknowledged("p", confirmed=True) == 12


def test_confirmed_of_a_replica_that_falls_silent_counts_as_its_ready() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.stop("r1")
    stage.drop("r2 r3", "r2 r3", ConfirmedUpTo)
    stage.say("P", "r2 r3", story.publish("A"))
    stage.say("r4", "r2 r3", story.held("A"), story.confirmed("A"))
    stage.run(5.0)

    assert [stage.confirmed(each, story) for each in ("r2", "r3")] == [1, 1]


# -- READY and its digests ----------------------------------------------------------------------

VOTES = {"r1": "AAB", "r2": "ABA", "r3": "BAA"}


def crossed_votes(stage: Stage) -> Story:
    """Each position has two votes for A; r4 makes it three, and only r1 sees that."""
    story = stage.opens("P")
    for replica, text in VOTES.items():
        stage.say("P", replica, story.publish(text))
    stage.say("r4", "r1", story.held("AAA"))
    stage.run(1.0)
    assert [stage.ready(each, story) for each in CORRECT] == [3, 0, 0]
    return story


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
@pytest.mark.parametrize("restarts", [False, True])
def test_ready_serves_the_digests_that_nobody_else_can_name(protocol: str, restarts: bool) -> None:
    stage = Stage(alpha=5, protocol=protocol, within_seconds=0.05)
    story = crossed_votes(stage)
    if restarts:
        stage.restart("r1")
    stage.say("r4", "r2 r3", story.held("XYZ"), story.ready("AAA"))
    stage.run(10.0)

    assert confirmed(stage, story) == [3, 3, 3]
    assert [stage.holds(each, story) for each in CORRECT] == ["AAA"] * 3
    assert stage.said("r2", "r1", AskDigests) != []


def test_votes_that_cross_give_no_ready_without_a_third_vote() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    for replica, text in VOTES.items():
        stage.say("P", replica, story.publish(text))
    stage.say("r4", "r1 r2 r3", story.held("XYZ"))
    stage.run(10.0)

    assert [stage.ready(each, story) for each in CORRECT] == [0, 0, 0]


def test_digests_that_do_not_end_in_the_stated_chain_are_not_believed() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    stage.drop("r1", "*", Digests)
    story = crossed_votes(stage)

    def lie(_: str, message: Message) -> list[Message]:
        return [story.digests_under("BBB")] if isinstance(message, AskDigests) else []

    stage.answers("r4", lie)
    stage.say("r4", "r2 r3", story.ready("AAA"))
    stage.run(5.0)
    assert confirmed(stage, story) == [0, 0, 0]

    stage.heal()
    stage.run(10.0)
    assert confirmed(stage, story) == [3, 3, 3]


# -- the prefix ---------------------------------------------------------------------------------


def test_no_ready_for_a_position_without_its_prefix() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AC"))
    stage.say("P", "r2 r3", story.publish("BC"))
    stage.run(5.0)
    assert [stage.ready(each, story) for each in CORRECT] == [0, 0, 0]

    stage.say("r4", "r1 r2 r3", story.held("B"))
    stage.run(10.0)
    assert confirmed(stage, story) == [2, 2, 2]
    assert [stage.holds(each, story) for each in CORRECT] == ["BC"] * 3


def test_ready_for_two_contents_is_not_added_up() -> None:
    stage = Stage(n=7, f=2, scripted="r6 r7", alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("r6", "r1", story.ready("A"))
    stage.say("r7", "r1", story.ready("B"))
    stage.run(3.0)
    assert stage.ready("r1", story) == 0  # two READYs, but f+1 = 3 for one content are needed

    stage.say("r6 r7", "r2", story.ready("A"), story.held("A"))
    stage.run(3.0)
    assert stage.ready("r2", story) == 0


# -- certain votes ------------------------------------------------------------------------------


def test_quorum_of_votes_makes_ready_and_does_not_confirm() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    stage.subscriber("S1")
    stage.subscriber("S2")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "r1 S1", story.held("A"))
    stage.run(10.0)

    assert [stage.ready(each, story) for each in CORRECT] == [1, 0, 0]
    assert confirmed(stage, story) == [0, 0, 0]
    assert stage.read("S1") == stage.read("S2") == ""


def test_certain_votes_confirm_without_any_ready() -> None:
    stage = Stage(scripted="", alpha=5, protocol="bracha")
    stage.drop("*", "*", ReadyUpTo, ConfirmedUpTo)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3 r4", story.publish("ABC"))
    stage.run(2.0)

    assert confirmed(stage, story) == [3, 3, 3]


def test_one_vote_less_than_certain_does_not_confirm_at_six_replicas() -> None:
    stage = Stage(n=6, scripted="r6", alpha=5, protocol="bracha")
    stage.drop("*", "*", ReadyUpTo, ConfirmedUpTo)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3 r4", story.publish("A"))
    stage.say("P", "r5", story.publish("B"))
    stage.run(3.0)
    assert confirmed(stage, story) == [0, 0, 0]

    stage.say("r6", "r1", story.held("A"))
    stage.run(3.0)
    assert confirmed(stage, story) == [1, 0, 0]


def test_confirmed_is_stated_once_the_bodies_are_here() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    stage.drop("P", "r3")
    starved = stage.drop("*", "r3", Bodies)
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("AB"))
    stage.say("r4", "r1 r2 r3", story.held("AB"), story.ready("AB"))
    stage.run(5.0)
    assert stage.confirmed("r1", story) == 2
    assert stage.said("r3", "*", ConfirmedUpTo) == []
    assert stage.ready("r3", story) == 2
    assert stage.said("r3", "*", Held) == []

    starved.lift()
    stage.run(10.0)
    assert stage.holds("r3", story) == "AB"
    assert story.confirmed("AB") in stage.said("r3", "r1", ConfirmedUpTo)
