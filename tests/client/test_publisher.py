"""The publisher machine: lanes, sessions and their ends, the journal."""

from __future__ import annotations

from itertools import pairwise

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Incarnation, Lane, Position, Stream
from quorumcast.core.limits import (
    BODY_BYTES,
    HANDOVER_SECONDS,
    OPEN_BACKOFF_SECONDS,
    SESSION_QUIET_SECONDS,
    SESSIONS_UNCONFIRMED,
)
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Hello, Open, Publish, Release, Status, StatusCode
from quorumcast.core.outcomes import Acknowledged, OutcomeUnknown, Ticket
from quorumcast.core.records import (
    Placed,
    SessionConfirmed,
    SessionEnded,
    SessionOpened,
    SessionState,
)
from tests.broadcast.cast import said
from tests.client.bench import ALL, Writer
from tests.scenarios.story import CHANNEL, Story


def opened(ready: Ready, to: str = "r1") -> list[Open]:
    """The different sessions that a turn opens at one replica."""
    return list(dict.fromkeys(said(ready, Open, to)))


def sent(ready: Ready, to: str = "r1") -> str:
    """The bodies that a turn publishes to one replica."""
    return "".join(body.decode() for each in said(ready, Publish, to) for body in each.bodies)


# -- local calls -------------------------------------------------------------------------------


def test_tickets_count_per_channel_and_lane() -> None:
    machine = Writer().machine
    numbers = [machine.publish(CHANNEL, b"x", lane).number for lane in (0, 0, 1, 0, 1)]
    assert numbers == [1, 2, 1, 3, 2]
    assert machine.publish(CHANNEL, b"x") == Ticket(CHANNEL, Lane.NORMAL, 4)


def test_wrong_calls_are_told_what_is_possible() -> None:
    machine = Writer().machine
    with pytest.raises(ConfigError, match=f"no channel weather; there are: {CHANNEL}"):
        machine.publish("weather", b"x")
    with pytest.raises(ConfigError, match="too large"):
        machine.publish(CHANNEL, bytes(BODY_BYTES + 1))


def test_nothing_is_opened_before_there_is_something_to_publish() -> None:
    writer = Writer()
    assert not writer.greet().messages
    assert not writer.until(60.0).messages


# -- opening -----------------------------------------------------------------------------------


def test_session_is_opened_once_q_replicas_have_shown_themselves() -> None:
    writer = Writer()
    writer.publish("A")
    assert not said(writer.greet("r1 r2"), Open)
    (message,) = opened(writer.greet("r3"))
    assert message.opening.publisher == "probe"
    assert message.opening.incarnations[:3] == tuple(writer.lives[:3])


def test_higher_of_shown_and_reported_by_f_plus_1_is_named() -> None:
    writer = Writer()
    writer.link(ALL)
    known = [*writer.lives]
    newer = Incarnation(9, 9)
    writer.publish("A")
    writer.say("r1", Hello(writer.lives[0], (*known[:3], newer)))
    writer.say("r2", Hello(writer.lives[1], (*known[:2], Incarnation(9, 1), newer)))
    (message,) = opened(writer.say("r3", Hello(writer.lives[2], tuple(known))))
    named = message.opening.incarnations
    assert named[2] == writer.lives[2]  # one report is nobody's word
    assert named[3] == newer  # two are f+1


def test_equal_publications_of_two_starts_have_different_sessions() -> None:
    first, second = Writer(), Writer()
    second.machine._entropy = iter([77]).__next__
    streams = []
    for writer in (first, second):
        writer.greet()
        streams.append(writer.story(writer.publish("A")).stream)
    assert streams[0] != streams[1]


def test_lanes_have_sessions_of_their_own() -> None:
    writer = Writer()
    writer.greet()
    slow = writer.story(writer.publish("A"))
    fast = writer.story(writer.publish("U", Lane.URGENT))
    assert (slow.stream.lane, fast.stream.lane) == (Lane.NORMAL, Lane.URGENT)
    ready = writer.accept(fast)
    assert sent(ready) == "U"


def test_only_replicas_are_listened_to() -> None:
    writer = Writer()
    story = writer.begin("A")
    ready = writer.say("mallory", story.held_up_to("A"))
    assert [each.reason for each in ready.rejections] == ["not a replica"]
    ready = writer.say("r4", story.held("A"))
    assert [each.reason for each in ready.rejections] == ["Held is not for a publisher"]


def test_word_about_a_session_that_is_not_open_is_ignored() -> None:
    writer = Writer()
    story = writer.begin("A")
    other = Story(writer.cluster, story.opening, lane=Lane.URGENT)
    ready = writer.say(ALL, other.held_up_to("A"), other.confirmed("A"))
    assert not ready.acknowledgements
    assert not ready.evidence


