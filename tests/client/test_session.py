"""One session of a publisher: room, sending, acknowledgement, confirmation, resends."""

from __future__ import annotations

import pytest

from quorumcast.auth.digests import Digester
from quorumcast.client import session
from quorumcast.core.evidence import Weight
from quorumcast.core.limits import AGAIN_BYTES, MESSAGE_BYTES, TAIL_OVERHEAD_BYTES
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    AskBodies,
    Bodies,
    ConfirmedUpTo,
    Credit,
    HeldUpTo,
    Open,
    Publish,
    Status,
    StatusCode,
)
from quorumcast.core.outcomes import Acknowledged, Refused
from tests.broadcast.cast import said
from tests.client.bench import ALL, Writer
from tests.scenarios.story import CHANNEL, Story


def sent(ready: Ready, to: str) -> str:
    """The bodies that a turn publishes to one replica."""
    return "".join(body.decode() for each in said(ready, Publish, to) for body in each.bodies)


def reports(writer: Writer) -> list[tuple[int, int, int, bool]]:
    """Acknowledgements: first and last ticket, replicas, confirmed."""
    return [
        (each.first, each.last, each.replicas, each.confirmed) for each in writer.told(Acknowledged)
    ]


# -- room and sending --------------------------------------------------------------------------


def test_positions_are_given_once_q_replicas_have_credit() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("ABC"))
    ok = Status(story.stream, StatusCode.OK, 0)
    assert not sent(writer.say("r1", ok, Credit(story.stream, 9)), "r1")
    assert not sent(writer.say("r2", ok, Credit(story.stream, 9)), "r2")
    ready = writer.say("r3", ok, Credit(story.stream, 2))
    assert [sent(ready, replica) for replica in ALL.split()] == ["AB", "AB", "AB", ""]


def test_room_is_the_qth_highest_credit() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("ABCDEFGH"))
    for replica, through in (("r1", 8), ("r2", 5), ("r3", 3), ("r4", 0)):
        ready = writer.accept(story, replica, through)
    assert sent(ready, "r1") == ""
    assert len(writer.told(Acknowledged)) == 0
    ready = writer.say("r4", Credit(story.stream, 7))
    assert [sent(ready, replica) for replica in ALL.split()] == ["DE", "DE", "", "ABCDE"]


def test_every_replica_with_credit_is_sent_everything_once() -> None:
    writer = Writer()
    story = writer.begin("AB")
    for replica in ALL.split():
        assert not sent(writer.say(replica, Credit(story.stream, 200)), replica)
    ready = writer.publish("C")
    assert [sent(ready, replica) for replica in ALL.split()] == ["C"] * 4


def test_credit_of_one_replica_is_bounded_by_the_window() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("A"))
    ready = writer.accept(story, "r1 r2 r3", credit=2**60)
    assert sent(ready, "r1") == "A"
    ready = writer.publish("x" * 100)
    assert len(sent(ready, "r1")) == 20 - 1  # 2α beyond what was placed when credit came


