"""Rule 19: limits that need agreement: short of a quorum, release and retry with backoff."""

from __future__ import annotations

from quorumcast.core.messages import Open, Release, StatusCode
from quorumcast.core.messages import Status as StatusMessage
from quorumcast.core.outcomes import SubscriptionRefused
from tests.scenarios.stage import Stage

REPLICAS = ("r1", "r2", "r3", "r4")


def halves(stage: Stage) -> None:
    """Two publishers each get a place at two replicas: neither has a quorum."""
    for name, late in (("p", "r3 r4"), ("q", "r1 r2")):
        stage.publisher(name)
        stage.hold(name, late, Open)
    stage.publish("p", "AB")
    stage.publish("q", "XY")
    stage.flush()
    stage.heal()
    stage.run(0.1)
    assert stage.acknowledged("p") == stage.acknowledged("q") == 0


def test_publishers_that_share_the_places_give_way_until_one_has_a_quorum() -> None:
    stage = Stage(scripted="", alpha=5, max_publishers=1)
    halves(stage)
    stage.run(120.0)

    confirmed = {name: stage.acknowledged(name, confirmed=True) for name in "pq"}
    assert sorted(confirmed.values()) == [0, 2]
    assert stage.said("p", "*", Release) + stage.said("q", "*", Release) != []


def test_publisher_without_a_place_is_told_to_wait_and_not_refused() -> None:
    stage = Stage(scripted="", alpha=5, max_publishers=1)
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(2.0)
    stage.publisher("q")
    stage.publish("q", "X")
    stage.run(30.0)
    assert {each.code for each in stage.said("r1", "q", StatusMessage)} == {StatusCode.WAIT}
    assert stage.outcomes.get("q", []) == []

    stage.publish("p", "B")
    stage.run(2.0)
    assert stage.acknowledged("p", confirmed=True) == 2


def test_publisher_without_a_place_retries_with_growing_pauses() -> None:
    stage = Stage(scripted="", alpha=5, max_publishers=1)
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(2.0)
    stage.publisher("q")
    stage.publish("q", "X")
    stage.run(300.0)
    early = stage.said("q", "r1", Open)
    late = stage.said("q", "r1", Open, since=200.0)
    assert stage.said("q", "r1", Release) != []
    assert 1 <= len(late) < len(early) / 3
    assert len(late) <= 40


def test_place_that_was_released_is_free_for_another() -> None:
    stage = Stage(alpha=5, max_publishers=1)
    mine = stage.opens("P")
    stage.opens("Q")
    stage.heard_by.clear()
    stage.say("P", "r1", Release(mine.stream))
    stage.flush()
    other = stage.opens("Q", 2)
    codes = [
        each.code for each in stage.heard("Q", StatusMessage, "r1") if each.stream == other.stream
    ]
    assert codes == [StatusCode.OK]


def test_place_in_which_something_was_published_is_not_released() -> None:
    stage = Stage(alpha=5, max_publishers=1)
    mine = stage.opens("P")
    stage.say("P", "r1", mine.publish("A"))
    stage.flush()
    stage.say("P", "r1", Release(mine.stream))
    stage.flush()
    other = stage.opens("Q", 2)
    codes = {
        each.code for each in stage.heard("Q", StatusMessage, "r1") if each.stream == other.stream
    }
    assert codes == {StatusCode.WAIT}
    assert stage.holds("r1", mine) == "A"


def test_nobody_releases_anothers_place() -> None:
    stage = Stage(alpha=5, max_publishers=1)
    mine = stage.opens("P")
    stage.client("Q")
    stage.say("Q", "r1", Release(mine.stream))
    stage.flush()
    stage.say("P", "r1", mine.publish("A"))
    stage.flush()
    assert stage.holds("r1", mine) == "A"


def test_limit_does_not_stop_repair() -> None:
    stage = Stage(scripted="", alpha=5, max_publishers=1)
    stage.opens("Q", at="r4")  # the place at r4 is taken
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.run(20.0)
    story = stage.story("p")
    assert stage.acknowledged("p", confirmed=True) == 2
    assert [stage.holds(each, story) for each in REPLICAS] == ["AB"] * 4


# -- subscribers ----------------------------------------------------------------------------------


def test_subscription_beyond_the_limit_is_refused_by_f_plus_1() -> None:
    stage = Stage(scripted="", alpha=5, max_subscribers=1)
    stage.subscriber("S1")
    stage.subscriber("S2")
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(3.0)
    assert stage.read("S1") == "A"
    told = [each for each in stage.outcomes["S2"] if isinstance(each, SubscriptionRefused)]
    assert [each.reason for each in told] == ["news takes 1 subscribers, and has them"]
    assert not any(isinstance(each, SubscriptionRefused) for each in stage.outcomes["S1"])
    assert stage.read("S2") == ""


def test_place_of_a_subscriber_that_left_is_free() -> None:
    stage = Stage(scripted="", alpha=5, max_subscribers=1)
    stage.subscriber("S1")
    stage.stop("S1")
    stage.subscriber("S2")
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(3.0)
    assert stage.read("S2") == "A"


def test_subscriber_that_changes_its_filter_keeps_its_place() -> None:
    stage = Stage(scripted="", alpha=5, max_subscribers=1)
    stage.subscriber("S1", patterns=("q",))
    stage.resubscribe("S1", "p", start="earliest")
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(3.0)
    assert stage.read("S1") == "A"
