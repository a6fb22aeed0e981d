"""Rule 18: retention, floors, closed streams and gaps."""

from __future__ import annotations

import msgspec

from quorumcast.core.channel import Retention
from quorumcast.core.ids import Position
from quorumcast.core.messages import (
    AskBodies,
    Bodies,
    ConfirmedUpTo,
    FloorAt,
    Held,
    Message,
    Publish,
    ReadyUpTo,
    Status,
    StatusCode,
)
from quorumcast.core.outcomes import OutcomeUnknown
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

ALL = "r1 r2 r3 r4"
CORRECT = ("r1", "r2", "r3")
SHORT = Retention(age_seconds=10.0)


def audience(protocol: str = "ab") -> tuple[Stage, Story]:
    """A subscriber among replicas that say what the scenario says."""
    stage = Stage(scripted=ALL, alpha=5, protocol=protocol)
    story = stage.opens("P")
    stage.subscriber("S1")
    return stage, story


def floor(stage: Stage, replica: str, story: Story) -> tuple[int, bool]:
    """What a replica dropped, and whether that was confirmed."""
    stored = stage.stores[replica].streams[story.stream]
    return stored.floor.seq, stored.floor_confirmed


# -- a floor by age confirms nothing --------------------------------------------------------------


def test_floor_of_unconfirmed_content_does_not_confirm_it() -> None:
    stage = Stage(alpha=5, retention=SHORT)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r3", story.publish("B"))
    stage.run(8.0)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("r4", "S1", story.held("A"), story.bodies("A"))
    stage.run(4.0)
    assert stage.read("S1") == "A"
    assert (floor(stage, "r3", story), floor(stage, "r1", story)) == ((1, False), (0, True))

    stage.heal()
    stage.subscriber("S2")
    for _ in range(4):
        stage.say("r4", "S2 r1 r2", story.floor("B"), story.confirmed("B"), story.bodies("B"))
        stage.run(0.5)
    assert "B" not in stage.read("S2")
    assert [stage.confirmed(each, story) for each in CORRECT] == [0, 0, 0]
    assert stage.said("r3", "S2", FloorAt) != []
    assert all(each == story.open_floor(1) for each in stage.said("r3", "S2", FloorAt))


def test_subscriber_takes_no_confirmation_from_a_floor_by_age() -> None:
    stage, story = audience("bracha")
    by_age = msgspec.structs.replace(story.floor("B"), confirmed=False)
    stage.say("r3", "S1", story.bodies("B"), by_age)
    stage.say("r4", "S1", story.bodies("B"), story.floor("B"))
    stage.run(2.0)
    assert stage.read("S1") == ""
    assert stage.gaps("S1") == []


def test_replica_takes_no_confirmation_from_a_floor_by_age() -> None:
    stage = Stage(scripted="r3 r4", alpha=5)
    story = stage.opens("P")
    by_age = msgspec.structs.replace(story.floor("B"), confirmed=False)
    for _ in range(10):
        stage.say("r3", "r1 r2", by_age)
        stage.say("r4", "r1 r2", story.floor("B"), story.bodies("B"))
        stage.run(1.0)
    assert [stage.confirmed(each, story) for each in ("r1", "r2")] == [0, 0]


# -- closed streams -------------------------------------------------------------------------------


def closed(stage: Stage) -> Story:
    """r1 and r2 hold A, r3 holds nothing; all of it went by age."""
    story = stage.opens("P")
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r1 r2", story.publish("AB"))
    stage.run(12.0)
    assert floor(stage, "r1", story) == (2, False)
    return story


def test_closed_stream_takes_no_votes_and_says_so() -> None:
    stage = Stage(alpha=5, retention=SHORT)
    story = closed(stage)
    stage.heard_by.clear()
    stage.say("P", "r1", story.publish("C", first=3))
    stage.run(1.0)
    assert StatusCode.CLOSED in {each.code for each in stage.heard("P", Status, "r1")}
    stage.restart("r1")
    stage.say("P", "r1", story.open(), story.publish("C", first=3))
    stage.run(1.0)
    assert stage.holds("r1", story) == ".."


