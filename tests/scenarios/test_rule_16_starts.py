"""Rule 16: a subscriber names its start and filter; replicas need not agree on either."""

from __future__ import annotations

import pytest

from quorumcast.core.messages import (
    AskHeads,
    Bodies,
    Follow,
    Heads,
    Held,
    Message,
    Publish,
    Subscribe,
    SubscribeStatus,
)
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL, Story

ALL = "r1 r2 r3 r4"


def listing(stage: Stage, replica: str, story: Story, last: int, confirmed: int = 0) -> None:
    """A scripted replica lists one stream with this head."""

    def reply(_: str, message: Message) -> list[Message]:
        if not isinstance(message, AskHeads):
            return []
        return [Heads(CHANNEL, 5, (story.head(last, confirmed),), False)]

    stage.answers(replica, reply)


# -- latest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", [0, 3, 1_000_000])
def test_latest_begins_after_what_f_plus_1_replicas_have(lie: int) -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("ABCD"))
    stage.run(3.0)
    listing(stage, "r4", story, lie, confirmed=lie)
    stage.subscriber("S1", start="latest")
    stage.run(3.0)
    assert stage.read("S1") == ""

    stage.say("P", "r1 r2 r3", story.publish("EFG", first=5))
    stage.run(5.0)
    assert stage.read("S1") == "EFG"


def test_latest_is_the_second_highest_of_differing_heads() -> None:
    stage = Stage(scripted=ALL, alpha=5)
    story = stage.opens("P")
    for replica, last in (("r1", 4), ("r3", 3), ("r4", 9)):
        listing(stage, replica, story, last)
    stage.subscriber("S1", start="latest")
    stage.run(1.0)
    stage.say("r1 r2 r3", "S1", story.held("ABCDEF"), story.bodies("ABCDEF"))
    stage.run(1.0)
    assert stage.read("S1") == "EF"


def test_latest_is_not_decided_before_all_but_f_replicas_listed() -> None:
    stage = Stage(scripted=ALL, alpha=5)
    story = stage.opens("P")
    listing(stage, "r2", story, 2)
    listing(stage, "r4", story, 0)
    stage.subscriber("S1", start="latest")
    stage.run(1.0)
    listing(stage, "r1", story, 4)
    stage.run(2.0)
    stage.say("r1 r2 r3", "S1", story.held("ABCDEF"), story.bodies("ABCDEF"))
    stage.run(1.0)
    assert stage.read("S1") == "CDEF"  # two lists alone would have said 1


def test_nothing_is_subscribed_before_the_starts_are_fixed() -> None:
    stage = Stage(scripted="", alpha=5, confirm=False)  # nothing repairs what is thrown away
    slow = stage.hold("r3 r4", "S1", Heads)
    stage.publisher("p")
    stage.subscriber("S1", start="latest")
    stage.run(0.5)
    assert stage.said("S1", "*", Subscribe) == []
    stage.publish("p", "A")
    stage.run(0.1)
    slow.lift()
    stage.run(20.0)
    assert stage.read("S1") == "A"


def test_streams_that_appear_later_begin_at_1() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.run(2.0)
    stage.subscriber("S1", start="latest")
    stage.publisher("q")
    stage.publish("q", "xyz")
    stage.publish("p", "DE")
    stage.run(3.0)
    assert stage.read("S1", stage.story("q")) == "xyz"
    assert stage.read("S1", stage.story("p")) == "DE"


def test_stream_that_begins_while_replicas_are_asked_is_read_from_1_or_not_at_all_before() -> None:
    stage = Stage(scripted="", alpha=5)
    stage.publisher("p")
    slow = stage.hold("r3 r4", "S1", Heads)
    stage.subscriber("S1", start="latest")
    stage.publish("p", "ABC")
    stage.run(0.1)
    slow.lift()
    stage.run(1.0)
    stage.publish("p", "DEF")
    stage.run(10.0)
    assert stage.read("S1") in ("ABCDEF", "DEF")


