"""Rule 3: one vote per id, for ever: on every path and across restarts."""

from __future__ import annotations

import pytest

from quorumcast.core.messages import Held, HeldUpTo
from tests.scenarios.stage import Stage


def test_replica_that_restarts_does_not_adopt_other_content() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "S1", story.held("A"))
    stage.flush()
    assert stage.read("S1") == "A"

    stage.restart("r1")
    stage.heal()
    stage.subscriber("S2")
    for _ in range(20):
        stage.say("r4", "r1 S2", story.held("B"), story.bodies("B"))
        stage.run(0.5)

    assert stage.holds("r1", story) == "A"
    assert "B" not in stage.read("S2")


@pytest.mark.parametrize("protocol", ["ab", "bracha", "plain"])
def test_publisher_cannot_change_a_vote(protocol: str) -> None:
    stage = Stage(alpha=5, protocol=protocol)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.flush()
    stage.say("P", "r1", story.publish("B"))
    stage.flush()
    assert stage.holds("r1", story) == "A"

    stage.restart("r1")
    stage.say("P", "r1", story.open(), story.publish("BC"))
    stage.flush()
    assert stage.holds("r1", story) in ("A", "AC")
    stated = {(each.first, each.digests) for each in stage.said("r1", "r2", Held)}
    assert stated <= {(1, story.digests("A")), (1, story.digests("AC")), (2, story.digests("C", 2))}


def test_early_content_that_waited_does_not_replace_an_adopted_vote() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("AB"))
    stage.say("P", "r3", story.publish("X", first=2))
    stage.run(2.0)
    stage.say("P", "r3", story.publish("A"))
    stage.run(5.0)

    assert stage.holds("r3", story) in ("AB", "AX")
    votes = {each.digests for each in stage.said("r3", "*", Held) if each.first == 2}
    assert len(votes) <= 1


def test_restart_repeats_votes_to_publisher_and_peers() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AB"))
    stage.flush()
    stage.restart("r1")
    stage.heard_by.clear()
    stage.say("P", "r1", story.open())
    stage.run(2.0)

    assert story.held_up_to("AB") in stage.heard("P", HeldUpTo, "r1")
    assert story.held("AB") in stage.heard("r4", Held, "r1")


def test_acknowledgement_leaves_after_the_vote_is_stored() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    replica, store = stage.replica("r1"), stage.stores["r1"]
    replica.at(stage.now)
    replica.step("P", story.publish("A"))
    turn = replica.ready()

    assert story.held_up_to("A") in turn.messages["P"]
    store.apply(turn.records)
    assert stage.holds("r1", story) == "A"