def test_closed_stream_still_states_its_votes_without_bodies() -> None:
    stage = Stage(alpha=5, retention=SHORT)
    story = closed(stage)
    for _ in range(2):
        stage.heard_by.clear()
        stage.say("r4", "r1", story.ask_votes(), story.ask_bodies("AB"))
        stage.flush()
        assert story.held("AB") in stage.heard("r4", Held, "r1")
        assert stage.heard("r4", Bodies, "r1") == []
        assert story.open_floor(2) in stage.heard("r4", FloorAt, "r1")
        stage.restart("r1")
        stage.run(0.1)


def test_closed_stream_still_states_ready_and_confirmed() -> None:
    stage = Stage(alpha=5, retention=SHORT)
    story = closed(stage)
    stage.heal()
    stage.say("r4", "r1 r2 r3", story.held("AB"), story.ready("AB"))
    stage.run(10.0)
    assert stage.confirmed("r1", story) == stage.confirmed("r2", story) == 2
    assert story.ready("AB") in stage.said("r1", "r3", ReadyUpTo)
    assert story.confirmed("AB") in stage.said("r1", "r3", ConfirmedUpTo)
    assert floor(stage, "r1", story) == (2, True)  # what went by age was confirmed since


def test_closed_replica_adopts_nothing() -> None:
    stage = Stage(scripted="r3 r4", alpha=5, retention=SHORT)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.run(12.0)
    assert floor(stage, "r1", story) == (1, False)

    def holder(_: str, message: Message) -> list[Message]:
        return [story.bodies("B", first=2)] if isinstance(message, AskBodies) else []

    stage.answers("r3", holder)
    stage.answers("r4", holder)
    stage.say("r3 r4", "r1", story.held("AB"))
    stage.run(5.0)
    assert stage.holds("r1", story) == "."


def test_stream_that_went_by_age_everywhere_has_ended() -> None:
    stage = Stage(alpha=5, retention=SHORT)
    story = closed(stage)
    stage.say("P", "r3", story.publish("AB"))
    stage.run(12.0)
    stage.subscriber("S1")
    stage.run(5.0)
    assert [(each.first, each.last, each.ended) for each in stage.gaps("S1")] == [(1, 2, True)]
    assert stage.read("S1") == ""


def test_closed_stream_makes_the_publisher_open_a_new_session() -> None:
    stage = Stage(scripted="", alpha=5, retention=SHORT)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.drop(ALL, ALL, Held, ReadyUpTo, ConfirmedUpTo)
    stage.publish("p", "A")
    stage.run(15.0)
    assert stage.acknowledged("p") == 1
    stage.publish("p", "B")
    stage.run(2.0)
    assert StatusCode.CLOSED in {each.code for each in stage.said("r1", "p", Status)}
    stage.heal()
    stage.run(45.0)

    assert len(stage.sessions("p")) == 2
    assert stage.read("S1", stage.story("p")) == "B"
    assert stage.acknowledged("p", confirmed=True) == 2
    assert stage.read("S1") == "AB"


def test_one_closed_is_enough_and_a_liar_costs_ever_fewer_sessions() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    for _ in range(120):
        stage.publish("p", "x")
        stage.flush()
        stream = list(stage.sessions("p"))[-1]
        stage.say("r4", "p", Status(stream, StatusCode.CLOSED, 0, "aged out"))
        stage.run(1.0)
    stage.run(5.0)
    assert 4 <= len(stage.sessions("p")) <= 9
    assert stage.acknowledged("p") == 120
    assert not any(isinstance(each, OutcomeUnknown) for each in stage.outcomes["p"])


# -- floors of replicas ---------------------------------------------------------------------------


