"""What f+1 replicas refuse: told once, published never; the next publication asks again."""

from __future__ import annotations

import pytest

from quorumcast.core.ids import Lane
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Message, Open, Publish, Release, Status, StatusCode
from quorumcast.core.outcomes import Acknowledged, OutcomeUnknown, Refused
from tests.broadcast.cast import said
from tests.client.bench import ALL, Writer
from tests.scenarios.story import CHANNEL, Story


def reject(writer: Writer, story: Story, replicas: str = "r2 r3") -> Ready:
    return writer.say(replicas, Status(story.stream, StatusCode.REJECTED, 0, "no"))


def refused(first: int, last: int, lane: Lane = Lane.NORMAL) -> Refused:
    return Refused(CHANNEL, lane, "no", first, last)


def heard(ready: Ready, kind: type[Message]) -> set[str]:
    """The replicas that are told something of a kind."""
    return {replica for replica in ALL.split() if said(ready, kind, replica)}


def bodies(ready: Ready) -> str:
    return "".join(body.decode() for each in said(ready, Publish, "r1") for body in each.bodies)


def test_what_was_refused_is_not_published_when_it_is_allowed_a_moment_later() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("AB"))
    writer.accept(story, "r1")
    ready = reject(writer, story)
    assert writer.told(Refused) == [refused(1, 2)]
    assert writer.told(OutcomeUnknown) == []
    assert heard(ready, Release) == set(ALL.split())
    assert not writer.accept(story).messages
    assert not writer.until(120.0).messages  # nobody is asked to open it again either


def test_what_is_published_in_the_turn_of_the_refusal_is_refused_too() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("A"))
    message = Status(story.stream, StatusCode.REJECTED, 0, "no")

    def both(machine: object) -> None:
        for replica in ("r2", "r3"):
            writer.machine.step(replica, message)
        assert writer.machine.publish(CHANNEL, b"B").number == 2

    writer.do(both)
    assert writer.told(Refused) == [refused(1, 2)]
    assert not writer.accept(story).messages
    assert not writer.until(120.0).messages


def test_the_next_publication_asks_again_in_a_session_of_its_own() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("AB"))
    reject(writer, story)
    later = writer.story(writer.publish("C"))
    assert later.stream != story.stream
    assert bodies(writer.accept(later)) == "C"
    writer.finish(later, "C")
    assert {(each.first, each.last) for each in writer.told(Acknowledged)} == {(3, 3)}
    assert len(writer.told(Refused)) == 1


def test_a_publication_after_a_refusal_can_be_refused_again() -> None:
    writer = Writer()
    writer.greet()
    for number in (1, 2, 3):
        story = writer.story(writer.publish("x"))
        reject(writer, story, "r4")
        assert len(writer.told(Refused)) == number - 1  # it takes f+1 each time
        reject(writer, story, "r1")
        assert writer.told(Refused)[-1] == refused(number, number)


@pytest.mark.parametrize("journal", [False, True])
def test_what_has_a_position_is_unknown_and_what_waits_is_refused(journal: bool) -> None:
    writer = Writer(journal=journal)
    story = writer.begin("ABCDE", credit=3)
    writer.say("r1 r2 r3", story.held_up_to("A"))
    ready = reject(writer, story)
    assert writer.told(Refused) == [refused(4, 5)]
    assert writer.told(OutcomeUnknown) == [OutcomeUnknown(CHANNEL, Lane.NORMAL, 2, 3)]
    assert not heard(ready, Release)
    writer.accept(story)
    assert "D" not in bodies(writer.until(10.0))

    later = writer.story(writer.publish("F"))
    assert later.stream != story.stream
    writer.accept(later)
    writer.say("r1 r2 r3", later.held_up_to("F"))
    assert (writer.told(Acknowledged)[-1].first, writer.told(Acknowledged)[-1].last) == (6, 6)
    writer.finish(story, "ABC")  # some replicas had it: it is finished as it was
    assert writer.told(Acknowledged)[-1].last == 3
    assert len(writer.told(OutcomeUnknown)) == 1


def test_rejections_of_a_session_that_was_left_refuse_no_later_one() -> None:
    writer = Writer()
    story = writer.begin("AB")
    reject(writer, story)
    later = writer.story(writer.publish("C"))
    reject(writer, story, ALL)
    assert bodies(writer.accept(later)) == "C"
    assert writer.told(Refused) == [refused(3, 2)]


def test_a_right_that_is_taken_while_nothing_waits_fails_nothing() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.finish(story, "A")
    reject(writer, story)
    assert writer.told(Refused) == [refused(2, 1)]
    assert writer.told(OutcomeUnknown) == []
    assert not writer.until(120.0).messages
    (message,) = said(writer.publish("B"), Open, "r1")
    assert message.stream != story.stream


def test_a_refused_lane_leaves_the_other_alone() -> None:
    writer = Writer()
    writer.greet()
    normal = writer.story(writer.publish("A"))
    urgent = writer.story(writer.publish("U", Lane.URGENT))
    reject(writer, urgent)
    assert writer.told(Refused) == [refused(1, 1, Lane.URGENT)]
    assert bodies(writer.accept(normal)) == "A"


def test_a_replica_that_took_its_refusal_back_refuses_no_more() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("A"))
    reject(writer, story, "r2")
    writer.accept(story, "r2")
    reject(writer, story, "r3")
    assert writer.told(Refused) == []
