"""Rule 13: replicas repair each other all the time, and never on one replica's word."""

from __future__ import annotations

from quorumcast.core.messages import (
    AskBodies,
    AskOpening,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Digests,
    Held,
    Message,
    Publish,
)
from tests.scenarios.stage import Reply, Stage
from tests.scenarios.story import Story

CORRECT = ("r1", "r2", "r3")


def serving(story: Story, text: str) -> Reply:
    """A scripted replica that answers as one that holds this content."""

    def reply(_: str, message: Message) -> list[Message]:
        if isinstance(message, AskOpening):
            return [story.opening_of()]
        if isinstance(message, AskVotes):
            return [story.held(text)]
        return [story.bodies(text)] if isinstance(message, AskBodies) else []

    return reply


def test_acknowledged_publication_that_a_liar_withholds_is_delivered() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("K"))
    stage.say("r4", "P", story.held_up_to("K"))
    stage.flush()
    assert len(stage.heard_by["P"]) >= 3
    acknowledged = {by for by, each in stage.heard_by["P"] if each == story.held_up_to("K")}
    assert acknowledged == {"r1", "r2", "r4"}
    assert stage.read("S1") == ""
    stage.stop("P")
    stage.run(5.0)

    assert stage.holds("r3", story) == "K"
    assert stage.said("r3", "S1", Held) == [story.held("K")]
    assert stage.read("S1") == "K"
    assert [stage.confirmed(each, story) for each in CORRECT] == [1, 1, 1]


def test_replica_that_was_away_fetches_everything() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.run(1.0)
    stage.stop("r3")
    stage.publish("p", "CDEFGHIJKLMNOPQ")
    stage.run(5.0)
    story = stage.story("p")
    stage.stop("p")
    stage.start("r3")
    stage.run(20.0)

    assert stage.holds("r3", story) == "ABCDEFGHIJKLMNOPQ"
    assert stage.confirmed("r3", story) == 17


def test_one_replicas_word_is_not_adopted() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.answers("r4", serving(story, "X"))
    for _ in range(10):
        stage.say("r4", "r1 r2 r3", story.held("X"), story.bodies("X"))
        stage.run(0.5)
    assert [stage.holds(each, story) for each in CORRECT] == ["", "", ""]

    stage.say("P", "r1", story.publish("X"))  # with it there are f+1
    stage.run(5.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["X", "X", "X"]


def test_two_votes_for_two_contents_are_not_adopted() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.answers("r4", serving(story, "Y"))
    stage.say("P", "r1", story.publish("X"))
    stage.say("r4", "r2 r3", story.held("Y"), story.bodies("Y"))
    stage.run(5.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["X", "", ""]


def test_positions_are_adopted_in_order_and_each_on_f_plus_1_votes() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.answers("r4", serving(story, "ABX"))
    stage.say("P", "r1", story.publish("ABC"))
    stage.say("r4", "r2 r3", story.held("ABX"))
    stage.run(5.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["ABC", "AB", "AB"]


def test_body_with_another_digest_is_not_adopted() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.drop("r1 r2", "r3", Bodies)
    stage.answers("r4", serving(story, "X"))
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("r4", "r3", story.held("A"))
    stage.run(5.0)
    assert stage.holds("r3", story) == ""
    assert any("not the one asked for" in each.reason for each in stage.rejections["r3"])

    stage.heal()
    stage.run(10.0)
    assert stage.holds("r3", story) == "A"


def test_replica_that_does_not_answer_is_passed_over() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.drop("r1", "r3", Bodies)
    stage.say("r4", "r3", story.held("A"))  # and never serves it
    stage.run(10.0)
    assert stage.holds("r3", story) == "A"


# -- signed channels -----------------------------------------------------------------------------


def test_one_valid_signature_is_adopted_and_an_invalid_one_is_not() -> None:
    stage = Stage(alpha=5, signed=True)
    story = stage.opens("P")
    stage.answers("r4", serving(story, "A"))
    stage.say("r4", "r1 r2 r3", story.held("A"))
    stage.run(5.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["A", "A", "A"]

    other = stage.opens("P", 2)
    forger = other.unsigned()
    stage.answers("r4", serving(forger, "X"))
    stage.say("r4", "r1 r2 r3", forger.held("X"))
    stage.run(5.0)
    assert [stage.holds(each, other) for each in CORRECT] == ["", "", ""]


# -- answers --------------------------------------------------------------------------------------


def test_confirmed_is_answered_for_any_position_asked_for() -> None:
    stage = Stage(alpha=3)
    story = stage.opens("P")
    for first, text in ((1, "ABC"), (4, "DEF"), (7, "GHI")):
        stage.say("P", "r1 r2 r3", story.publish(text, first=first))
        stage.run(1.0)
    assert stage.confirmed("r1", story) == 9
    stage.heard_by.clear()
    for position in range(1, 11):
        stage.say("r4", "r1", story.ask_confirmed(position))
    stage.say("r4", "r1", story.ask_digests(2, 8), story.ask_bodies("DEF", first=4))
    stage.flush()

    answers = stage.heard("r4", ConfirmedUpTo, "r1")
    assert sorted(answers, key=lambda each: each.position) == [
        story.confirmed("ABCDEFGHI"[:position]) for position in range(1, 10)
    ]
    assert stage.heard("r4", Digests, "r1") == [story.digests_under("BCDEFGH", first=2)]
    assert stage.heard("r4", Bodies, "r1") == [story.bodies("DEF", first=4)]


def test_question_for_other_digests_gets_no_bodies() -> None:
    stage = Stage(alpha=3)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AB"))
    stage.flush()
    stage.heard_by.clear()
    stage.say("r4", "r1", story.ask_bodies("XB"))
    stage.flush()
    assert stage.heard("r4", Bodies, "r1") == [story.bodies("B", first=2)]


def test_attempts_that_bring_nothing_become_rare() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.drop("*", "r3", Bodies, Publish)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.run(60.0)
    asked = stage.said("r3", "*", AskBodies)
    late = stage.said("r3", "*", AskBodies, since=30.0)
    assert 3 <= len(asked) <= 40
    assert len(late) <= 10
