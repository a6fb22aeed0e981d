"""Rule 4: votes are cast in order; what arrives early waits within the window."""

from __future__ import annotations

from quorumcast.core.limits import EARLY_BYTES
from quorumcast.core.messages import Credit, Held, HeldUpTo, Publish, StatusCode
from quorumcast.core.messages import Status as StatusMessage
from tests.scenarios.stage import Stage


def test_hole_of_one_replica_is_filled_by_the_others() -> None:
    stage = Stage(scripted="", alpha=2)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "A")
    stage.flush()
    lost = stage.drop("p", "r3", Publish, where=lambda each: each.first == 2)
    stage.publish("p", "B")
    stage.flush()
    stage.publish("p", "C")
    stage.flush()
    story = stage.story("p")
    assert lost.hits > 0
    assert stage.holds("r3", story) == "A"
    stage.stop("p")
    stage.stop("r4")
    stage.run(10.0)

    assert stage.holds("r3", story) == "ABC"
    assert [stage.confirmed(each, story) for each in ("r1", "r2", "r3")] == [3, 3, 3]
    assert stage.read("S1") == "ABC"


def test_position_is_not_acknowledged_before_its_predecessors() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("AB"))
    stage.say("P", "r1", story.publish("C", first=3))
    stage.say("P", "r1 r2 r3", story.publish("D", first=4))
    stage.say("r4", "S1", story.held("ABCD"))
    stage.run(5.0)

    assert stage.holds("r1", story) == "ABCD"
    for replica in ("r2", "r3"):
        assert stage.holds(replica, story) == "AB"
        assert max(each.position for each in stage.heard("P", HeldUpTo, replica)) == 2
        for held in stage.said(replica, "*", Held):
            assert held.first + len(held.digests) // 32 - 1 <= 2
    assert stage.read("S1") == "AB"


def test_what_arrives_early_waits_and_is_voted_for_in_order() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("C", first=3))
    stage.say("P", "r1", story.publish("B", first=2))
    stage.flush()
    assert stage.holds("r1", story) == ""

    stage.say("P", "r1", story.publish("A"))
    stage.flush()
    assert stage.holds("r1", story) == "ABC"
    assert stage.heard("P", HeldUpTo, "r1")[-1] == story.held_up_to("ABC")


def test_what_arrives_beyond_the_window_does_not_wait() -> None:
    stage = Stage(alpha=2)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("BCDEFGH", first=2))
    stage.say("P", "r1", story.publish("A"))
    stage.flush()

    assert stage.holds("r1", story) == "ABCD"
    codes = [each.code for each in stage.heard("P", StatusMessage, "r1")]
    assert StatusCode.BLOCKED in codes
    assert max(each.through for each in stage.heard("P", Credit, "r1")) == 4


def test_what_waits_is_bounded_in_bytes_too() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    story = stage.opens("P")
    size = EARLY_BYTES // 4 - 100
    for seq in range(8, 1, -1):
        stage.say("P", "r1", Publish(story.stream, seq, (bytes(size),)))
    stage.flush()
    for seq in (1, 2, 3):
        stage.say("P", "r1", Publish(story.stream, seq, (bytes(size),)))
        stage.flush()
    assert stage.stores["r1"].streams[story.stream].head == 3  # 8, 7, 6 and 5 filled the room

    stage.say("P", "r1", Publish(story.stream, 4, (bytes(size),)))
    stage.flush()
    assert stage.stores["r1"].streams[story.stream].head == 8


def test_duplicate_and_overlapping_runs_change_nothing() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    for text, first in (("AB", 1), ("AB", 1), ("BC", 2), ("ABCD", 1), ("D", 4)):
        stage.say("P", "r1", story.publish(text, first))
    stage.flush()

    assert stage.holds("r1", story) == "ABCD"
    assert stage.evidence["r1"] == []


def test_repeated_publication_is_acknowledged_again() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("AB"))
    stage.flush()
    stage.heard_by.clear()
    stage.say("P", "r1", story.publish("AB"))
    stage.flush()

    assert stage.heard("P", HeldUpTo, "r1") == [story.held_up_to("AB")]
