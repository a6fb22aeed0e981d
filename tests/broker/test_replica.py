"""The replica machine as a whole: start, dispatch, links, restart."""

from __future__ import annotations

import pytest

from quorumcast.broker.replica import Replica
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane
from quorumcast.core.messages import (
    AskHeads,
    Credit,
    Heads,
    Held,
    HeldUpTo,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
)
from quorumcast.core.records import Accepted, Incarnated, Opened, ReadStream, ReadStreams
from tests.broadcast.cast import said, statements, stored
from tests.broker.bench import LIVES, Bench, cluster
from tests.scenarios.story import CHANNEL

LIFE = Incarnated(((LIVES[0], 0.0),), ())


def test_nothing_is_taken_in_before_the_store_was_read() -> None:
    bench = Bench()
    story = bench.past("probe", 1)
    bench.slow = True
    ready = bench.raise_up()
    assert ready.reads == [ReadStreams(0, 1024)]
    bench.link("r2")
    bench.link("probe")
    assert "probe" not in bench.say("probe", story.open(), story.publish("B", 2)).messages
    assert not bench.say("r2", story.held("XY")).messages
    bench.slow = False
    bench.answer()
    assert said(bench.say("probe", story.open()), Status, "probe") == [
        Status(story.stream, StatusCode.OK, 1)
    ]


def test_stored_streams_are_read_in_pages() -> None:
    replica = Replica("r1", cluster(), [Channel(CHANNEL, publishers=("*",))], LIFE)
    replica.start()
    assert replica.ready().reads == [ReadStreams(0, 1024)]
    bench = Bench()
    state = bench.past("probe", 1)
    page = [bench.store.streams[state.stream].state(whole=False)] * 1024
    replica.loaded(ReadStreams(0, 1024), page)
    assert replica.ready().reads == [ReadStreams(1024, 1024)]
    replica.loaded(ReadStreams(1024, 1024), page[:1])
    assert not replica.ready().reads
    replica.linked("r2")
    replica.step("r2", bench.hello("r2"))
    replica.step("r2", AskHeads(CHANNEL, 0))
    assert said(replica.ready(), Heads, "r2")


def test_channel_that_cannot_work_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="lab"):
        Replica("r1", cluster(), [Channel(CHANNEL, confirm=False)], LIFE)


def test_streams_of_a_channel_that_is_gone_are_left_alone() -> None:
    bench = Bench()
    story = bench.past("probe", 1)
    bench.channels = (Channel("weather", publishers=("*",)),)
    bench.restart()
    assert not bench.say("r2", story.held("AB")).records
    assert bench.holds(story) == "A"


def test_message_about_a_channel_that_is_not_there_is_rejected() -> None:
    bench = Bench()
    story = bench.story(channel="weather")
    bench.link("screen")
    ready = bench.say("screen", story.ask_votes(), Subscribe("weather", 1, ("*",), 0, 1))
    assert {each.reason for each in ready.rejections} == {"there is no channel weather"}
    assert [type(each) for each in ready.messages["screen"]] == [SubscribeStatus]
    assert bench.say("r2", story.held("A")).rejections


def test_channels_are_apart() -> None:
    names = (CHANNEL, "weather")
    bench = Bench(channels=tuple(Channel(name, publishers=("*",)) for name in names))
    news, weather = bench.opens(), bench.opens(channel="weather")
    assert news.stream.session == weather.stream.session
    bench.say("probe", news.publish("A"), weather.publish("BC"))
    assert (bench.holds(news), bench.holds(weather)) == ("A", "BC")
    bench.confirm(weather, "BC")
    assert bench.store.streams[news.stream].confirmed.seq == 0


def test_lanes_are_apart() -> None:
    bench = Bench()
    slow, fast = bench.opens("probe", 1), bench.opens("probe", 1, lane=Lane.URGENT)
    bench.say("probe", fast.publish("U"), slow.publish("N"))
    assert (bench.holds(slow), bench.holds(fast)) == ("N", "U")


def test_a_turn_stores_what_it_says_before_it_says_it() -> None:
    bench = Bench(protocol="bracha")
    story = bench.opens()
    bench.replica.step("probe", story.publish("AB"))
    ready = bench.replica.ready()
    assert [type(each) for each in ready.records] == [Opened, Accepted]
    assert said(ready, Held, "r2") == [story.held("AB")]


def test_many_messages_of_a_turn_make_one_statement_a_receiver() -> None:
    bench = Bench(protocol="bracha")
    bench.subscribes()
    story = bench.opens()
    messages = [story.publish(letter, at) for at, letter in enumerate("ABCDEFGH", 1)]
    ready = bench.say("probe", *messages)
    for receiver in ("r2", "r3", "r4", "screen"):
        assert said(ready, Held, receiver) == [story.held("ABCDEFGH")]
    assert said(ready, HeldUpTo, "probe") == [story.held_up_to("ABCDEFGH")]


def test_restarted_replica_repeats_its_votes_and_casts_no_others() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.restart()
    assert story.held("AB") in statements(bench.until(1.0), "r2")
    bench.link("probe")
    bench.say("probe", story.open(), story.publish("XYC"))
    assert bench.holds(story) == "ABC"


def test_restarted_replica_goes_on_where_it_was() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("ABC"))
    bench.say("r2 r3", story.held("AB"))
    bench.restart()
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert said(ready, HeldUpTo, "probe") == [story.held_up_to("ABC")]
    assert story.ready("AB") in statements(bench.until(1.0), "r4")
    bench.confirm(story, "ABC")
    assert bench.store.streams[story.stream].confirmed.seq == 3


def test_finished_streams_are_not_read_at_a_restart() -> None:
    bench = Bench()
    bench.past("probe", 1)
    open_one = bench.opens("probe", 2)
    bench.say("probe", open_one.publish("A"))
    ready = bench.restart()
    assert [each for each in ready.reads if isinstance(each, ReadStream)] == [
        ReadStream(open_one.stream)
    ]


def test_link_that_comes_up_again_replaces_the_earlier_one() -> None:
    bench = Bench()
    bench.subscribes()
    story = bench.opens()
    bench.replica.linked("screen")  # without word that the earlier link is gone
    ready = bench.say("probe", story.publish("A"))
    assert not said(ready, Held, "screen")


def test_parties_without_a_link_are_not_spoken_to() -> None:
    bench = Bench()
    story = bench.opens()
    bench.unlink("r2")
    bench.unlink("probe")
    ready = bench.say("r3 r4", story.held("A"))
    for later in (ready, bench.until(5.0)):
        assert "r2" not in later.messages
        assert "probe" not in later.messages


def test_idle_replica_only_greets_and_asks() -> None:
    bench = Bench()
    bench.past("probe", 1, "ABC")
    bench.until(300.0)
    ready = bench.until(600.0)
    kinds = {type(each).__name__ for sent in ready.messages.values() for each in sent}
    assert kinds == {"Hello", "AskHeads"}
    assert not ready.records


def test_unlinked_party_that_was_never_linked_is_no_news() -> None:
    bench = Bench()
    assert not bench.unlink("nobody").messages


def test_credit_of_a_stranger_gives_it_nothing() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "AB")
    bench.link("screen")
    ready = bench.say("screen", Credit(story.stream, 100))
    assert not ready.messages
    assert not stored(ready, Accepted)
