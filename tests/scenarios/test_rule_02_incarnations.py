"""Rule 2: a session names the replicas' incarnations; who may have forgotten votes casts none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from quorumcast.core.ids import Incarnation
from quorumcast.core.limits import HANDOVER_SECONDS
from quorumcast.core.messages import (
    ConfirmedUpTo,
    Held,
    HeldUpTo,
    Hello,
    OpeningOf,
    Publish,
    ReadyUpTo,
)
from quorumcast.core.outcomes import OutcomeUnknown
from tests.scenarios.stage import Stage

REPLICAS = ("r1", "r2", "r3", "r4")


def test_wiped_replica_does_not_vote_again() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "S1", story.held("A"))
    stage.flush()
    assert stage.read("S1") == "A"

    stage.wipe("r1")
    stage.heal()
    stage.subscriber("S2")
    for _ in range(20):
        stage.say("r4", "r1 S2", story.held("B"), story.bodies("B"))
        stage.say("P", "r1", story.open(), story.publish("B"))
        stage.run(0.5)

    assert stage.holds("r1", story) == ""
    assert stage.said("r1", "*", Held, since=1.0) == []
    assert "B" not in stage.read("S2")


def test_replica_that_is_down_at_the_opening_is_named_all_the_same() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.stop("r3")
    stage.publisher("p")
    stage.drop("r1 r2 r4", "r1 r2 r4", Held)
    stage.publish("p", "A")
    stage.flush()
    story = stage.story("p")
    assert story.opening.incarnations[2] == stage.life("r3")
    assert stage.acknowledged("p") == 1
    stage.stop("p")
    stage.stop("r4")

    stage.heal()
    stage.start("r3")
    stage.subscriber("S1")
    stage.run(10.0)

    assert stage.holds("r3", story) == "A"
    assert len(stage.said("r3", "*", Held)) > 0
    assert stage.read("S1") == "A"


def test_one_replica_cannot_name_another_ones_incarnation() -> None:
    stage = Stage(alpha=5)
    lie = tuple(Incarnation(99, 99) for _ in REPLICAS)
    stage.publisher("p")
    stage.say("r4", "p", Hello(stage.life("r4"), lie))
    stage.flush()
    stage.publish("p", "A")
    stage.run(1.0)

    assert stage.story("p").opening.incarnations == tuple(map(stage.life, REPLICAS))
    assert stage.acknowledged("p") == 1


def test_incarnation_that_f_plus_1_report_is_named_before_it_is_shown() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    stage.drop("r1", "p", Hello)
    stage.publish("p", "A")
    stage.run(2.0)
    stage.wipe("r1")
    stage.run(15.0)
    stage.publish("p", "B")
    stage.run(10.0)

    assert stage.story("p").opening.incarnations[0] == stage.life("r1")
    assert stage.holds("r1", stage.story("p")) == "B"


def test_replica_without_a_valid_incarnation_still_states_ready_and_confirmed() -> None:
    stage = Stage(scripted="", alpha=5, protocol="bracha")
    stage.publisher("p")
    later = stage.drop("*", "r1 r2 r3 r4", ReadyUpTo, ConfirmedUpTo)
    stage.publish("p", "ABC")
    stage.hold("r4", "*", Held)
    stage.run(0.1)
    story = stage.story("p")
    stage.stop("p")
    stage.wipe("r1")
    stage.run(3.0)
    stage.heal()
    stage.run(10.0)
    assert later.hits > 0

    after = stage.born["r1"]
    assert stage.said("r1", "*", Held, since=after) == []
    assert stage.said("r1", "r2", ReadyUpTo, since=after) != []
    assert stage.said("r1", "r2", ConfirmedUpTo, since=after) != []
    assert stage.confirmed("r1", story) == 3
    assert stage.holds("r1", story) == "ABC"


def test_rotated_incarnation_stays_valid() -> None:
    stage = Stage(scripted="", alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3 r4", story.publish("A"))
    stage.run(1.0)
    stage.rotate("r1")
    stage.say("P", "r1 r2 r3 r4", story.publish("B", first=2))
    stage.run(1.0)
    stage.restart("r1")
    stage.say("P", "r1 r2 r3 r4", story.open(), story.publish("C", first=3))
    stage.run(5.0)

    assert stage.holds("r1", story) == "ABC"
    positions = [each.position for each in stage.heard("P", HeldUpTo, "r1")]
    assert max(positions) == 3


def test_new_incarnation_of_a_peer_cancels_what_it_stated() -> None:
    stage = Stage(alpha=5, protocol="bracha")
    stage.stop("r3")
    story = stage.opens("P")
    waits = stage.hold("r2", "r1", Held)
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("r4", "r1", story.held("A"))
    stage.run(2.0)
    stage.wipe("r4")
    stage.say("r4", "r1", stage.hello("r4"))
    stage.flush()
    waits.lift()
    stage.run(5.0)
    assert stage.ready("r1", story) == 0

    stage.say("r4", "r1", story.held("A"))
    stage.run(5.0)
    assert stage.ready("r1", story) == 1


def test_everything_retained_is_stated_to_a_peer_in_its_new_life() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    stage.publish("p", "ABCDEFGH")
    stage.run(10.0)
    story = stage.story("p")
    stage.stop("p")
    stage.wipe("r4")
    stage.run(15.0)

    assert stage.holds("r4", story) == "ABCDEFGH"
    assert stage.confirmed("r4", story) == 8


def test_whoever_states_something_serves_the_opening() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P", at="r1 r2 r3")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(5.0)
    for replica in ("r1", "r2", "r3"):
        stage.restart(replica)
        stage.say("r4", replica, story.ask_opening())
    stage.flush()

    answers = stage.heard("r4", OpeningOf)
    assert [each.opening for each in answers] == [story.opening] * 3


# -- the publisher's part ----------------------------------------------------------------------


def test_publisher_opens_a_new_session_after_the_old_one_is_confirmed() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.subscriber("S1")
    stage.publisher("p")
    slow = stage.hold("*", "p", ConfirmedUpTo)
    stage.publish("p", "ABC")
    stage.flush()
    stage.wipe("r1")
    stage.publish("p", "DEF")
    stage.run(5.0)
    assert len(stage.sessions("p")) == 1

    slow.lift()
    stage.run(10.0)
    assert len(stage.sessions("p")) == 2
    assert stage.story("p").opening.incarnations[0] == stage.life("r1")
    assert stage.read("S1") == "ABCDEF"
    assert stage.acknowledged("p", confirmed=True) == 6


def test_publisher_leaves_a_session_that_does_not_confirm_after_a_time() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    lost = stage.drop("p", "r2 r3 r4", Publish)
    stage.publish("p", "A")
    stage.flush()
    stage.hold("r1", "*")
    stage.wipe("r4")
    lost.lift()
    stage.drop("p", "*", Publish, where=lambda each: each.bodies == (b"A",))
    stage.publish("p", "B")
    stage.run(20.0)
    assert len(stage.sessions("p")) == 1
    stage.run(30.0)

    assert len(stage.sessions("p")) == 2
    unknown = [each for each in stage.outcomes["p"] if isinstance(each, OutcomeUnknown)]
    assert [(each.first, each.last) for each in unknown] == [(1, 1)]
    assert stage.holds("r2", stage.story("p")) == "B"
    assert stage.acknowledged("p") == 2


@pytest.mark.parametrize("began", [2.1123, 2.2123, 2.3123])
def test_publisher_that_waits_for_its_old_session_does_not_wake_itself_for_ever(
    began: float,
) -> None:
    stage = Stage(alpha=5)
    stage.run(began)
    stage.publisher("p")
    stage.drop("r1 r2 r3", "p", HeldUpTo, ConfirmedUpTo)
    stage.publish("p", "A")
    stage.flush()
    stage.wipe("r4")
    stage.say("r4", "p r1 r2 r3", stage.hello("r4"))
    stage.run(HANDOVER_SECONDS + 5.0)  # fails where time stands still
    stage.publish("p", "B")
    stage.run(1.0)
    assert len(stage.sessions("p")) == 2


def test_replica_that_changes_all_the_time_costs_ever_fewer_sessions() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    for _ in range(120):
        stage.wipe("r4")
        stage.say("r4", "p r1 r2 r3", stage.hello("r4"))
        stage.publish("p", "x")
        stage.run(1.0)
    stage.run(5.0)

    assert 4 <= len(stage.sessions("p")) <= 9
    assert stage.acknowledged("p") == 120
    opened = list(stage.sessions("p").values())
    pauses = [later - earlier for earlier, later in pairwise(opened)]
    assert pauses[-1] > 4 * pauses[1]
