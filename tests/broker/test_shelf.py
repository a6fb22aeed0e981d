"""Streams at work, at rest and known by hearsay; the listing of what changed."""

from __future__ import annotations

import pytest

from quorumcast.core.ids import Lane
from quorumcast.core.limits import LOADING_MESSAGES, SESSIONS_UNCONFIRMED
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    AskHeads,
    AskOpening,
    AskVotes,
    ConfirmedUpTo,
    Heads,
    HeldUpTo,
    OpeningOf,
    Status,
    StatusCode,
)
from quorumcast.core.records import ReadStream
from tests.broadcast.cast import said
from tests.broker.bench import Bench
from tests.scenarios.story import CHANNEL, Story


def known(bench: Bench) -> int:
    """How many streams the replica knows."""
    return len(bench.replica.desks[CHANNEL].shelf.entries)


# -- hearsay -----------------------------------------------------------------------------------


def test_streams_of_one_publisher_on_a_peers_word_are_m_and_the_latest() -> None:
    bench = Bench()
    stories = [bench.story("probe", nonce) for nonce in range(SESSIONS_UNCONFIRMED + 3)]
    for story in stories:
        bench.say("r4", story.held("A"))
    assert [story in stories[3:] for story in stories] == [
        bench.entry(story) is not None for story in stories
    ]


def test_speaking_again_of_a_stream_makes_it_the_latest() -> None:
    bench = Bench()
    stories = [bench.story("probe", nonce) for nonce in range(SESSIONS_UNCONFIRMED)]
    for story in (*stories, stories[0], bench.story("probe", 99)):
        bench.say("r4", story.held("A"))
    assert bench.entry(stories[0]) is not None
    assert bench.entry(stories[1]) is None


def test_lanes_and_peers_have_accounts_of_their_own() -> None:
    bench = Bench()
    for nonce in range(SESSIONS_UNCONFIRMED):
        bench.say("r4", bench.story("probe", nonce).held("A"))
        bench.say("r4", bench.story("probe", nonce, lane=Lane.URGENT).held("A"))
        bench.say("r3", bench.story("probe", 50 + nonce).held("A"))
    assert known(bench) == 3 * SESSIONS_UNCONFIRMED


def test_stream_that_two_peers_speak_of_outlives_one_account() -> None:
    bench = Bench()
    story = bench.story("probe", 1)
    bench.say("r3 r4", story.held("A"))
    for nonce in range(10, 20):
        bench.say("r4", bench.story("probe", nonce).held("A"))
    assert bench.entry(story) is not None
    bench.say("r2", story.held("A"))  # r3 and r2 are f+1; what r4 said of it is forgotten
    assert said(bench.until(1.0), AskOpening, "r3")


def test_streams_on_a_peers_word_are_bounded_over_all_publishers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorumcast.broker.hearsay.FOREIGN_STREAMS_PER_PEER", 10)
    bench = Bench()
    for number in range(50):
        bench.say("r4", bench.story(f"p{number}").held("A"))
    assert known(bench) == 10
    assert bench.entry(bench.story("p49")) is not None


def test_a_peer_does_not_drive_out_what_a_publisher_opened() -> None:
    bench = Bench()
    story = bench.opens()
    for nonce in range(10, 30):
        bench.say("r4", bench.story("probe", nonce).held("A"))
    bench.say("probe", story.publish("A"))
    assert bench.holds(story) == "A"


def test_publisher_that_opens_many_keeps_the_latest() -> None:
    bench = Bench()
    stories = [bench.opens("probe", nonce) for nonce in range(10)]
    assert known(bench) == SESSIONS_UNCONFIRMED
    (status,) = said(bench.say("probe", stories[0].publish("A")), Status)
    assert status.code is StatusCode.WAIT
    bench.say("probe", stories[-1].publish("A"))
    assert bench.holds(stories[-1]) == "A"


def test_stream_with_a_vote_is_on_nobodys_account() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    for nonce in range(10, 20):
        bench.opens("probe", nonce)
    assert bench.entry(story) is not None


def test_client_that_leaves_takes_its_unused_streams_with_it() -> None:
    bench = Bench()
    unused, used = bench.opens("probe", 1), bench.opens("probe", 2)
    bench.say("probe", used.publish("A"))
    bench.unlink("probe")
    assert bench.entry(unused) is None
    assert bench.entry(used) is not None


# -- rest --------------------------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A replica that keeps two idle streams at work."""
    monkeypatch.setattr("quorumcast.broker.shelf.ACTIVE_STREAMS", 2)
    return Bench()


def rested(bench: Bench, text: str = "ABC") -> Story:
    """A stream at rest, with three others after it."""
    story = bench.past("probe", 1, text)
    for nonce in range(2, 5):
        bench.past("probe", nonce)
    entry = bench.entry(story)
    assert entry is not None
    assert entry.active is None
    return story


def test_oldest_idle_streams_go_to_rest(small: Bench) -> None:
    stories = [small.past("probe", nonce) for nonce in range(6)]
    work = [bool(entry and entry.active) for entry in map(small.entry, stories)]
    assert work == [False] * 4 + [True] * 2


def test_unconfirmed_stream_does_not_rest(small: Bench) -> None:
    story = small.opens("probe", 99)
    small.say("probe", story.publish("A"))
    for nonce in range(6):
        small.past("other", nonce)
    entry = small.entry(story)
    assert entry is not None
    assert entry.active is not None


