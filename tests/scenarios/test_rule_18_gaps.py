"""Rule 18: how large a gap is, and where reading goes on after it."""

from __future__ import annotations

from quorumcast.core.channel import Retention
from quorumcast.core.messages import AskBodies, AskConfirmed, AskDigests, Message
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

ALL = "r1 r2 r3 r4"
CORRECT = ("r1", "r2", "r3")


def audience(protocol: str = "ab") -> tuple[Stage, Story]:
    """A subscriber among replicas that say what the scenario says."""
    stage = Stage(scripted=ALL, alpha=5, protocol=protocol)
    story = stage.opens("P")
    stage.subscriber("S1")
    return stage, story


def test_positions_that_two_hold_are_not_skipped() -> None:
    stage, story = audience()

    def holder(_: str, message: Message) -> list[Message]:
        if isinstance(message, AskConfirmed) and 3 <= message.position <= 6:
            return [story.confirmed("ABCDEF"[: message.position])]
        if isinstance(message, AskBodies) and message.first >= 4:
            return [story.bodies("DEF", first=4)]
        return []

    stage.answers("r1", holder)
    stage.answers("r2", holder)
    stage.say("r1 r2", "S1", story.floor("ABC"), story.confirmed("ABCDEF"))
    stage.say("r3 r4", "S1", story.floor("ABCDE"), story.confirmed("ABCDEF"))
    stage.run(3.0)
    stage.say("r1 r2", "S1", story.bodies("DEF", first=4), story.confirmed("ABCDEF"))
    stage.run(3.0)

    assert [(each.first, each.last) for each in stage.gaps("S1")] == [(1, 3)]
    assert stage.read("S1") == "DEF"


def test_gap_needs_all_but_f_floors() -> None:
    stage, story = audience()
    stage.say("r3 r4", "S1", story.floor("ABC"))
    stage.run(2.0)
    assert stage.gaps("S1") == []

    stage.say("r2", "S1", story.floor("ABC"))
    stage.run(2.0)
    assert [(each.first, each.last, each.ended) for each in stage.gaps("S1")] == [(1, 3, False)]


def test_one_lying_floor_makes_no_gap_among_real_replicas() -> None:
    stage = Stage(alpha=3)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("ABCDEF"))
    stage.run(3.0)
    stage.subscriber("S1")
    for _ in range(4):
        stage.say("r4", "S1", story.floor("ABCDEF"), story.open_floor(5))
        stage.run(0.5)
    stage.run(5.0)
    assert stage.gaps("S1") == []
    assert stage.read("S1") == "ABCDEF"


def test_chain_after_a_gap_is_f_plus_1_equal_words() -> None:
    stage, story = audience("bracha")

    def holder(_: str, message: Message) -> list[Message]:
        return [story.digests_under("D", first=4)] if isinstance(message, AskDigests) else []

    stage.answers("r2", holder)
    stage.answers("r3", holder)
    stage.say("r2 r3", "S1", story.floor("ABC"))
    stage.say("r4", "S1", story.floor("XYZ"))
    stage.run(1.0)
    stage.say("r4", "S1", story.bodies("Q", first=4), story.confirmed("XYZQ"))
    stage.say("r2", "S1", story.bodies("D", first=4), story.confirmed("ABCD"))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r3", "S1", story.confirmed("ABCD"))
    stage.run(5.0)
    assert stage.read("S1") == "D"


def test_chain_after_a_gap_may_come_from_one_replica_whose_digests_link_it() -> None:
    stage, story = audience("bracha")

    def knows(_: str, message: Message) -> list[Message]:
        if isinstance(message, AskConfirmed):
            return [story.confirmed("ABCDE"[: message.position])] if message.position == 3 else []
        return [story.digests_under("DE", first=4)] if isinstance(message, AskDigests) else []

    stage.answers("r1", knows)
    stage.say("r1", "S1", story.floor("ABC"), story.confirmed("ABCDE"))
    stage.say("r2 r3", "S1", story.floor("ABCDE"))
    stage.run(5.0)
    stage.say("r1", "S1", story.bodies("DE", first=4), story.confirmed("ABCDE"))
    stage.say("r2", "S1", story.confirmed("ABCDE"))
    stage.run(5.0)
    assert [(each.first, each.last) for each in stage.gaps("S1")] == [(1, 3)]
    assert stage.read("S1") == "DE"


def test_late_subscriber_is_told_what_is_gone_and_reads_the_rest() -> None:
    stage = Stage(scripted="", alpha=2, retention=Retention(age_seconds=8.0))
    stage.publisher("p")
    stage.publish("p", "ABCD")
    stage.run(7.0)
    stage.publish("p", "EFGH")
    stage.run(3.0)
    story = stage.story("p")
    floors = [stage.stores[each].streams[story.stream].floor.seq for each in CORRECT]
    assert floors == [4, 4, 4]
    stage.subscriber("S1")
    stage.run(3.0)
    assert [(each.first, each.last, each.ended) for each in stage.gaps("S1")] == [(1, 4, False)]
    assert stage.read("S1") == "EFGH"
