"""Rule 14: publishers resend and serve bodies until confirmed; subscribers that are behind pull."""

from __future__ import annotations

from quorumcast.core.messages import (
    AskBodies,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Heads,
    Held,
    HeldUpTo,
    Publish,
    ReadyUpTo,
)
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

REPLICAS = ("r1", "r2", "r3", "r4")
TO_REPLICAS = "r1 r2 r3 r4"


# -- the publisher --------------------------------------------------------------------------------


def test_publisher_resends_until_q_acknowledge() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    lost = stage.drop("p", TO_REPLICAS, Publish)
    stage.publish("p", "AB")
    stage.run(3.0)
    assert lost.hits > 4
    assert stage.acknowledged("p") == 0

    lost.lift()
    stage.run(10.0)
    assert stage.acknowledged("p") == 2


def test_publisher_resends_where_acknowledgements_are_lost() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    lost = stage.drop("*", "p", HeldUpTo, ConfirmedUpTo)
    stage.publish("p", "AB")
    stage.run(3.0)
    assert stage.acknowledged("p") == 0

    lost.lift()
    stage.run(10.0)
    assert stage.acknowledged("p", confirmed=True) == 2
    assert stage.holds("r1", stage.story("p")) == "AB"


def test_publisher_stops_resending_what_q_acknowledged() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    stage.hold("r1 r2 r3", "p", ConfirmedUpTo)
    stage.say("r4", "p", stage.hello("r4"))
    stage.publish("p", "AB")
    stage.run(2.0)
    assert stage.acknowledged("p") == 2
    stage.run(20.0)
    assert stage.said("p", TO_REPLICAS, Publish, since=2.0) == []


def test_publisher_serves_bodies_until_they_are_confirmed() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    unconfirmed = stage.hold("*", "p", ConfirmedUpTo)
    stage.publish("p", "ABC")
    stage.run(2.0)
    story = stage.story("p")
    assert stage.acknowledged("p") == 3
    stage.say("r4", "p", story.ask_bodies("BC", first=2))
    stage.flush()
    assert stage.said("p", "r4", Bodies) == [story.bodies("BC", first=2)]

    stage.say("r4", "p", story.ask_bodies("XC", first=2))
    stage.flush()
    assert len(stage.said("p", "r4", Bodies)) == 1

    unconfirmed.lift()
    stage.run(1.0)
    assert stage.acknowledged("p", confirmed=True) == 3
    stage.say("r4", "p", story.ask_bodies("BC", first=2))
    stage.flush()
    assert len(stage.said("p", "r4", Bodies)) == 1


def test_replica_without_another_holder_gets_bodies_from_the_publisher() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    stage.drop("p", "r3", Publish)
    stage.drop("r1 r2 r4", "r3", Bodies)
    stage.hold("*", "p", ConfirmedUpTo)
    stage.publish("p", "AB")
    stage.run(10.0)
    assert stage.said("p", "r3", Bodies) != []
    assert stage.holds("r3", stage.story("p")) == "AB"


def test_publisher_resumes_on_a_link_that_came_back() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    for replica in REPLICAS:
        stage.unlink("p", replica)
    stage.publish("p", "AB")
    stage.run(1.0)
    assert stage.acknowledged("p") == 0
    for replica in REPLICAS:
        stage.link("p", replica)
    stage.run(5.0)
    assert stage.acknowledged("p", confirmed=True) == 2


# -- the subscriber -------------------------------------------------------------------------------


def test_subscriber_that_missed_everything_pulls() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1")
    stage.publisher("p")
    lost = stage.drop(TO_REPLICAS, "S1", Held, Bodies, ReadyUpTo, ConfirmedUpTo)
    stage.publish("p", "ABCDEF")
    stage.run(2.0)
    stage.stop("p")
    assert lost.hits > 0
    lost.lift()
    stage.run(20.0)
    assert stage.read("S1") == "ABCDEF"


def test_subscriber_that_missed_the_last_one_learns_of_it_from_heads() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.run(2.0)
    assert stage.read("S1") == "AB"
    lost = stage.drop(TO_REPLICAS, "S1", Held, Bodies, ReadyUpTo, ConfirmedUpTo)
    stage.publish("p", "C")
    stage.run(0.9)
    stage.stop("p")
    lost.lift()
    stage.run(20.0)
    assert stage.said("r1", "S1", Heads, since=3.0) != []
    assert stage.read("S1") == "ABC"


def test_subscriber_pulls_votes_from_all_replicas() -> None:
    stage = Stage(scripted="r1 r2 r3 r4", alpha=5)
    story = stage.opens("P")
    stage.subscriber("S1")
    stage.say("r1 r2", "S1", story.held("A"), story.bodies("A"))
    stage.run(2.0)
    assert stage.read("S1") == ""
    for replica in REPLICAS:
        assert story.ask_votes() in stage.heard(replica, AskVotes, "S1")

    stage.say("r3", "S1", story.held("A"))
    stage.flush()
    assert stage.read("S1") == "A"


def test_subscriber_asks_others_for_a_body_that_one_withholds() -> None:
    stage = Stage(scripted="r4", alpha=5)
    stage.subscriber("S1")
    story = stage.opens("P")
    lost = stage.drop(TO_REPLICAS, "S1", Bodies)
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(0.5)
    assert stage.read("S1") == ""
    lost.lift()
    stage.run(10.0)
    assert stage.said("S1", TO_REPLICAS, AskBodies) != []
    assert stage.read("S1") == "A"


# -- backoff --------------------------------------------------------------------------------------


def stuck(stage: Stage) -> Story:
    """A stream that cannot advance: A and B have one correct vote each, r4 helps nobody."""
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.say("P", "r2", story.publish("B"))
    return story


def test_pulls_on_a_stream_that_cannot_advance_back_off() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    stuck(stage)
    stage.run(120.0)
    early = len(stage.said("S1", "r1", AskVotes))
    assert early >= 3
    late = len(stage.said("S1", "r1", AskVotes, since=60.0))
    assert 1 <= late <= 14


def test_statements_that_nobody_confirms_become_rare() -> None:
    stage = Stage(alpha=5)
    stuck(stage)
    stage.run(10.0)
    early = len(stage.said("r1", "r4", Held))
    assert early >= 5
    stage.run(990.0)
    late = len(stage.said("r1", "r4", Held, since=900.0))
    assert late / 100.0 < early / 10.0  # a second


def test_subscriber_that_asks_for_ever_is_answered_at_a_bounded_rate() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.client("S")
    stage.flush()
    stage.say("S", "r1", *[story.ask_votes()] * 10_000)
    stage.flush()
    assert 1000 <= len(stage.heard("S", Held, "r1")) <= 5000
