"""Rule 1: a publication id is (channel, publisher, session, lane, seq)."""

from __future__ import annotations

from quorumcast.core.ids import Lane
from quorumcast.core.messages import Publish, Status, StatusCode
from tests.scenarios.stage import Stage


def test_publisher_that_restarts_reuses_no_id() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.subscriber("S1")
    stage.publisher("p")
    lost = stage.drop("p", "r2 r3 r4", Publish)
    stage.publish("p", "A")
    stage.flush()
    old = stage.story("p")
    assert [stage.holds(each, old) for each in ("r1", "r2", "r3", "r4")] == ["A", "", "", ""]
    stage.stop("p")
    lost.lift()

    stage.publisher("p")
    stage.publish("p", "B")
    stage.run(20.0)

    new = stage.story("p")
    assert new.stream.session != old.stream.session
    assert stage.read("S1", new) == "B"
    assert stage.acknowledged("p", confirmed=True) == 1
    assert [stage.confirmed(each, new) for each in ("r1", "r2", "r3", "r4")] == [1, 1, 1, 1]
    assert stage.read("S1", old) in ("", "A")


def test_lanes_count_apart() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.publish("p", "XY", lane=Lane.URGENT)
    stage.run(5.0)

    streams = {(each.stream.lane, each.first) for each in stage.outcomes["S1"]}
    assert (Lane.NORMAL, 1) in streams
    assert (Lane.URGENT, 1) in streams
    assert sorted(stage.read("S1")) == ["A", "B", "X", "Y"]


def test_sessions_of_one_publisher_are_independent() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    stuck, free = stage.opens("P", 1), stage.opens("P", 2)
    stage.say("P", "r1", stuck.publish("A"))
    stage.say("P", "r2", stuck.publish("B"))
    stage.say("P", "r1 r2 r3", free.publish("CD"))
    stage.run(10.0)

    assert stage.read("S1") == "CD"
    assert [stage.confirmed(each, free) for each in ("r1", "r2", "r3")] == [2, 2, 2]


def test_session_that_is_not_the_hash_of_its_opening_is_rejected() -> None:
    stage = Stage()
    mine, other = stage.opens("P", 1), stage.opens("P", 2)
    stage.heard_by.clear()
    forged = mine.open().__class__(other.stream, mine.opening, b"")
    stage.say("P", "r1", forged)
    stage.flush()

    (status,) = stage.heard("P", Status)
    assert status.code is StatusCode.REJECTED


def test_nobody_opens_or_publishes_under_anothers_name() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.client("Q")
    stage.say("Q", "r1", story.publish("A"))
    stage.say("Q", "r1", stage.opens("P", 2, at="").open())
    stage.flush()

    assert stage.holds("r1", story) == ""
    assert len([each for each in stage.rejections["r1"] if each.sender == "Q"]) == 2
