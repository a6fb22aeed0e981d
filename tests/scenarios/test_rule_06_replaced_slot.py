"""Rule 6: confirmed content takes its slot without being a vote; later votes stay."""

from __future__ import annotations

from quorumcast.core.messages import Held, HeldUpTo
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story


def replaced(stage: Stage) -> Story:
    """r3 voted B and C; A is confirmed at position 1."""
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("BC"))
    stage.say("r4", "r1 r2", story.held("A"), story.ready("A"))
    stage.run(3.0)
    assert [stage.confirmed(each, story) for each in ("r1", "r2", "r3")] == [1, 1, 1]
    return story


def test_confirmed_content_replaces_a_conflicting_vote_and_keeps_later_ones() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = replaced(stage)

    assert stage.holds("r3", story) == "AC"
    stage.say("r4", "r3", story.ask_votes(2))
    stage.flush()
    assert stage.heard("r4", Held, "r3")[-1] == story.held("C", first=2)


def test_replaced_slots_survive_a_restart() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = replaced(stage)
    stage.restart("r3")
    stage.run(3.0)

    assert stage.holds("r3", story) == "AC"
    assert stage.confirmed("r3", story) == 1


def test_later_vote_is_not_changed_by_repair_or_publisher() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = replaced(stage)
    stage.say("P", "r1 r2", story.publish("X", first=2))
    stage.say("P", "r3", story.publish("X", first=2))
    stage.run(5.0)

    assert stage.holds("r3", story) == "AC"
    assert {each.digests for each in stage.said("r3", "*", Held) if each.first == 2} == {
        story.digests("C", 2)
    }


def test_subscribers_agree_on_what_follows_a_replaced_slot() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("BC"))
    stage.say("r4", "r1 r2", story.held("A"), story.ready("A"))
    stage.run(3.0)
    assert stage.read("S1") == "A"
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r2", story.publish("C", first=2))
    stage.say("P", "r1", story.publish("X", first=2))
    stage.say("r4", "S1", story.held("C", first=2))
    stage.flush()
    assert stage.read("S1") == "AC"

    stage.subscriber("S2")
    stage.say("P", "r3", story.publish("X", first=2))
    stage.say("r4", "S2 r3", story.held("X", first=2), story.bodies("X", first=2))
    stage.heal()
    stage.run(10.0)
    assert "X" not in stage.read("S2")
    assert stage.holds("r3", story) == "AC"


def test_publisher_is_told_the_chain_of_what_stands_there_now() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = replaced(stage)
    stage.heard_by.clear()
    stage.say("P", "r3", story.open())
    stage.flush()

    assert stage.heard("P", HeldUpTo, "r3") == [story.held_up_to("AC")]
