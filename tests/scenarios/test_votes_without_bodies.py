"""Rule 3 where bodies live in memory: a replica that restarts has its votes without them."""

from __future__ import annotations

import pytest

from quorumcast.core.messages import AskBodies, Bodies, ConfirmedUpTo, FloorAt, Held
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story


def forget_bodies(stage: Stage, name: str) -> None:
    """A replica restarts with its votes, and without any body."""
    stage.stop(name)
    store = stage.stores[name]
    store.apply(store.without_bodies())
    store.strip()
    stage.start(name)


def votes(stage: Stage, name: str, story: Story, since: float) -> list[Held]:
    return [each for each in stage.said(name, "*", Held, since) if each.stream == story.stream]


def test_it_votes_for_nothing_else_at_these_positions() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("*", "*", Bodies)
    stage.say("P", "r1", story.publish("AB"))
    stage.run(1.0)
    forget_bodies(stage, "r1")
    stage.say("P", "r1", story.open(), story.publish("XYZ"))
    stage.run(5.0)

    assert stage.holds("r1", story) == ".."
    assert votes(stage, "r1", story, since=1.0) == []  # HELD would say that the bodies are here


@pytest.mark.parametrize("text", ["AB", "ABC"])
def test_it_takes_the_same_content_again(text: str) -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("*", "*", Bodies)
    stage.say("P", "r1", story.publish("AB"))
    stage.run(1.0)
    forget_bodies(stage, "r1")
    stage.say("P", "r1", story.open(), story.publish(text))
    stage.run(5.0)

    assert stage.holds("r1", story) == text


def test_what_agrees_is_taken_up_to_where_it_does_not() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("*", "*", Bodies)
    stage.say("P", "r1", story.publish("ABC"))
    stage.run(1.0)
    forget_bodies(stage, "r1")
    stage.say("P", "r1", story.open(), story.publish("AXC"))
    stage.run(5.0)

    assert stage.holds("r1", story) == "A.."


def test_it_fetches_the_bodies_of_its_votes_from_one_other_holder() -> None:
    """One holder is enough: the vote is its own, nobody has to vouch for the content."""
    stage = Stage(scripted="r3 r4", alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("AB"))
    stage.flush()
    stage.stop("P")
    stage.run(1.0)
    forget_bodies(stage, "r1")
    stage.run(5.0)

    assert stage.said("r1", "*", AskBodies, since=1.0) != []
    assert stage.holds("r1", story) == "AB"
    assert votes(stage, "r1", story, since=1.0) != []


def test_what_is_confirmed_becomes_a_floor_and_later_votes_stay() -> None:
    stage = Stage(scripted="", alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3 r4", story.publish("AB"))
    stage.run(1.0)
    assert stage.confirmed("r1", story) == 2
    stage.drop("*", "*", Held, ConfirmedUpTo)
    stage.say("P", "r1", story.publish("C", first=3))
    stage.flush()
    forget_bodies(stage, "r1")
    stage.client("S")
    stage.say("S", "r1", story.ask_bodies("AB"))
    stage.say("P", "r1", story.open(), story.publish("X", first=3))
    stage.run(3.0)

    assert story.floor("AB") in stage.heard("S", FloorAt, "r1")
    assert stage.holds("r1", story) == "."


def test_confirmed_content_takes_the_slot_of_a_vote_whose_body_is_gone() -> None:
    stage = Stage(scripted="", alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("*", "r1", Held, ConfirmedUpTo)
    stage.say("P", "r1", story.publish("X"))
    stage.run(0.2)
    forget_bodies(stage, "r1")
    stage.heal()
    stage.say("P", "r2 r3 r4", story.publish("A"))
    stage.run(10.0)

    assert [stage.holds(name, story) for name in ("r1", "r2", "r3", "r4")] == ["A"] * 4
    assert stage.confirmed("r1", story) == 1


def test_ready_stands_although_the_bodies_are_gone() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.drop("r2 r3", "*", ConfirmedUpTo)
    stage.drop("r2 r3", "r1", Bodies)
    stage.say("P", "r1 r2 r3", story.publish("AB"))
    stage.flush()
    ready = stage.ready("r1", story)
    forget_bodies(stage, "r1")
    stage.run(5.0)

    assert ready == 2
    assert stage.ready("r1", story) == 2
