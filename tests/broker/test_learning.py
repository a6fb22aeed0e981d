"""Channels that change while a replica runs: rights, new ones, and those that are there no more."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quorumcast.core.channel import Channel, Retention
from quorumcast.core.errors import ConfigError
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    ASIDE,
    AskHeads,
    AskReport,
    Bodies,
    CharterAt,
    CharterIs,
    Credit,
    Held,
    HeldUpTo,
    Release,
    Report,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
)
from quorumcast.core.records import Accepted, ReadStreams
from tests.broadcast.cast import said, stored
from tests.broker.bench import Bench, status
from tests.scenarios.story import CHANNEL

MORE = Channel("more", publishers=("*",))


def learn(bench: Bench, *channels: Channel) -> Ready:
    bench.replica.at(bench.now)
    bench.replica.learn(channels)
    return bench.turn()


def change(bench: Bench, **settings: Any) -> Ready:
    """The operator changes the bench's channel."""
    return learn(bench, msgspec.structs.replace(bench.channels[0], **settings))


# -- rights ----------------------------------------------------------------------------------------


def test_a_publisher_that_lost_its_right_is_told_and_nothing_more_is_taken() -> None:
    bench = Bench()
    story, other = bench.opens(), bench.opens("other")
    bench.say("probe", story.publish("A"))
    ready = change(bench, publishers=("other",))
    refused = Status(story.stream, StatusCode.REJECTED, 1, "probe may not publish on news")
    assert said(ready, Status, "probe") == [refused]
    assert not said(ready, Status, "other")
    ready = bench.say("probe", story.publish("B", 2))
    assert said(ready, Status, "probe") == [refused]
    assert not stored(ready, Accepted)
    assert status(bench.say("probe", story.open()))[0] is StatusCode.REJECTED
    assert stored(bench.say("other", other.publish("A")), Accepted)
    assert bench.replica.desks[CHANNEL].admission.present == 1


def test_what_was_taken_before_is_confirmed_and_gives_no_new_credit() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    change(bench, publishers=())
    ready = bench.confirm(story, "AB")
    assert story.confirmed("AB") in ready.messages["probe"]
    assert not said(ready, Credit, "probe")


def test_a_right_that_is_given_back_counts_again() -> None:
    bench = Bench()
    story = bench.opens()
    change(bench, publishers=())
    change(bench, publishers=("*",))
    ready = bench.say("probe", story.publish("A"))
    assert not stored(ready, Accepted)
    assert status(ready)[0] is StatusCode.WAIT
    assert stored(bench.say("probe", story.open(), story.publish("A")), Accepted)


def test_a_right_that_was_lost_does_not_come_back_with_a_restart() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.channels = (msgspec.structs.replace(bench.channels[0], publishers=()),)
    bench.raise_up()
    bench.link("probe")
    ready = bench.say("probe", story.publish("B", 2))
    assert not stored(ready, Accepted)
    assert not said(ready, Credit, "probe")


@pytest.mark.parametrize("signed", [False, True])
def test_nothing_is_taken_in_a_stream_that_was_not_opened(signed: bool) -> None:
    """A liar can make a replica know a stream; that gives its publisher no right."""
    bench = Bench(publishers=("friend",), signed=signed)
    bench.link("probe")
    story = bench.story()
    bench.say("r4", story.held("A"))
    bench.say("r4", story.opening_of())
    assert bench.entry(story) is not None
    ready = bench.say("probe", story.publish("A"))
    assert not stored(ready, Accepted)
    assert not said(ready, HeldUpTo, "probe")


def test_a_publisher_without_a_place_cannot_publish_past_it() -> None:
    bench = Bench(max_publishers=1)
    bench.opens("first")
    bench.say("r4", (story := bench.story("probe")).held("A"), story.opening_of())
    bench.opens("probe")
    assert not stored(bench.say("probe", story.publish("A")), Accepted)


def test_one_lane_that_is_released_leaves_the_other_open() -> None:
    bench = Bench(max_publishers=1)
    story = bench.opens()
    other = bench.opens(nonce=2)
    bench.say("probe", Release(other.stream))
    assert stored(bench.say("probe", story.publish("A")), Accepted)


def test_a_stream_at_rest_is_barred_too() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "A")
    bench.shelve(story)
    change(bench, publishers=())
    ready = bench.say("probe", story.publish("B", 2))
    assert status(ready)[0] is StatusCode.REJECTED


def test_a_subscriber_that_lost_its_right_gets_nothing_more() -> None:
    bench = Bench()
    story = bench.opens()
    bench.subscribes()
    bench.subscribes("friend")
    ready = change(bench, subscribers=("friend",))
    why = "screen may not subscribe to news"
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 1, False, why)]
    ready = bench.say("probe", story.publish("AB"))
    assert "screen" not in ready.messages
    assert said(ready, Held, "friend")
    assert bench.replica.desks[CHANNEL].subscriptions.count == 1
    ready = bench.say("screen", Subscribe(CHANNEL, 2, ("*",), 0, 64))
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 2, False, why)]
    assert not bench.say("screen", AskHeads(CHANNEL, 0)).messages


