"""What a replica drops, when, and what it goes on remembering."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Retention
from quorumcast.core.ids import Incarnation, Opening
from quorumcast.core.messages import ConfirmedUpTo, FloorAt, Held, Publish
from quorumcast.core.records import Accepted, Closed, Floored, Forgotten
from tests.broadcast.cast import said, statements, stored
from tests.broker.bench import Bench
from tests.scenarios.story import CHANNEL, Story

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def grow(bench: Bench, story: Story, upto: int, step: int = 2, pause: float = 1.0) -> None:
    """Publish and confirm the alphabet in steps, with time between them."""
    entry = bench.entry(story)
    have = entry.head if entry is not None else 0
    publisher = story.stream.publisher
    for first in range(have + 1, upto + 1, step):
        last = min(first + step - 1, upto)
        bench.say(publisher, story.publish(LETTERS[first - 1 : last], first))
        bench.confirm(story, LETTERS[:last])
        bench.until(bench.now + pause)


# -- confirmed prefixes ------------------------------------------------------------------------


def test_nothing_goes_while_there_is_room() -> None:
    bench = Bench(retention=Retention(events=26))
    story = bench.opens()
    grow(bench, story, 26)
    assert not stored(bench.until(100.0), Floored)
    assert bench.holds(story) == LETTERS


def test_oldest_go_when_there_are_too_many_and_the_floor_carries_its_chain() -> None:
    bench = Bench(retention=Retention(events=10))
    story = bench.opens()
    grow(bench, story, 20)
    bench.until(60.0)
    assert bench.holds(story) == LETTERS[10:20]
    entry = bench.entry(story)
    assert entry is not None
    assert entry.floor == story.position(LETTERS[:10])
    assert entry.floor_confirmed


def test_too_many_are_counted_over_all_streams_of_the_channel() -> None:
    bench = Bench(retention=Retention(events=10))
    old, new = bench.opens("old"), bench.opens("new")
    grow(bench, old, 8)
    grow(bench, new, 8)
    bench.until(60.0)
    assert len(bench.holds(old)) + len(bench.holds(new)) <= 10
    assert bench.holds(new) == LETTERS[:8]


def test_oldest_go_when_they_are_too_large() -> None:
    bench = Bench(retention=Retention(bytes=10_000))
    story = bench.opens()
    for first in range(1, 7):
        bench.say("probe", Publish(story.stream, first, (b"%d" % first * 3000,)))
        entry = bench.entry(story)
        assert entry is not None
        assert entry.active is not None
        bench.say("r2 r3", ConfirmedUpTo(story.stream, *entry.active.path.tip))
        bench.until(bench.now + 10.0)
    assert bench.store.streams[story.stream].base.seq == 3


def test_old_ones_go_by_age() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.opens()
    grow(bench, story, 4, pause=50.0)
    grow(bench, story, 6)
    bench.until(130.0)
    assert bench.holds(story) == LETTERS[2:6]
    bench.until(300.0)
    assert bench.holds(story) == ""
    entry = bench.entry(story)
    assert entry is not None
    assert (entry.head, entry.confirmed.seq, entry.floor.seq) == (6, 6, 6)


def test_stream_goes_on_after_all_of_it_was_dropped() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.opens()
    grow(bench, story, 4)
    bench.until(300.0)
    bench.restart()
    bench.link("probe")
    bench.say("probe", story.open(), story.publish("E", first=5))
    assert bench.holds(story) == "E"
    bench.confirm(story, "ABCDE")
    assert bench.store.streams[story.stream].confirmed.seq == 5


def test_stream_at_rest_is_cut_without_being_read() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.past("probe", 1, "ABC")
    bench.shelve(story)
    ready = bench.until(200.0)
    assert stored(ready, Floored) == [Floored(story.stream, *story.position("ABC"), confirmed=True)]
    assert not ready.reads


def test_stored_streams_count_from_the_restart() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0, events=5))
    bench.past("a", 1, "ABC")
    bench.past("b", 1, "ABC")
    bench.restart()
    bench.until(6.0)
    assert [bench.holds(bench.story(name)) for name in ("a", "b")] == ["", "ABC"]


# -- unconfirmed -------------------------------------------------------------------------------


def aged(*, at_rest: bool = False) -> tuple[Bench, Story]:
    """A stream with AB confirmed and CD not, older than the retention age."""
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.past("probe", 1, "AB")
    bench.say("probe", story.publish("CD", first=3))
    if at_rest:
        bench.shelve(story)
    bench.until(120.0)
    return bench, story


@pytest.mark.parametrize("at_rest", [False, True])
def test_unconfirmed_go_by_age_bodies_go_votes_stay(at_rest: bool) -> None:
    bench, story = aged(at_rest=at_rest)
    assert bench.holds(story) == ".."
    state = bench.store.streams[story.stream]
    assert state.closed
    assert not state.floor_confirmed
    assert (state.confirmed.seq, state.floor.seq, state.head) == (2, 4, 4)


def test_unconfirmed_never_go_by_number_or_size() -> None:
    bench = Bench(retention=Retention(events=2, bytes=2))
    story = bench.opens()
    bench.say("probe", story.publish("ABCDEFGH"))
    assert not stored(bench.until(60.0), Floored)
    assert bench.holds(story) == "ABCDEFGH"


def test_closed_stream_gets_no_vote_on_any_path() -> None:
    bench, story = aged()
    bench.say("probe", story.publish("E", first=5))
    bench.say("r2 r3 r4", story.held("CDE", first=3))
    ready = bench.until(130.0)
    assert not stored(ready, Accepted)
    ready = bench.say("r2", story.bodies("CDE", first=3))
    assert not stored(ready, Accepted)
    assert bench.store.streams[story.stream].head == 4


def test_closed_stream_goes_on_stating_its_votes_without_bodies() -> None:
    bench, story = aged()
    bench.link("screen")
    ready = bench.say("screen", story.ask_votes(1))
    assert said(ready, Held, "screen") == [story.held("CD", first=3)]
    assert said(ready, FloorAt, "screen") == [story.open_floor(4)]
    ready = bench.say("screen", story.ask_bodies("CD", first=3))
    assert ready.messages["screen"] == [story.open_floor(4)]


def test_age_runs_from_the_oldest_unconfirmed_and_newer_ones_do_not_put_it_off() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.opens()
    for first in range(1, 13):
        bench.say("probe", story.publish(LETTERS[first - 1], first))
        bench.until(bench.now + 10.0)
    assert bench.store.streams[story.stream].closed


def test_confirmation_in_time_keeps_the_stream_open() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.until(90.0)
    bench.confirm(story, "AB")
    bench.until(120.0)
    assert not bench.store.streams[story.stream].closed


def test_closing_is_recorded_before_the_floor() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    ready = bench.until(120.0)
    ends = [each for each in ready.records if isinstance(each, Closed | Floored)]
    assert ends == [Closed(story.stream), Floored(story.stream, 1, bytes(32), confirmed=False)]


# -- forgetting --------------------------------------------------------------------------------


def test_stream_is_remembered_while_its_session_names_a_valid_life() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.past("probe", 1)
    assert not stored(bench.until(500.0), Forgotten)
    assert bench.entry(story) is not None


def rotated() -> tuple[Bench, Story]:
    """A stream whose session names a life that was replaced long ago."""
    bench = Bench(retention=Retention(age_seconds=100.0))
    story = bench.past("probe", 1)
    for counter, time in ((2, 80.0), (3, 200.0)):
        bench.until(time)
        bench.replica.renew(Incarnation(counter, 5))
        bench.turn()
    return bench, story


def test_stream_is_forgotten_when_no_life_that_it_names_is_valid() -> None:
    bench, story = rotated()
    assert stored(bench.until(210.0), Forgotten) == [Forgotten(story.stream)]
    assert bench.entry(story) is None
    assert story.stream not in bench.store.streams
    assert not bench.replica.desks[CHANNEL].shelf.per_publisher


def test_forgotten_session_gets_no_vote_when_it_is_opened_again() -> None:
    bench, story = rotated()
    bench.until(210.0)
    bench.say("probe", story.open())
    ready = bench.say("probe", story.publish("X"))
    assert not ready.records
    assert not any(statements(ready, peer) for peer in ("r2", "r3", "r4"))


def test_unconfirmed_session_of_another_life_is_forgotten_after_its_age() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    lives = (Incarnation(0, 9), *bench.lives[1:])
    story = Story(bench.cluster, Opening("probe", 1, lives))
    bench.link("probe")
    bench.say("probe", story.open())
    bench.say("r2 r3", story.confirmed("AB"), story.held("AB"))
    bench.until(1.0)
    bench.say("r2", story.bodies("AB"))
    assert bench.holds(story) == "AB"
    assert stored(bench.until(150.0), Forgotten) == [Forgotten(story.stream)]