# -- a new session -----------------------------------------------------------------------------


def test_new_life_of_a_replica_opens_a_new_session_after_the_old_one_is_confirmed() -> None:
    writer = Writer()
    story = writer.begin("AB")
    ready = writer.wipe("r4")
    writer.publish("C")
    assert not [each for each in opened(ready) if each.stream != story.stream]
    assert not sent(writer.until(5.0), "r1").endswith("C")  # order survives

    ready = writer.finish(story, "AB")
    (message,) = opened(ready)
    assert message.opening.incarnations == tuple(writer.lives)
    fresh = writer.story(ready)
    assert fresh.stream != story.stream
    assert sent(writer.accept(fresh)) == "C"
    writer.say("r1 r2 r3", fresh.held_up_to("C"))
    assert writer.told(Acknowledged)[-1].last == 3


def test_idle_publisher_opens_no_session_for_a_new_life() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.finish(story, "A")
    assert not said(writer.wipe("r4"), Open)
    assert len(opened(writer.publish("B"))) == 1


def test_lower_life_is_no_reason() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.finish(story, "A")
    old = Incarnation(0, 1)
    writer.say("r4", Hello(old, tuple(writer.lives)))
    assert sent(writer.publish("B")) == "B"


def test_sessions_because_of_one_replica_come_with_doubling_pauses() -> None:
    writer = Writer()
    sessions: dict[Stream, float] = {}
    published: dict[Stream, str] = {}
    story = writer.begin("A")
    published[story.stream] = "A"
    writer.finish(story, "A")
    while writer.now < 40.0:
        writer.wipe("r4")
        for turn in (writer.publish("x"), writer.until(writer.now + 0.1)):
            text = published.get(story.stream, "") + sent(turn)
            for message in opened(turn):
                if message.stream not in sessions and message.stream != story.stream:
                    sessions[message.stream] = writer.now
                    story = writer.story(turn)
                    text = sent(writer.accept(story, credit=10_000))
            published[story.stream] = text
            if text:
                writer.finish(story, text)
    times = list(sessions.values())
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert times[0] < 0.2
    assert len(times) == 6  # at 0, 1, 3, 7, 15 and 31 seconds
    assert pauses[0] >= OPEN_BACKOFF_SECONDS - 0.2
    assert all(later >= 1.8 * earlier for earlier, later in pairwise(pauses))


def test_closed_by_a_replica_opens_a_new_session() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.finish(story, "A")
    writer.say("r4", Status(story.stream, StatusCode.CLOSED, 1, "aged out"))
    (message,) = opened(writer.publish("B"))
    assert message.stream != story.stream


def test_handover_that_takes_too_long_leaves_the_outcome_unknown() -> None:
    writer = Writer()
    story = writer.begin("ABC")
    writer.say("r1 r2 r3", story.held_up_to("A"))
    writer.wipe("r4")
    writer.publish("D")
    writer.until(HANDOVER_SECONDS - 1.0)
    assert writer.told(OutcomeUnknown) == []
    ready = writer.until(HANDOVER_SECONDS + 1.0)
    assert writer.told(OutcomeUnknown) == [OutcomeUnknown(CHANNEL, Lane.NORMAL, 2, 3)]
    fresh = [each for each in opened(ready) if each.stream != story.stream]
    assert len(fresh) == 1


def test_acknowledged_session_is_left_without_an_unknown_outcome() -> None:
    writer = Writer()
    story = writer.begin("AB")
    writer.say("r1 r2 r3", story.held_up_to("AB"))
    writer.wipe("r4")
    writer.publish("C")
    ready = writer.until(HANDOVER_SECONDS + 1.0)
    assert writer.told(OutcomeUnknown) == []
    assert len({each.stream for each in opened(ready)} - {story.stream}) == 1


def test_a_session_that_was_left_is_finished_all_the_same() -> None:
    writer = Writer()
    story = writer.begin("AB")
    writer.wipe("r4")
    writer.publish("C")
    writer.until(HANDOVER_SECONDS + 1.0)
    ask = story.ask_bodies("AB")
    assert writer.say("r2", ask).messages
    writer.finish(story, "AB")
    assert [each.confirmed for each in writer.told(Acknowledged)] == [False, True]
    assert not writer.say("r2", ask).messages