def test_replica_takes_over_a_floor_that_f_plus_1_state_and_votes_only_above() -> None:
    stage = Stage(scripted="", alpha=3, retention=SHORT)
    stage.stop("r4")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("ABC"))
    stage.run(12.0)
    stage.start("r4")
    stage.run(15.0)
    assert floor(stage, "r4", story) == (3, True)
    assert stage.confirmed("r4", story) == 3

    stage.say("P", "r4", story.open(), story.publish("XYZD"))
    stage.run(1.0)
    assert stage.holds("r4", story) == "D"
    assert {each.first for each in stage.said("r4", "*", Held)} == {4}


def test_one_floor_is_not_taken_over() -> None:
    stage = Stage(alpha=3)
    story = stage.opens("P")
    for _ in range(15):
        stage.say("r4", "r1 r2 r3", story.floor("XYZ"))
        stage.run(1.0)
    stage.say("P", "r1 r2 r3", story.publish("ABC"))
    stage.run(5.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["ABC"] * 3


def test_confirmed_floor_carries_its_chain() -> None:
    stage = Stage(alpha=3, retention=SHORT)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("ABC"))
    stage.run(13.0)
    stage.say("r4", "r1", story.ask_votes(), story.ask_confirmed(2))
    stage.flush()
    assert set(stage.heard("r4", FloorAt, "r1")) == {story.floor("ABC")}
    assert stage.stores["r1"].streams[story.stream].base == Position(*story.position("ABC"))


def test_replica_that_lost_a_confirmed_body_says_below_my_floor() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.run(3.0)
    story = stage.story("p")
    stage.damage("r1", story, 2)
    stage.client("S")
    stage.say("S", "r1", story.ask_bodies("ABC"))
    stage.flush()

    assert stage.heard("S", FloorAt, "r1") == [story.open_floor(2)]
    assert stage.heard("S", Bodies, "r1") == [story.bodies("A"), story.bodies("C", first=3)]
    stage.subscriber("S1")
    stage.run(5.0)
    assert stage.read("S1") == "ABC"
    assert stage.gaps("S1") == []


def test_body_that_all_but_f_lost_is_a_gap() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.run(3.0)
    story = stage.story("p")
    for replica in CORRECT:
        stage.damage(replica, story, 2)
    stage.drop("r4", "*", Bodies)
    stage.subscriber("S1")
    stage.run(20.0)
    assert stage.read("S1") == "AC"
    assert [(each.first, each.last, each.ended) for each in stage.gaps("S1")] == [(2, 2, False)]


def test_retention_keeps_what_is_unconfirmed_whatever_its_number() -> None:
    stage = Stage(alpha=5, retention=Retention(events=2))
    story = stage.opens("P")
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r1", story.publish("ABCDEFGH"))
    stage.run(30.0)
    assert stage.holds("r1", story) == "ABCDEFGH"

    stage.heal()
    stage.say("P", "r2 r3", story.publish("ABCDEFGH"))
    stage.run(30.0)
    assert stage.confirmed("r1", story) == 8
    assert floor(stage, "r1", story)[0] >= 6
    assert stage.said("P", "*", Publish) == []


def test_limit_on_events_holds_after_a_restart_with_a_closed_stream() -> None:
    stage = Stage(alpha=5, retention=Retention(events=4, age_seconds=20.0))
    stage.drop("r1 r2 r3", "r1 r2 r3", Held, where=lambda each: each.stream.publisher == "P")
    stale = stage.opens("P")
    stage.say("P", "r1", stale.publish("ABCDEFGH"))
    stage.run(25.0)
    assert floor(stage, "r1", stale) == (8, False)
    stage.restart("r1")
    story = stage.opens("Q")
    stage.say("Q", "r1 r2 r3", story.publish("ABCDEFGH"))
    stage.run(10.0)
    assert stage.confirmed("r1", story) == 8
    assert floor(stage, "r1", story)[0] >= 4