def test_large_publications_go_in_several_messages() -> None:
    writer = Writer()
    writer.greet()
    bodies = [bytes([number]) * (MESSAGE_BYTES // 2 - 100) for number in range(5)]
    ready = writer.do(lambda machine: [machine.publish(CHANNEL, body) for body in bodies])
    ready = writer.accept(writer.story(ready))
    runs = said(ready, Publish, "r1")
    assert [(run.first, len(run.bodies)) for run in runs] == [(1, 2), (3, 2), (5, 1)]


def test_signed_channel_sends_signatures() -> None:
    writer = Writer(signed=True)
    writer.greet()
    story = writer.story(writer.publish("AB"))
    (message,) = said(writer.accept(story), Publish, "r2")
    assert message == story.publish("AB")
    assert len(message.signatures) == 128


# -- acknowledged and confirmed ----------------------------------------------------------------


def test_acknowledged_on_q_held_with_the_own_chain() -> None:
    writer = Writer()
    story = writer.begin("ABC")
    writer.say("r1", story.held_up_to("ABC"))
    writer.say("r2", story.held_up_to("AB"))
    assert reports(writer) == []
    writer.say("r3", story.held_up_to("A"))
    assert reports(writer) == [(1, 1, 3, False)]
    writer.say("r4", story.held_up_to("ABC"))
    assert reports(writer)[1:] == [(2, 2, 3, False)]
    writer.say("r3", story.held_up_to("ABC"))
    assert reports(writer)[2:] == [(3, 3, 3, False)]


def test_one_replica_that_repeats_itself_acknowledges_nothing() -> None:
    writer = Writer()
    story = writer.begin("AB")
    for _ in range(5):
        writer.say("r1", story.held_up_to("AB"))
        writer.say("r2", story.held_up_to("AB"))
    assert reports(writer) == []


@pytest.mark.parametrize("kind", [HeldUpTo, ConfirmedUpTo])
@pytest.mark.parametrize(("text", "position"), [("AX", 2), ("ABC", 3)])
def test_what_was_not_published_counts_for_nothing_and_is_evidence(
    kind: type[HeldUpTo | ConfirmedUpTo], text: str, position: int
) -> None:
    writer = Writer()
    story = writer.begin("AB")
    lie = kind(story.stream, position, story.position(text).chain)
    (found,) = writer.say("r4", lie).evidence
    assert (found.weight, found.parties) == (Weight.LOCAL, frozenset({"r4"}))
    assert found.second == lie
    writer.say("r1 r2", story.held_up_to("AB"))
    assert reports(writer) == []


def test_confirmed_on_f_plus_1() -> None:
    writer = Writer()
    story = writer.begin("ABC")
    writer.say("r1", story.confirmed("ABC"))
    assert reports(writer) == []
    writer.say("r2", story.confirmed("AB"))
    assert reports(writer) == [(1, 2, 2, True)]


def test_acknowledged_then_confirmed_each_once() -> None:
    writer = Writer()
    story = writer.begin("AB")
    writer.finish(story, "AB")
    writer.finish(story, "AB")
    assert reports(writer) == [(1, 2, 3, False), (1, 2, 2, True)]


def test_confirmed_of_a_replica_counts_as_its_held() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.say("r1", story.confirmed("A"))
    writer.say("r2 r3", story.held_up_to("A"))
    assert reports(writer) == [(1, 1, 3, False)]


def test_crash_channel_acknowledges_on_f_plus_1_holders() -> None:
    writer = Writer(3, 1, protocol="plain")
    story = writer.begin("A", replicas="r1 r2 r3")
    writer.say("r1", story.held_up_to("A"))
    assert reports(writer) == []
    writer.say("r2", story.held_up_to("A"))
    assert reports(writer) == [(1, 1, 2, False)]


def test_without_confirmation_acknowledged_is_the_end() -> None:
    writer = Writer(confirm=False)
    story = writer.begin("A")
    writer.say("r1 r2 r3", story.held_up_to("A"))
    assert reports(writer) == [(1, 1, 3, False)]
    assert not said(writer.until(60.0), Publish)


# -- repeating ---------------------------------------------------------------------------------


def test_sends_again_until_q_acknowledge() -> None:
    writer = Writer()
    story = writer.begin("AB")
    writer.say("r1", story.held_up_to("AB"))
    ready = writer.until(5.0)
    assert sent(ready, "r2").startswith("AB")
    assert not sent(ready, "r1")
    writer.say("r2 r3", story.held_up_to("AB"))
    writer.until(6.0)
    assert not sent(writer.until(30.0), "r4")


def test_nothing_is_sent_when_all_is_confirmed() -> None:
    writer = Writer()
    story = writer.begin("AB")
    writer.finish(story, "AB")
    assert not writer.until(120.0).messages


def test_replica_that_was_away_is_opened_at_and_sent_what_it_lacks() -> None:
    writer = Writer()
    story = writer.begin("AB", replicas="r1 r2 r3")
    (message, *_) = said(writer.link("r4"), Open, "r4")
    assert (message.stream, message.opening) == (story.stream, story.opening)
    assert sent(writer.accept(story, "r4"), "r4") == "AB"


def test_lost_link_is_resumed_after_what_the_replica_held() -> None:
    writer = Writer()
    story = writer.begin("ABC")
    writer.say("r1", story.held_up_to("AB"))
    writer.unlink("r1")
    ready = writer.greet("r1")
    assert not sent(ready, "r1")  # no credit yet on this link
    assert sent(writer.accept(story, "r1"), "r1") == "C"


@pytest.mark.parametrize("code", [StatusCode.WAIT, StatusCode.BLOCKED])
def test_wait_and_blocked_take_credit_back_until_there_is_more(code: StatusCode) -> None:
    writer = Writer()
    story = writer.begin("ABCD")
    ready = writer.say("r1", Status(story.stream, code, 2))
    assert not sent(ready, "r1")
    ready = writer.publish("E")
    assert [sent(ready, replica) for replica in ALL.split()] == ["", "E", "E", "E"]
    assert sent(writer.say("r1", Credit(story.stream, 50)), "r1") == "CDE"


# -- rejected ----------------------------------------------------------------------------------


def test_refused_on_f_plus_1_equal_rejections_only() -> None:
    writer = Writer()
    story = writer.begin("A")

    def reject(replica: str, reason: str) -> Ready:
        return writer.say(replica, Status(story.stream, StatusCode.REJECTED, 0, reason))

    (found,) = reject("r4", "no").evidence
    assert (found.weight, found.parties) == (Weight.SUSPICION, frozenset({"r4"}))
    reject("r4", "no")
    reject("r3", "never")
    assert writer.told(Refused) == []
    reject("r2", "no")
    assert [each.reason for each in writer.told(Refused)] == ["no"]
    reject("r1", "no")
    assert len(writer.told(Refused)) == 1


# -- serving replicas --------------------------------------------------------------------------


def test_bodies_are_served_until_they_are_confirmed() -> None:
    writer = Writer()
    story = writer.begin("ABC")
    ask = story.ask_bodies("BC", first=2)
    assert said(writer.say("r3", ask), Bodies, "r3") == [story.bodies("BC", first=2)]
    writer.finish(story, "AB")
    assert said(writer.say("r3", ask), Bodies, "r3") == [story.bodies("C", first=3)]
    writer.finish(story, "ABC")
    assert not writer.say("r3", ask).messages


def test_only_what_was_published_is_served() -> None:
    writer = Writer()
    story = writer.begin("AB")
    assert not writer.say("r4", story.ask_bodies("AX")).messages
    assert not writer.say("r4", story.ask_bodies("C", first=3)).messages
    assert not writer.say("r4", AskBodies(story.stream, 1, b"")).messages
    ready = writer.say("r4", story.ask_bodies("ABC"))
    assert said(ready, Bodies, "r4") == [story.bodies("AB")]


# -- a replica that is a little behind ----------------------------------------------------------


def behind(text: str, *, signed: bool = False) -> tuple[Writer, Story]:
    """Three replicas confirm; r4 took the first publication and has no credit for more."""
    writer = Writer(signed=signed)
    writer.greet()
    story = writer.story(writer.publish(text))
    writer.accept(story, "r1 r2 r3")
    writer.accept(story, "r4", credit=1)
    writer.say("r4", story.held_up_to(text[:1]))
    writer.say("r1 r2 r3", story.held_up_to(text), story.confirmed(text))
    return writer, story


@pytest.mark.parametrize("signed", [False, True])
def test_who_is_a_little_behind_is_sent_what_others_confirmed(signed: bool) -> None:
    writer, story = behind("ABC", signed=signed)
    ready = writer.say("r4", Credit(story.stream, 10))
    assert said(ready, Publish, "r4") == [story.publish("BC", first=2)]
    writer.publish("D")
    writer.say("r4", story.held_up_to("ABCD"))
    assert not said(writer.say("r4", Credit(story.stream, 20)), Publish, "r4")


def test_what_a_replica_holds_below_the_confirmed_position_counts() -> None:
    writer, story = behind("ABC")
    writer.say("r4", story.held_up_to("AB"))
    ready = writer.say("r4", Credit(story.stream, 10))
    assert said(ready, Publish, "r4") == [story.publish("C", first=3)]


def test_who_is_far_behind_fetches_it_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "TAIL_BYTES", 2 * (1 + TAIL_OVERHEAD_BYTES))
    writer, story = behind("ABCDEF")
    assert not sent(writer.say("r4", Credit(story.stream, 10)), "r4")
    assert sent(writer.publish("G"), "r4") == "G"


def test_a_replica_that_asks_again_and_again_is_sent_a_bounded_amount() -> None:
    writer = Writer()
    writer.greet()
    size = AGAIN_BYTES // 8
    ready = writer.do(lambda machine: machine.publish(CHANNEL, bytes(size)))
    story = writer.story(ready)
    writer.accept(story)
    digests = Digester(writer.cluster.id, story.stream).digests(1, [bytes(size)])
    ask = AskBodies(story.stream, 1, digests)
    ready = writer.say("r4", *[ask] * 100)
    assert len(said(ready, Bodies, "r4")) == 8
    assert not said(writer.say("r4", ask), Bodies, "r4")
    assert len(said(writer.say("r3", ask), Bodies, "r3")) == 1
    writer.until(10.0)
    assert said(writer.say("r4", ask), Bodies, "r4")


def test_a_replica_that_takes_its_credit_back_for_ever_is_sent_a_bounded_amount() -> None:
    writer = Writer()
    writer.greet()
    size = AGAIN_BYTES // 8
    ready = writer.do(lambda machine: machine.publish(CHANNEL, bytes(size)))
    story = writer.story(ready)
    writer.accept(story)
    lie = [Status(story.stream, StatusCode.BLOCKED, 0), Credit(story.stream, 9)]
    times = sum(len(said(writer.say("r4", *lie), Publish, "r4")) for _ in range(100))
    assert times == 8


def test_nothing_confirmed_is_sent_twice_on_a_link() -> None:
    writer, story = behind("ABC")
    lie = [Status(story.stream, StatusCode.BLOCKED, 0), Credit(story.stream, 9)]
    assert sent(writer.say("r4", *lie), "r4") == "BC"
    assert not sent(writer.say("r4", *lie), "r4")


def test_nothing_is_kept_for_a_replica_that_takes_nothing() -> None:
    writer, story = behind("A")
    writer.say("r4", Status(story.stream, StatusCode.WAIT, 1, "it has its publishers"))
    writer.publish("BC")
    writer.say("r1 r2 r3", story.held_up_to("ABC"), story.confirmed("ABC"))
    assert writer.machine._means.kept == 0