def test_replicas_with_different_heads_serve_one_start() -> None:
    stage = Stage(scripted="", alpha=50, within_seconds=60.0)
    stage.publisher("p")
    stage.drop("p", "r3", Publish)
    stage.publish("p", "ABCD")
    stage.run(0.1)
    story = stage.story("p")
    assert [stage.holds(each, story) for each in ("r1", "r3")] == ["ABCD", ""]
    stage.subscriber("S1", start="latest")
    stage.run(0.1)
    stage.publish("p", "EF")
    stage.run(1.0)
    assert stage.read("S1") == "EF"


# -- named positions ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
@pytest.mark.parametrize("start", [1, 2, 5, 8])
def test_named_start_is_where_reading_begins(protocol: str, start: int) -> None:
    stage = Stage(scripted="", alpha=3, protocol=protocol)
    stage.publisher("p")
    stage.publish("p", "ABCDEF")
    stage.run(3.0)
    story = stage.story("p")
    stage.subscriber("S1", start={story.stream: start})
    stage.run(3.0)
    stage.publish("p", "GHI")
    stage.run(5.0)
    assert stage.read("S1") == "ABCDEFGHI"[start - 1 :]


def test_earliest_begins_at_1() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.publisher("p")
    stage.publish("p", "ABCDEF")
    stage.run(3.0)
    stage.subscriber("S1", start="earliest")
    stage.run(3.0)
    assert stage.read("S1") == "ABCDEF"


# -- filters and their versions -------------------------------------------------------------------


def test_only_what_matches_is_sent_and_delivered() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1", patterns=("probe-*",))
    for name in ("probe-1", "other"):
        stage.publisher(name)
        stage.publish(name, name[0].upper())
    stage.run(3.0)
    assert stage.read("S1") == "P"
    wrong = [each for each in stage.said("r1", "S1", Held) if each.stream.publisher == "other"]
    assert wrong == []


def test_replica_that_sends_what_does_not_match_is_not_believed() -> None:
    stage = Stage(scripted=ALL, alpha=5)
    stage.subscriber("S1", patterns=("q*",))
    story = stage.opens("P")
    stage.say(ALL, "S1", story.held("A"), story.bodies("A"), story.confirmed("A"))
    stage.run(1.0)
    assert stage.read("S1") == ""
    assert {each.sender for each in stage.rejections["S1"]} == set(ALL.split())


def test_change_of_filter_keeps_the_place_in_streams_that_still_match() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1", patterns=("p*",))
    for name in ("p1", "p2", "q1"):
        stage.publisher(name)
        stage.publish(name, "AB")
    stage.run(3.0)
    stories = {name: stage.story(name) for name in ("p1", "p2", "q1")}
    stage.resubscribe("S1", "p1 q*", start="earliest")
    stage.run(3.0)
    for name in stories:
        stage.publish(name, "CD")
    stage.run(5.0)
    read = {name: stage.read("S1", story) for name, story in stories.items()}
    assert read == {"p1": "ABCD", "p2": "AB", "q1": "ABCD"}


def test_change_that_reaches_replicas_at_different_times_loses_nothing() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1", patterns=("p",))
    stage.publisher("p")
    stage.publish("p", "AB")
    stage.run(1.0)
    slow = stage.hold("S1", "r1 r2", Subscribe, Follow)
    stage.resubscribe("S1", "p q", start="earliest")
    stage.publisher("q")
    stage.publish("p", "CD")
    stage.publish("q", "xy")
    stage.run(1.0)
    slow.lift()
    stage.publish("p", "EF")
    stage.run(20.0)
    assert stage.read("S1", stage.story("p")) == "ABCDEF"
    assert stage.read("S1", stage.story("q")) == "xy"


def test_older_version_of_a_filter_overrides_nothing() -> None:
    stage = Stage(alpha=3)
    story = stage.opens("P")
    stage.client("S")
    stage.say("S", "r1", Subscribe(CHANNEL, 2, ("*",), 0, 10))
    stage.say("S", "r1", Subscribe(CHANNEL, 1, ("none",), 0, 10))
    stage.say("S", "r1", story.follow(1, 10, version=1))
    stage.flush()
    assert stage.heard("S", SubscribeStatus, "r1") == [SubscribeStatus(CHANNEL, 2, True)]
    stage.say("P", "r1", story.publish("AB"))
    stage.flush()
    assert stage.heard("S", Held, "r1") == [story.held("AB")]
    assert stage.heard("S", Bodies, "r1") == [story.bodies("AB")]