def test_fewer_than_m_sessions_are_unconfirmed_at_a_time() -> None:
    writer = Writer()
    sessions: dict[object, float] = {}
    writer.greet()
    while writer.now < 400.0:
        writer.publish("x")
        ready = writer.until(writer.now + 1.0)
        for message in opened(ready):
            if message.stream not in sessions:
                sessions[message.stream] = writer.now
                writer.accept(Story(writer.cluster, message.opening))
                writer.wipe("r4")
    assert len(sessions) > SESSIONS_UNCONFIRMED
    starts = list(sessions.values())
    for start in starts:
        alive = [
            each
            for each in starts
            if each <= start < each + HANDOVER_SECONDS + SESSION_QUIET_SECONDS
        ]
        assert len(alive) <= SESSIONS_UNCONFIRMED


# -- giving way --------------------------------------------------------------------------------


def test_short_of_a_quorum_places_are_given_up() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("A"))
    writer.accept(story, "r1 r2", credit=0)
    writer.say("r3 r4", Status(story.stream, StatusCode.WAIT, 0, "has them"))
    released: list[str] = []
    while not released and writer.now < 60.0:
        ready = writer.until(writer.now + 0.5)
        released = [to for to in ready.messages if said(ready, Release, to)]
        writer.say("r3 r4", Status(story.stream, StatusCode.WAIT, 0, "has them"))
    assert released == ALL.split()


def test_places_are_not_given_up_once_something_was_published() -> None:
    writer = Writer()
    story = writer.begin("A")
    writer.say("r3 r4", Status(story.stream, StatusCode.WAIT, 1, "no share"))
    writer.publish("x" * 200)
    assert not said(writer.until(30.0), Release)


# -- the journal -------------------------------------------------------------------------------


def test_journal_stores_before_anything_is_sent() -> None:
    writer = Writer(journal=True)
    writer.greet()
    ready = writer.publish("AB")
    story = writer.story(ready)
    assert ready.records == [SessionOpened(story.stream, story.opening)]
    ready = writer.accept(story)
    assert ready.records == [Placed(story.stream, 1, (b"A", b"B"))]
    assert sent(ready) == "AB"
    ready = writer.finish(story, "AB")
    assert ready.records == [SessionConfirmed(story.stream, *story.position("AB"))]


def test_without_a_journal_nothing_is_stored() -> None:
    writer = Writer()
    writer.finish(writer.begin("AB"), "AB")
    assert writer.records == []


def resumed(writer: Writer, story: Story, confirmed: str, bodies: str) -> Writer:
    """A publisher that starts again with what its journal kept."""
    base = story.position(confirmed) if confirmed else Position(0, bytes(32))
    kept = SessionState(story.stream, story.opening, base, tuple(b.encode() for b in bodies))
    again = Writer(journal=True, kept=[kept])
    again.machine._entropy = iter(range(50, 60)).__next__
    again.lives = writer.lives
    return again


def test_old_session_is_finished_first_then_a_new_one_is_opened() -> None:
    story = Writer(journal=True).begin("ABC")
    writer = resumed(Writer(), story, "A", "BC")
    ticket = writer.machine.publish(CHANNEL, b"D")
    assert ticket.number == 3  # of this start: the journal's B and C were 1 and 2
    ready = writer.link(ALL)
    assert [each.stream for each in opened(ready)] == [story.stream]
    writer.greet()
    assert sent(writer.accept(story)) == "BC"
    ready = writer.finish(story, "ABC")
    assert [(each.first, each.last, each.confirmed) for each in writer.told(Acknowledged)] == [
        (1, 2, False),
        (1, 2, True),
    ]
    assert SessionEnded(story.stream) in writer.records
    fresh = writer.story(ready)
    assert fresh.stream != story.stream
    assert sent(writer.accept(fresh)) == "D"


def test_resumed_session_from_the_first_position_is_the_same_stream() -> None:
    story = Writer(journal=True).begin("AB")
    writer = resumed(Writer(), story, "", "AB")
    writer.greet()
    (run,) = said(writer.accept(story), Publish, "r1")
    assert run == story.publish("AB")
    writer.say("r1 r2 r3", story.held_up_to("AB"))
    assert writer.told(Acknowledged)[0].position == 2


def test_old_session_that_cannot_be_finished_is_left_after_a_time() -> None:
    story = Writer(journal=True).begin("AB")
    writer = resumed(Writer(), story, "", "AB")
    writer.greet()
    writer.publish("C")
    writer.until(HANDOVER_SECONDS + 1.0)
    assert writer.told(OutcomeUnknown) == [OutcomeUnknown(CHANNEL, Lane.NORMAL, 1, 2)]
    writer.until(HANDOVER_SECONDS + SESSION_QUIET_SECONDS + 5.0)
    assert SessionEnded(story.stream) in writer.records
