"""Rule 17: falling behind is the subscriber's own business; replicas pause and never skip."""

from __future__ import annotations

from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Credit,
    Held,
    Message,
    Subscribe,
)
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL, Story

TO_REPLICAS = "r1 r2 r3 r4"


def reader(stage: Stage, window: int) -> None:
    """A scripted subscriber S that takes so many positions of every stream."""
    stage.client("S")
    stage.say("S", TO_REPLICAS, Subscribe(CHANNEL, 1, ("*",), 0, window))
    stage.flush()


def votes(stage: Stage, replica: str, story: Story) -> dict[int, bytes]:
    """Which digest a replica named to S at which position."""
    found: dict[int, bytes] = {}
    heard = [each for each in stage.heard("S", Held, replica) if each.stream == story.stream]
    for each in heard:
        for index in range(len(each.digests) // 32):
            digest = each.digests[index * 32 : index * 32 + 32]
            assert found.setdefault(each.first + index, digest) == digest
    return found


def told(story: Story, text: str) -> dict[int, bytes]:
    return {seq: story.digests(letter, seq) for seq, letter in enumerate(text, 1)}


def test_replica_pauses_where_credit_ends_and_goes_on_with_the_next_position() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    reader(stage, window=2)
    story = stage.opens("P")
    for first, text in ((1, "AB"), (3, "CD"), (5, "EF")):
        stage.say("P", "r1 r2 r3", story.publish(text, first=first))
        stage.flush()
    assert votes(stage, "r1", story) == told(story, "AB")

    stage.say("S", "r1", Credit(story.stream, 5))
    stage.flush()
    assert votes(stage, "r1", story) == told(story, "ABCDE")
    assert votes(stage, "r2", story) == told(story, "AB")
    stage.say("S", "r1 r2", Credit(story.stream, 100))
    stage.say("P", "r1 r2 r3", story.publish("GH", first=7))
    stage.flush()
    assert votes(stage, "r1", story) == votes(stage, "r2", story) == told(story, "ABCDEFGH")


def test_run_that_ends_beyond_the_credit_is_cut_there() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    reader(stage, window=3)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABCDE"))
    stage.flush()
    assert votes(stage, "r1", story) == told(story, "ABC")


def test_pause_holds_for_bodies_too() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    reader(stage, window=2)
    story = stage.opens("P")
    for first, text in ((1, "AB"), (3, "CD")):
        stage.say("P", "r1", story.publish(text, first=first))
        stage.flush()
    assert stage.heard("S", Bodies, "r1") == [story.bodies("AB")]


def test_less_credit_than_before_takes_nothing_back() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    reader(stage, window=4)
    story = stage.opens("P")
    stage.say("S", "r1", Credit(story.stream, 1))
    stage.say("P", "r1", story.publish("ABCD"))
    stage.flush()
    assert votes(stage, "r1", story) == told(story, "ABCD")


def test_subscriber_without_credit_stops_neither_publisher_nor_other_subscribers() -> None:
    stage = Stage(alpha=3)
    reader(stage, window=1)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "ABCDEFGHIJKL")
    stage.run(10.0)
    story = stage.story("p")
    assert stage.acknowledged("p", confirmed=True) == 12
    assert stage.read("S1") == "ABCDEFGHIJKL"
    assert max(votes(stage, "r1", story), default=0) <= 1

    stage.heard_by.clear()
    stage.say("S", "r1 r2 r3", Credit(story.stream, 100))
    stage.run(1.0)
    assert story.confirmed("ABCDEFGHIJKL") in stage.heard("S", ConfirmedUpTo, "r1")
    served = [each for replica in ("r1", "r2", "r3") for each in stage.heard("S", Bodies, replica)]
    assert max(each.first + len(each.bodies) - 1 for each in served) == 12


def test_votes_complete_although_every_replica_loses_something_else() -> None:
    stage = Stage(alpha=50, within_seconds=60.0)
    stage.subscriber("S1")
    story = stage.opens("P")

    def loses(replica: str, position: int) -> None:
        def about(message: Message) -> bool:
            return isinstance(message, Held | Bodies) and message.first == position

        stage.drop(replica, "S1", Held, Bodies, where=about)

    for position, replica in enumerate(("r1", "r2", "r3"), 1):
        loses(replica, position)
    for first, letter in enumerate("ABC", 1):
        stage.say("P", "r1 r2 r3", story.publish(letter, first=first))
        stage.flush()
    assert stage.read("S1") == ""  # by queue position, r1's B would meet the others' A

    stage.heal()
    stage.run(10.0)
    assert stage.read("S1") == "ABC"


def test_subscriber_that_comes_back_reads_from_the_log_what_it_missed() -> None:
    stage = Stage(scripted="", alpha=3)
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.run(2.0)
    for replica in TO_REPLICAS.split():
        stage.unlink("S1", replica)
    stage.publish("p", "DEFGHIJKL")
    stage.run(5.0)
    assert stage.read("S1") == "ABC"

    for replica in TO_REPLICAS.split():
        stage.link("S1", replica)
    stage.run(10.0)
    assert stage.read("S1") == "ABCDEFGHIJKL"
    assert stage.gaps("S1") == []