def test_stream_at_rest_answers_what_is_confirmed_without_a_read(small: Bench) -> None:
    story = rested(small)
    ready = small.say("r2", story.held("AB"))
    assert said(ready, ConfirmedUpTo, "r2") == [story.confirmed("ABC")]
    assert said(small.say("r3", story.ready("ABC")), ConfirmedUpTo, "r3")
    assert not small.say("r4", story.confirmed("AB")).messages.get("r4")
    assert small.at_work() == 2


def test_stream_at_rest_is_read_back_when_its_publisher_goes_on(small: Bench) -> None:
    story = rested(small)
    small.slow = True
    ready = small.say("probe", story.publish("D", first=4), story.publish("E", first=5))
    assert ready.reads == [ReadStream(story.stream)]
    assert not said(ready, HeldUpTo)
    ready = small.answer()
    assert said(ready, HeldUpTo, "probe") == [story.held_up_to("ABCDE")]
    assert small.holds(story) == "ABCDE"


def test_stream_at_rest_is_read_back_for_open_and_for_its_opening(small: Bench) -> None:
    story = rested(small)
    ready = small.say("probe", story.open())
    assert said(ready, Status, "probe") == [Status(story.stream, StatusCode.OK, 3)]
    other = small.story("probe", 2)
    small.link("screen")
    assert said(small.say("screen", other.ask_opening()), OpeningOf, "screen") == [
        other.opening_of()
    ]


def test_what_peers_say_beyond_it_wakes_a_stream_at_rest(small: Bench) -> None:
    story = rested(small)
    small.say("r2 r3", story.held("DE", first=4))
    small.until(small.now + 1.0)
    small.say("r2", story.bodies("DE", first=4))
    assert small.holds(story) == "ABCDE"


def test_messages_that_wait_for_a_read_are_bounded(small: Bench) -> None:
    story = rested(small)
    small.slow = True
    for _ in range(3):
        small.say("probe", *([story.open()] * LOADING_MESSAGES))
    entry = small.entry(story)
    assert entry is not None
    assert entry.loading is not None
    assert len(entry.loading) == LOADING_MESSAGES
    assert len(small.waiting) == 1
    assert len(said(small.answer(), Status, "probe")) == LOADING_MESSAGES


# -- listing -----------------------------------------------------------------------------------


def listed(ready: Ready, to: str) -> tuple[list[str], bool, int]:
    """Publishers on the one page of a turn, whether there is more, and its counter."""
    (page,) = said(ready, Heads, to)
    return [head.stream.publisher for head in page.heads], page.more, page.counter


def test_heads_list_streams_in_the_order_of_their_last_change() -> None:
    bench = Bench()
    for name in ("a", "b", "c"):
        bench.past(name, 1, "AB")
    bench.say("a", bench.story("a").publish("C", first=3))
    (page,) = said(bench.say("r2", AskHeads(CHANNEL, 0)), Heads, "r2")
    assert [head.stream.publisher for head in page.heads] == ["b", "c", "a"]
    assert page.heads[2] == bench.story("a").head(3, confirmed=2)
    assert not page.more


def test_heads_after_a_counter_are_those_that_changed_since() -> None:
    bench = Bench()
    bench.past("a", 1)
    _, _, counter = listed(bench.say("r2", AskHeads(CHANNEL, 0)), "r2")
    assert listed(bench.say("r2", AskHeads(CHANNEL, counter)), "r2") == ([], False, counter)
    bench.past("b", 1)
    assert listed(bench.say("r2", AskHeads(CHANNEL, counter)), "r2")[0] == ["b"]


def test_heads_come_in_pages_and_each_stream_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.broker.shelf.HEADS_PAGE", 3)
    bench = Bench()
    names = [f"p{number}" for number in range(10)]
    for name in names:
        bench.past(name, 1)
    for name in names[:4]:
        bench.past(name, 1, "AB")
    found: list[str] = []
    counter, more, pages = 0, True, 0
    while more:
        page, more, counter = listed(bench.say("r2", AskHeads(CHANNEL, counter)), "r2")
        assert len(page) <= 3
        found += page
        pages += 1
        assert pages < 20
    assert sorted(found) == sorted(names)


def test_streams_without_a_vote_are_not_listed() -> None:
    bench = Bench()
    bench.opens("a")
    bench.say("r4", bench.story("b").held("A"))
    assert listed(bench.say("r2", AskHeads(CHANNEL, 0)), "r2")[0] == []


def test_listing_stays_short_however_often_a_stream_changes() -> None:
    bench = Bench()
    story = bench.opens()
    text = ""
    for number in range(300):
        letter = chr(ord("A") + number % 26)
        text += letter
        bench.say("probe", story.publish(letter, first=number + 1))
        bench.confirm(story, text)
    assert len(bench.replica.desks[CHANNEL].shelf._order) < 100
    assert listed(bench.say("r2", AskHeads(CHANNEL, 0)), "r2")[0] == ["probe"]


def test_restarted_replica_lists_what_it_stored() -> None:
    bench = Bench()
    for name in ("a", "b"):
        bench.past(name, 1, "AB")
    bench.restart()
    (page,) = said(bench.say("r2", AskHeads(CHANNEL, 0)), Heads, "r2")
    assert list(page.heads) == [bench.story(name).head(2, confirmed=2) for name in ("a", "b")]
    assert bench.at_work() == 0
    ready = bench.say("r2", AskVotes(bench.story("a").stream, 1))
    assert said(ready, ConfirmedUpTo, "r2") == [bench.story("a").confirmed("AB")]
