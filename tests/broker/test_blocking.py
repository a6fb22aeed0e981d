"""Subscribers that publishers wait for, at one replica: whom, how far, and until when."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.broker.admission import WAITS
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Lane
from quorumcast.core.limits import REPEAT_SECONDS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    Credit,
    Follow,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from tests.broadcast.cast import said
from tests.broker.bench import Bench, status
from tests.scenarios.story import CHANNEL

TWENTY = "ABCDEFGHIJKLMNOPQRST"
NEVER = 10**6


def subscribe(
    version: int = 1,
    *patterns: str,
    begin: int = 0,
    window: int = 4,
    blocks: bool = True,
) -> Subscribe:
    return Subscribe(CHANNEL, version, patterns or ("*",), begin, window, blocks)


def trusting(*names: str, **settings: Any) -> Bench:
    """A replica whose channel trusts these, or `screen`, which blocks with a window of 4."""
    bench = Bench(trusted_subscribers=names or ("screen",), **settings)
    for name in names or ("screen",):
        bench.link(name)
        bench.say(name, subscribe())
    return bench


def credit(ready: Ready, to: str = "probe") -> list[int]:
    return [each.through for each in said(ready, Credit, to)]


# -- who may -----------------------------------------------------------------------------------


def test_only_those_whom_the_channel_trusts_may_block() -> None:
    bench = Bench(trusted_subscribers=("audit-*",))
    bench.link("screen")
    bench.link("audit-1")
    (refused,) = said(bench.say("screen", subscribe()), SubscribeStatus, "screen")
    assert (refused.accepted, refused.reason) == (False, f"screen may not block {CHANNEL}")
    assert said(bench.say("audit-1", subscribe()), SubscribeStatus)[0].accepted
    assert said(bench.say("screen", subscribe(blocks=False)), SubscribeStatus)[0].accepted


def test_who_was_refused_stops_nobody() -> None:
    bench = Bench()
    bench.link("screen")
    bench.say("screen", subscribe())
    story = bench.opens()
    bench.say("probe", story.publish(TWENTY))
    assert bench.holds(story) == TWENTY


def test_who_may_block_and_does_not_stops_nobody() -> None:
    bench = Bench(trusted_subscribers=("*",))
    bench.link("screen")
    bench.say("screen", subscribe(blocks=False))
    story = bench.opens()
    bench.say("probe", story.publish(TWENTY))
    assert bench.holds(story) == TWENTY


# -- how far -----------------------------------------------------------------------------------


def test_new_stream_gets_the_window_and_then_what_the_subscriber_takes() -> None:
    bench = trusting()
    story = bench.opens()
    ready = bench.say("probe", story.open())
    assert credit(ready) == [4]
    ready = bench.say("probe", story.publish("ABCDEF"))
    assert said(ready, Status) == [Status(story.stream, StatusCode.WAIT, 4, WAITS)]
    assert bench.holds(story) == "ABCD"

    assert credit(bench.say("screen", Credit(story.stream, 9))) == [9]
    assert not said(bench.say("probe", story.publish("EFGHI", first=5)), Status)
    assert bench.holds(story) == "ABCDEFGHI"


def test_slowest_of_several_counts() -> None:
    bench = trusting("audit", "screen")
    story = bench.opens()
    bench.say("probe", story.publish("ABCD"))
    assert credit(bench.say("audit", Credit(story.stream, 50))) == []
    assert credit(bench.say("screen", Credit(story.stream, 7))) == [7]


def test_credit_ends_at_2_alpha_as_without_a_blocker() -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("ABCD"))
    assert credit(bench.say("screen", Credit(story.stream, 1000))) == [20]
    ready = bench.say("probe", story.publish(TWENTY[4:] + "U", first=5))
    assert status(ready) == (StatusCode.BLOCKED, 20)


def test_each_stream_and_lane_has_its_own_limit() -> None:
    bench = trusting()
    story, fast = bench.opens(), bench.opens("probe", 2, lane=Lane.URGENT)
    other = bench.opens("other")
    bench.say("probe", story.publish("ABCDE"), fast.publish("ABCDE"))
    bench.say("other", other.publish("AB"))
    bench.say("screen", Credit(other.stream, 6))
    bench.say("other", other.publish("CDEFGH", first=3))
    assert [bench.holds(each) for each in (story, fast, other)] == ["ABCD", "ABCD", "ABCDEF"]


def test_stream_that_is_not_subscribed_to_is_not_stopped() -> None:
    bench = Bench(trusted_subscribers=("screen",))
    bench.link("screen")
    bench.say("screen", subscribe(1, "other"))
    story = bench.opens()
    bench.say("probe", story.publish(TWENTY))
    assert bench.holds(story) == TWENTY


def test_other_channels_go_on() -> None:
    news = Channel(CHANNEL, publishers=("*",), trusted_subscribers=("screen",))
    bench = Bench(channels=(news, Channel("weather", publishers=("*",))))
    bench.link("screen")
    bench.say("screen", subscribe())
    story, free = bench.opens(), bench.opens("probe", 2, channel="weather")
    bench.say("probe", story.publish("ABCDEF"), free.publish("ABCDEF"))
    assert (bench.holds(story), bench.holds(free)) == ("ABCD", "ABCDEF")


def test_window_of_nothing_still_lets_a_stream_begin() -> None:
    """Else nobody would ever hear of it, and nobody could give credit."""
    bench = Bench(trusted_subscribers=("screen",))
    bench.link("screen")
    bench.say("screen", subscribe(window=0))
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    assert bench.holds(story) == "A"


# -- whoever has said nothing ------------------------------------------------------------------


def test_subscriber_without_a_cursor_stops_no_stream() -> None:
    bench = Bench(trusted_subscribers=("screen",))
    story = bench.past("probe", 1, "ABC")
    bench.link("screen")
    bench.say("screen", subscribe(begin=NEVER))
    bench.say("probe", story.publish("DEFGHIJ", first=4))
    assert bench.holds(story) == "ABCDEFGHIJ"

    bench.say("screen", story.follow(3, 5))
    ready = bench.say("probe", story.publish("K", first=11))
    assert status(ready) == (StatusCode.WAIT, 10)
    assert bench.holds(story) == "ABCDEFGHIJ"
    assert credit(bench.say("screen", Credit(story.stream, 14))) == [14]


def test_streams_beyond_those_that_are_followed_are_not_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorumcast.broker.subscriptions.FOLLOWED_STREAMS", 1)
    bench = trusting()
    first, second = bench.opens("a"), bench.opens("b")
    bench.say("a", first.publish("ABCD"))
    bench.say("b", second.publish("ABCD"))
    bench.say("b", second.publish("EFGH", first=5))
    assert bench.holds(second) == "ABCDEFGH"


# -- holding and letting go --------------------------------------------------------------------


def test_less_credit_stops_a_publisher_that_had_more() -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    bench.say("screen", Credit(story.stream, 20))
    bench.say("screen", story.follow(3, 2))
    ready = bench.say("probe", story.publish("CDEF", first=3))
    assert said(ready, Status) == [Status(story.stream, StatusCode.WAIT, 2, WAITS)]
    assert bench.holds(story) == "AB"
    assert credit(bench.say("screen", story.follow(3, 8))) == [8]


@pytest.mark.parametrize("end", ["link", "unsubscribe", "patterns", "lag"])
def test_publisher_goes_on_when_the_blocker_is_gone(end: str) -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("ABCDEF"))
    if end == "link":
        ready = bench.unlink("screen")
    elif end == "unsubscribe":
        ready = bench.say("screen", Unsubscribe(CHANNEL, 1))
    elif end == "patterns":
        ready = bench.say("screen", subscribe(2, "other"))
    else:
        ready = bench.say("screen", subscribe(2, blocks=False))
    assert credit(ready) == [20]


def test_change_of_a_subscription_keeps_what_it_takes() -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("ABCDEF"))
    assert credit(bench.say("screen", subscribe(2, "p*", window=100))) == []
    assert status(bench.say("probe", story.publish("E", first=5))) == (StatusCode.WAIT, 4)


def test_adoption_waits_for_no_subscriber() -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("ABCDEF"))
    bench.say("r2 r3", story.held("ABCDEFGH"))
    bench.until(1.0)
    bench.say("r2", story.bodies("EFGH", first=5))
    assert bench.holds(story) == "ABCDEFGH"
    ready = bench.say("probe", story.publish("IJ", first=9))
    assert status(ready) == (StatusCode.WAIT, 8)
    assert said(ready, Status)[0].reason == WAITS


def test_publisher_that_comes_back_is_told_why_it_waits() -> None:
    bench = trusting()
    story = bench.opens()
    bench.say("probe", story.publish("ABCD"))
    bench.unlink("probe")
    bench.link("probe")
    ready = bench.say("probe", story.open())
    assert said(ready, Status) == [Status(story.stream, StatusCode.WAIT, 4, WAITS)]
    bench.say("screen", Credit(story.stream, 6))
    ready = bench.say("probe", story.open())
    assert said(ready, Status) == [Status(story.stream, StatusCode.OK, 4)]
    assert credit(ready) == [6]


def test_stream_at_rest_is_answered_when_its_publisher_asks() -> None:
    bench = trusting()
    story = bench.past("probe", 1, "ABCD")
    bench.shelve(story)
    assert credit(bench.say("screen", Credit(story.stream, 6))) == []
    assert credit(bench.say("probe", story.open())) == [6]


# -- words that are lost -----------------------------------------------------------------------


def test_who_lets_a_publisher_wait_is_told_what_the_replica_has_of_it() -> None:
    bench = trusting("audit", "screen")
    story = bench.opens()
    bench.say("probe", story.publish("ABCD"))
    bench.say("audit", Credit(story.stream, 9))
    ready = bench.say("probe", story.open())
    assert said(ready, Follow, "screen") == [Follow(story.stream, 1, 5, 4)]
    assert not said(ready, Follow, "audit")

    assert not said(bench.say("probe", *[story.open()] * 9), Follow)
    bench.until(bench.now + REPEAT_SECONDS)
    assert said(bench.say("probe", story.open()), Follow, "screen")
