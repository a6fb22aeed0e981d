"""Rule 7: votes needed are Q, not 2f+1; READY stays 2f+1 and f+1."""

from __future__ import annotations

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.messages import ConfirmedUpTo, Held, ReadyUpTo
from tests.scenarios.stage import Stage

SIX = ("r1", "r2", "r3", "r4", "r5")


def test_two_sets_of_2f_plus_1_do_not_share_a_correct_replica_at_six() -> None:
    stage = Stage(n=6, scripted="r6", alpha=5)
    stage.subscriber("S1")
    stage.subscriber("S2")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3 r4 r5", story.publish("B"))
    stage.say("r6", "S1", story.held("A"), story.bodies("A"))
    stage.say("r6", "S2", story.held("B"), story.bodies("B"))
    stage.flush()
    assert stage.read("S1") == ""

    stage.run(10.0)
    assert stage.read("S2") == "B"  # four votes are Q
    assert "A" not in stage.read("S1")


def test_three_votes_of_six_acknowledge_nothing() -> None:
    stage = Stage(n=6, scripted="", alpha=5)
    stage.publisher("p")
    late = stage.drop("r4 r5 r6", "p")
    stage.publish("p", "A")
    stage.run(3.0)
    assert stage.acknowledged("p") == 0

    late.lift()
    stage.run(10.0)
    assert stage.acknowledged("p") == 1


def test_three_votes_of_six_make_no_ready() -> None:
    stage = Stage(n=6, scripted="r5 r6", alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("r4", "*")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(5.0)
    assert [stage.ready(each, story) for each in ("r1", "r2", "r3")] == [0, 0, 0]

    stage.say("r5", "r1", story.held("A"))
    stage.run(5.0)
    assert stage.ready("r1", story) == 1


def test_2f_plus_1_readys_confirm_at_six() -> None:
    stage = Stage(n=6, scripted="r6", alpha=5, protocol="bracha")
    stage.drop("r4 r5", "*", ReadyUpTo)
    stage.drop("*", "*", ConfirmedUpTo)
    stage.drop("r5", "*", Held)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3 r4", story.publish("A"))
    stage.run(2.0)

    assert [stage.confirmed(each, story) for each in ("r1", "r2", "r3")] == [1, 1, 1]


def test_f_plus_1_readys_are_joined_and_f_are_not() -> None:
    stage = Stage(n=6, scripted="r5 r6", alpha=5, protocol="bracha")
    for silent in ("r2", "r3", "r4"):
        stage.stop(silent)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("r5", "r1", story.ready("A"))
    stage.run(3.0)
    assert stage.ready("r1", story) == 0

    stage.say("r6", "r1", story.ready("A"))
    stage.run(3.0)
    assert stage.ready("r1", story) == 1
    assert stage.confirmed("r1", story) == 1  # r1, r5, r6: 2f+1


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
def test_2f_plus_1_replicas_are_too_few_for_a_byzantine_channel(protocol: str) -> None:
    with pytest.raises(ConfigError, match="at least 4 replicas"):
        Stage(n=3, f=1, scripted="", protocol=protocol)
