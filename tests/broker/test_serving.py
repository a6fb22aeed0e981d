"""Answers to questions: who may ask, how often, and what is answered."""

from __future__ import annotations

import pytest

from quorumcast.auth.digests import Digester
from quorumcast.core.channel import Channel, Retention
from quorumcast.core.limits import PULLS_BURST, PULLS_PER_SECOND, READS_PER_CLIENT
from quorumcast.core.messages import (
    AskBodies,
    AskHeads,
    Bodies,
    ConfirmedUpTo,
    Digests,
    FloorAt,
    Heads,
    Held,
    OpeningOf,
    Publish,
)
from quorumcast.core.records import ReadRange
from tests.broadcast.cast import said, statements
from tests.broker.bench import Bench
from tests.scenarios.story import CHANNEL


def served(**settings: object) -> Bench:
    """A replica with a client that asks."""
    bench = Bench(**settings)
    bench.link("screen")
    return bench


# -- who and how often -------------------------------------------------------------------------


def test_client_without_the_right_to_read_is_not_answered() -> None:
    bench = Bench(subscribers=("desk-*",))
    story = bench.past("probe", 1, "AB")
    bench.link("screen")
    for message in (AskHeads(CHANNEL, 0), story.ask_votes(), story.ask_bodies("AB")):
        ready = bench.say("screen", message)
        assert "screen" not in ready.messages
        assert not ready.reads
        assert [each.reason for each in ready.rejections] == [f"screen may not read {CHANNEL}"]
    assert said(bench.say("r2", story.ask_votes()), ConfirmedUpTo, "r2")


def test_questions_beyond_the_rate_are_dropped_until_time_passes() -> None:
    bench = served()
    ask = AskHeads(CHANNEL, 0)
    ready = bench.say("screen", *([ask] * (PULLS_BURST + 500)))
    assert len(said(ready, Heads, "screen")) == PULLS_BURST
    assert not said(bench.say("screen", ask), Heads)
    bench.until(0.1)
    ready = bench.say("screen", *([ask] * 1000))
    assert len(said(ready, Heads, "screen")) == int(PULLS_PER_SECOND / 10)


def test_one_who_asks_too_much_takes_nothing_from_others() -> None:
    bench = served()
    bench.link("other")
    bench.say("screen", *([AskHeads(CHANNEL, 0)] * (PULLS_BURST + 1)))
    assert said(bench.say("other", AskHeads(CHANNEL, 0)), Heads, "other")
    assert said(bench.say("r2", AskHeads(CHANNEL, 0)), Heads, "r2")


def test_the_rate_is_one_for_all_channels() -> None:
    channels = tuple(Channel(name, publishers=("*",)) for name in (CHANNEL, "weather"))
    bench = served(channels=channels)
    bench.say("screen", *([AskHeads(CHANNEL, 0)] * PULLS_BURST))
    assert not said(bench.say("screen", AskHeads("weather", 0)), Heads)


def test_reads_under_way_are_bounded_per_party() -> None:
    bench = served()
    story = bench.past("probe", 1, "ABCDEFGHIJ")
    bench.link("other")
    bench.slow = True
    asks = [story.ask_bodies("ABC"[:length], 1) for length in (1, 2, 3)]
    asks += [AskBodies(story.stream, first, story.digests("X", first)) for first in range(2, 9)]
    ready = bench.say("screen", *asks)
    assert len(ready.reads) == READS_PER_CLIENT
    assert len(bench.say("other", story.ask_bodies("ABCDE")).reads) == 1
    bench.answer()
    assert len(bench.say("screen", *asks).reads) == READS_PER_CLIENT


def test_one_read_serves_all_who_ask_for_the_same() -> None:
    bench = served()
    story = bench.past("probe", 1, "AB")
    bench.slow = True
    ready = bench.say("screen r2 r3", story.ask_bodies("AB"))
    assert len(ready.reads) == 1
    ready = bench.answer()
    for party in ("screen", "r2", "r3"):
        assert said(ready, Bodies, party) == [story.bodies("AB")]


def test_question_about_an_unknown_stream_is_not_answered() -> None:
    bench = served()
    story = bench.story("nobody")
    asks = (story.ask_votes(), story.ask_bodies("A"), story.ask_opening(), story.ask_confirmed(1))
    ready = bench.say("screen", *asks, story.ask_digests(1, 2), story.follow(1, 9))
    assert "screen" not in ready.messages
    assert not ready.reads
    assert bench.entry(story) is None


# -- votes and confirmations -------------------------------------------------------------------


def test_votes_are_stated_from_the_position_asked_for() -> None:
    bench = served()
    story = bench.opens()
    bench.say("probe", story.publish("ABCDE"))
    bench.confirm(story, "AB")
    ready = bench.say("screen", story.ask_votes(4))
    assert statements(ready, "screen") == [story.confirmed("AB"), story.held("DE", 4)]
    ready = bench.say("screen", story.ask_votes(1))
    assert statements(ready, "screen") == [story.confirmed("AB"), story.held("CDE", 3)]


def test_ready_is_stated_with_the_votes() -> None:
    bench = served()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.say("r2 r3", story.held("AB"))
    ready = bench.say("screen", story.ask_votes())
    assert statements(ready, "screen") == [story.held("AB"), story.ready("AB")]


def test_confirmed_is_answered_for_exactly_the_position_asked_for() -> None:
    bench = served()
    story = bench.past("probe", 1, "ABCDE")
    for length in (1, 3, 5):
        ready = bench.say("screen", story.ask_confirmed(length))
        assert said(ready, ConfirmedUpTo, "screen") == [story.confirmed("ABCDE"[:length])]
    for position in (0, 6, 2**40):
        assert "screen" not in bench.say("screen", story.ask_confirmed(position)).messages