def test_a_subscriber_that_is_trusted_no_more_lets_nobody_wait() -> None:
    bench = Bench(trusted_subscribers=("screen",))
    story = bench.opens()
    bench.link("screen")
    bench.say("screen", Subscribe(CHANNEL, 1, ("*",), 0, 2, blocks=True))
    bench.say("probe", story.publish("ABCD"))
    ready = change(bench, trusted_subscribers=())
    why = "screen may not block news"
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 1, False, why)]
    assert [each.through for each in said(ready, Credit, "probe")] == [20]


def test_limits_count_for_those_who_come_later() -> None:
    bench = Bench()
    bench.opens("one")
    story = bench.opens("two")
    change(bench, max_publishers=1)
    assert stored(bench.say("two", story.publish("A")), Accepted)
    late = bench.story("late")
    bench.link("late")
    assert status(bench.say("late", late.open()), "late")[0] is StatusCode.WAIT


def test_retention_changes_for_what_is_there() -> None:
    bench = Bench(alpha=100)
    story = bench.past("probe", 1, "ABCDEFGHIJ")
    change(bench, retention=Retention(events=3))
    bench.until(20.0)
    entry = bench.entry(story)
    assert entry is not None
    assert entry.floor.seq >= 7


@pytest.mark.parametrize(
    "fixed",
    [
        {"protocol": "bracha"},
        {"protocol": "plain"},
        {"signed": True},
        {"alpha": 11},
        {"deliver": "first", "protocol": "plain"},
    ],
)
def test_what_cannot_change_changes_nothing(fixed: dict[str, Any]) -> None:
    bench = Bench()
    story = bench.opens()
    later = msgspec.structs.replace(bench.channels[0], publishers=(), **fixed)
    with pytest.raises(ConfigError, match=f"channel news: {'|'.join(fixed)} cannot change while"):
        bench.replica.learn([MORE, later])
    assert stored(bench.say("probe", story.publish("A")), Accepted)
    assert list(bench.replica.desks) == [CHANNEL]


# -- channels that come and go ---------------------------------------------------------------------


def test_a_new_channel_is_there_at_once() -> None:
    bench = Bench()
    ready = learn(bench, *bench.channels, MORE)
    assert AskHeads("more", 0) in ready.messages["r2"]
    story = bench.opens(channel="more")
    assert stored(bench.say("probe", story.publish("A")), Accepted)


def test_until_its_streams_are_read_nothing_is_taken_or_refused() -> None:
    bench = Bench()
    bench.slow = True
    learn(bench, *bench.channels, MORE)
    assert bench.waiting == [ReadStreams(0, 1024)]
    story = bench.story(channel="more")
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert "probe" not in ready.messages
    assert not ready.rejections
    bench.answer()
    assert status(bench.say("probe", story.open()))[0] is StatusCode.OK


def test_a_channel_that_is_gone_takes_nothing_more() -> None:
    bench = Bench()
    story = bench.opens()
    bench.subscribes()
    bench.say("probe", story.publish("AB"))
    ready = learn(bench, MORE)
    why = "there is no channel news"
    assert said(ready, Status, "probe") == [
        Status(story.stream, StatusCode.REJECTED, 2, why),
    ]
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 1, False, why)]
    ready = bench.say("probe", story.open())
    assert said(ready, Status, "probe") == [Status(story.stream, StatusCode.REJECTED, 0, why)]
    ready = bench.say("screen", Subscribe(CHANNEL, 2, ("*",), 0, 64))
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 2, False, why)]
    later = bench.until(60.0)
    assert not said(later, Held, "r2"), "nothing of it is told or asked any more"
    assert not any(getattr(each, "channel", "") == CHANNEL for each in later.messages["r2"])
    assert bench.holds(story) == "AB", "its streams stay in the store"


def test_a_channel_that_comes_back_has_its_streams_and_votes() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    learn(bench, MORE)
    learn(bench, MORE, *bench.channels)
    ready = bench.say("probe", story.open())
    assert status(ready) == (StatusCode.OK, 2)
    assert story.held_up_to("AB") in said(ready, HeldUpTo, "probe")
    assert not stored(bench.say("probe", story.publish("XY")), Accepted), "no second vote"
    assert stored(bench.say("probe", story.publish("C", 3)), Accepted)


@pytest.mark.parametrize("again", [1, 3])
def test_it_has_them_after_a_restart_without_it_too(again: int) -> None:
    """The store is searched for streams of a channel that is new to this process."""
    bench = Bench()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    news = bench.channels
    bench.channels = (MORE,)
    bench.restart()
    bench.slow = True
    for _ in range(again):  # also if it comes and goes while the store is searched
        learn(bench, MORE)
        learn(bench, MORE, *news)
    bench.slow = False
    bench.answer()
    bench.link("probe")
    bench.say("probe", story.open())
    assert status(bench.say("probe", story.open())) == (StatusCode.OK, 2)
    assert not stored(bench.say("probe", story.publish("XY")), Accepted), "no second vote"


def test_what_is_aside_is_no_machines_business() -> None:
    bench = Bench()
    for message in (CharterAt(9, bytes(32)), CharterIs(b""), AskReport(), Report(b"{}")):
        assert type(message) in ASIDE
        (rejection,) = bench.say("r2", message).rejections
        assert "is not for a replica" in rejection.reason
    assert Bodies not in ASIDE