def test_crash_channel_states_votes_below_the_confirmed_position_too() -> None:
    bench = Bench(3, 1, protocol="plain")
    bench.link("screen")
    story = bench.opens()
    bench.say("probe", story.publish("ABC"))
    bench.say("r2", story.held("ABC"))
    bench.shelve(story)
    ready = bench.say("screen", story.ask_votes())
    assert story.held("ABC") in said(ready, Held, "screen")


# -- digests and bodies ------------------------------------------------------------------------


def test_digests_under_a_confirmation_come_from_the_store() -> None:
    bench = served()
    story = bench.past("probe", 1, "ABCDE")
    ready = bench.say("screen", story.ask_digests(2, 4))
    assert [type(each) for each in ready.reads] == [ReadRange]
    assert said(ready, Digests, "screen") == [story.digests_under("BCD", first=2)]
    ready = bench.say("screen", story.ask_digests(4, 99))
    assert said(ready, Digests, "screen") == [story.digests_under("DE", first=4)]


def test_digests_under_a_ready_are_those_of_its_content_not_of_the_vote() -> None:
    bench = served()
    story = bench.opens()
    bench.say("probe", story.publish("YX"))
    bench.say("r2 r3 r4", story.held("AB"))
    bench.until(1.0)
    ready = bench.say("screen", story.ask_digests(1, 2))
    assert said(ready, Digests, "screen") == [story.digests_under("AB")]


def test_digests_of_votes_that_nobody_is_ready_for_are_not_given() -> None:
    bench = served()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    assert "screen" not in bench.say("screen", story.ask_digests(1, 2)).messages


def test_bodies_are_those_with_the_digests_asked_for() -> None:
    bench = served()
    story = bench.past("probe", 1, "ABCDE")
    ready = bench.say("screen", story.ask_bodies("BXD", first=2))
    assert said(ready, Bodies, "screen") == [
        story.bodies("B", first=2),
        story.bodies("D", first=4),
    ]
    assert not said(bench.say("screen", story.ask_bodies("XYZ")), Bodies)


def test_bodies_of_votes_that_are_not_confirmed_are_served() -> None:
    bench = served()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    assert said(bench.say("r2", story.ask_bodies("AB")), Bodies, "r2") == [story.bodies("AB")]
    assert not bench.say("r2", story.ask_bodies("C", first=3)).reads


def test_answer_of_bodies_is_bounded_in_bytes() -> None:
    bench = served()
    story = bench.opens()
    digests = b""
    for first in range(1, 6):
        body = bytes([first]) * 400_000
        bench.say("probe", Publish(story.stream, first, (body,)))
        digests += Digester(bench.cluster.id, story.stream).digest(first, body)
    (answer,) = said(bench.say("screen", AskBodies(story.stream, 1, digests)), Bodies, "screen")
    assert len(answer.bodies) == 2


def test_signed_channel_serves_signatures_with_the_bodies() -> None:
    bench = served(signed=True)
    story = bench.past("probe", 1, "AB")
    (answer,) = said(bench.say("screen", story.ask_bodies("AB")), Bodies, "screen")
    assert answer.signatures == story.signatures("AB")


def test_whoever_states_something_serves_the_opening() -> None:
    bench = served()
    story = bench.past("probe", 1)
    for party in ("screen", "r2"):
        ready = bench.say(party, story.ask_opening())
        assert said(ready, OpeningOf, party) == [story.opening_of()]
    heard = bench.story("other")
    bench.say("r4", heard.held("A"))
    assert not said(bench.say("screen", heard.ask_opening()), OpeningOf)


# -- floors ------------------------------------------------------------------------------------


@pytest.fixture
def floored() -> Bench:
    """A replica that dropped ABC of ABCDEF."""
    bench = served(retention=Retention(events=3))
    bench.past("probe", 1, "ABC")
    bench.until(bench.now + 1.0)
    story = bench.story("probe", 1)
    bench.say("probe", story.publish("DEF", first=4))
    bench.confirm(story, "ABCDEF")
    bench.until(bench.now + 10.0)
    assert bench.holds(story) == "DEF"
    return bench


def test_what_is_below_the_floor_is_answered_with_the_floor(floored: Bench) -> None:
    story = floored.story("probe", 1)
    for message in (
        story.ask_bodies("BC", first=2),
        story.ask_confirmed(2),
        story.ask_digests(1, 5),
        story.ask_votes(1),
    ):
        ready = floored.say("screen", message)
        assert said(ready, FloorAt, "screen") == [story.floor("ABC")]
        assert not said(ready, Bodies)
        assert not said(ready, Digests)


def test_what_is_above_the_floor_is_served(floored: Bench) -> None:
    story = floored.story("probe", 1)
    ready = floored.say("screen", story.ask_bodies("DEF", first=4), story.ask_confirmed(4))
    assert said(ready, Bodies, "screen") == [story.bodies("DEF", first=4)]
    assert said(ready, ConfirmedUpTo, "screen") == [story.confirmed("ABCD")]
    assert not said(ready, FloorAt)


def test_confirmed_body_that_is_lost_is_below_the_floor() -> None:
    bench = served()
    story = bench.past("probe", 1, "ABC")
    slots = bench.store.streams[story.stream].slots
    slots[2] = slots[2]._replace(body=None)
    ready = bench.say("screen", story.ask_bodies("ABC"))
    assert said(ready, FloorAt, "screen") == [story.open_floor(2)]
    assert said(ready, Bodies, "screen") == [story.bodies("A"), story.bodies("C", first=3)]
