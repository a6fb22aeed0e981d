"""Subscriptions at a replica: versions, cursors, credit, and who sends which bodies."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Retention
from quorumcast.core.ids import Lane
from quorumcast.core.limits import FRAME_BYTES, READ_POSITIONS, ROTATE_POSITIONS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Credit,
    FloorAt,
    Follow,
    Held,
    Publish,
    ReadyUpTo,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from tests.broadcast.cast import said, statements
from tests.broker.bench import Bench
from tests.scenarios.story import CHANNEL


def subscribe(version: int = 1, *patterns: str, begin: int = 0, window: int = 4096) -> Subscribe:
    """A subscription to everything unless patterns are given."""
    return Subscribe(CHANNEL, version, patterns or ("*",), begin, window)


def positions(ready: Ready, to: str = "screen") -> list[int]:
    """The positions that a turn states votes for."""
    return [
        position
        for held in said(ready, Held, to)
        for position in range(held.first, held.first + len(held.digests) // 32)
    ]


def listening(**settings: object) -> Bench:
    """A replica with one subscriber to everything."""
    bench = Bench(**settings)
    bench.subscribes()
    return bench


# -- in force, refused, ended ------------------------------------------------------------------


def test_subscription_is_accepted_and_news_comes() -> None:
    bench = Bench()
    ready = bench.subscribes()
    assert said(ready, SubscribeStatus, "screen") == [SubscribeStatus(CHANNEL, 1, True)]
    story = bench.opens()
    ready = bench.say("probe", story.publish("AB"))
    assert ready.messages["screen"] == [story.held("AB"), story.bodies("AB")]


def test_client_without_the_right_is_refused() -> None:
    bench = Bench(subscribers=("desk-*",))
    (status,) = said(bench.subscribes(), SubscribeStatus, "screen")
    assert not status.accepted
    assert status.reason == f"screen may not subscribe to {CHANNEL}"
    assert "screen" not in bench.say("probe", bench.opens().publish("A")).messages


def test_subscription_to_a_channel_that_is_not_there() -> None:
    bench = Bench()
    bench.link("screen")
    ready = bench.say("screen", Subscribe("weather", 3, ("*",), 0, 10))
    assert said(ready, SubscribeStatus) == [
        SubscribeStatus("weather", 3, False, "there is no channel weather")
    ]


def test_max_subscribers_refuses_the_next_until_one_leaves() -> None:
    bench = Bench(max_subscribers=1)
    bench.subscribes("first")
    assert not said(bench.subscribes("second"), SubscribeStatus, "second")[0].accepted
    assert said(bench.say("first", subscribe(2)), SubscribeStatus, "first")[0].accepted
    bench.unlink("first")
    assert said(bench.say("second", subscribe()), SubscribeStatus, "second")[0].accepted


def test_repeated_subscription_is_answered_again_and_starts_nothing_anew() -> None:
    bench = listening()
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    ready = bench.say("screen", subscribe())
    assert ready.messages["screen"] == [SubscribeStatus(CHANNEL, 1, True)]


def test_highest_version_is_in_force_whatever_arrives_late() -> None:
    bench = Bench()
    bench.link("screen")
    bench.say("screen", subscribe(3, "probe"))
    late = bench.say("screen", subscribe(2, "other"))
    assert "screen" not in late.messages
    assert "screen" in bench.say("probe", bench.opens().publish("A")).messages
    assert "screen" not in bench.say("other", bench.opens("other").publish("A")).messages


def test_only_what_matches_is_sent() -> None:
    bench = Bench()
    bench.link("screen")
    bench.say("screen", subscribe(1, "sensor-*", "gate"))
    sent = [
        "screen" in bench.say(name, bench.opens(name).publish("A")).messages
        for name in ("sensor-1", "gate", "probe", "gate-2")
    ]
    assert sent == [True, True, False, False]


def test_change_takes_effect_at_once_and_keeps_what_still_matches() -> None:
    bench = listening()
    probe, other = bench.opens(), bench.opens("other")
    bench.say("probe", probe.publish("AB"))
    bench.say("other", other.publish("A"))
    ready = bench.say("screen", subscribe(2, "probe"))
    assert not said(ready, Bodies)  # nothing is sent again
    assert positions(bench.say("probe", probe.publish("C", first=3))) == [3]
    assert "screen" not in bench.say("other", other.publish("B", first=2)).messages


def test_unsubscribe_ends_it_and_overrides_versions_up_to_its_own() -> None:
    bench = listening()
    story = bench.opens()
    bench.say("screen", Unsubscribe(CHANNEL, 5))
    assert "screen" not in bench.say("probe", story.publish("A")).messages
    bench.say("screen", subscribe(4))
    assert "screen" not in bench.say("probe", story.publish("B", first=2)).messages
    bench.say("screen", subscribe(6))
    assert "screen" in bench.say("probe", story.publish("C", first=3)).messages


def test_late_unsubscribe_of_an_earlier_version_changes_nothing() -> None:
    bench = listening()
    bench.say("screen", subscribe(4))
    bench.say("screen", Unsubscribe(CHANNEL, 3))
    assert "screen" in bench.say("probe", bench.opens().publish("A")).messages


def test_subscription_ends_with_the_link() -> None:
    bench = listening()
    story = bench.opens()
    bench.unlink("screen")
    bench.link("screen")
    assert not said(bench.say("probe", story.publish("A")), Held, "screen")


# -- where streams begin -----------------------------------------------------------------------


def test_streams_heard_of_after_begin_are_sent_from_the_first_position() -> None:
    bench = Bench()
    old = bench.past("old", 1, "AB")
    begin = bench.replica.desks[CHANNEL].shelf.counter
    new = bench.past("new", 1, "CD")
    ready = bench.subscribes(begin=begin)
    assert said(ready, Bodies, "screen") == [new.bodies("CD")]
    assert not positions(bench.say("old", old.publish("C", first=3)))
    assert positions(bench.say("new", new.publish("E", first=3))) == [3]


def test_older_stream_begins_where_follow_says() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "ABCDE")
    bench.subscribes(begin=10**6)
    ready = bench.say("screen", story.follow(4, 100))
    assert said(ready, Bodies, "screen") == [story.bodies("DE", first=4)]
    assert said(ready, ConfirmedUpTo, "screen") == [story.confirmed("ABCDE")]
    ready = bench.say("probe", story.publish("F", first=6))
    assert ready.messages["screen"] == [story.held("F", 6), story.bodies("F", 6)]


def test_follow_of_another_version_or_of_what_does_not_match_is_ignored() -> None:
    bench = Bench()
    story, other = bench.past("probe", 1, "AB"), bench.past("other", 1, "AB")
    bench.link("screen")
    assert not bench.say("screen", story.follow(1, 9)).reads
    bench.say("screen", subscribe(2, "probe", begin=10**6))
    for message in (story.follow(1, 9, version=1), other.follow(1, 9, version=2)):
        ready = bench.say("screen", message)
        assert "screen" not in ready.messages
        assert not ready.reads
    assert said(bench.say("screen", story.follow(1, 9, version=2)), Bodies, "screen")


def test_follow_below_the_floor_is_told_the_floor_and_gets_the_rest() -> None:
    bench = Bench(retention=Retention(events=3))
    story = bench.past("probe", 1, "ABC")
    bench.until(1.0)
    bench.say("probe", story.publish("DEF", first=4))
    bench.confirm(story, "ABCDEF")
    bench.until(20.0)
    bench.subscribes(begin=10**6)
    ready = bench.say("screen", story.follow(1, 100))
    assert said(ready, FloorAt, "screen") == [story.floor("ABC")]
    assert said(ready, Bodies, "screen") == [story.bodies("DEF", first=4)]


def test_followed_streams_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.broker.subscriptions.FOLLOWED_STREAMS", 2)
    bench = listening()
    sent = [
        "screen" in bench.say(name, bench.opens(name).publish("A")).messages
        for name in ("a", "b", "c")
    ]
    assert sent == [True, True, False]


# -- credit ------------------------------------------------------------------------------------


def test_subscriber_without_credit_is_waited_for_and_misses_nothing() -> None:
    bench = Bench()
    bench.subscribes(window=2)
    story = bench.opens()
    assert positions(bench.say("probe", story.publish("AB"))) == [1, 2]
    ready = bench.say("probe", story.publish("CDE", first=3))
    assert "screen" not in ready.messages
    ready = bench.say("screen", Credit(story.stream, 4))
    assert positions(ready) == [3, 4]
    assert said(ready, Bodies, "screen") == [story.bodies("CD", first=3)]
    assert positions(bench.say("screen", Credit(story.stream, 50))) == [5]
    assert positions(bench.say("probe", story.publish("F", first=6))) == [6]


def test_credit_never_shrinks() -> None:
    bench = listening()
    story = bench.opens()
    bench.say("probe", story.publish("A"))
    bench.say("screen", Credit(story.stream, 1))
    assert positions(bench.say("probe", story.publish("B", first=2))) == [2]


def test_slow_subscriber_does_not_hold_up_another() -> None:
    bench = listening()
    bench.link("slow")
    bench.say("slow", subscribe(1, window=0))
    ready = bench.say("probe", bench.opens().publish("AB"))
    assert positions(ready) == [1, 2]
    assert "slow" not in ready.messages


def test_catching_up_is_in_chunks_that_end_where_other_replicas_chunks_end() -> None:
    bench = Bench(alpha=8192)
    story = bench.opens()
    count = READ_POSITIONS + 1000
    bench.say("probe", Publish(story.stream, 1, (b"x",) * count))
    entry = bench.entry(story)
    assert entry is not None
    assert entry.active is not None
    bench.say("r2 r3", ConfirmedUpTo(story.stream, *entry.active.path.tip))
    bench.subscribes(begin=10**6)
    ready = bench.say("screen", Follow(story.stream, 1, 100, 10**6))
    assert [each.position for each in said(ready, ConfirmedUpTo, "screen")] == [
        READ_POSITIONS,
        count,
    ]
    assert [(each.first, each.last) for each in ready.reads if each[-1]] == [
        (100, READ_POSITIONS),
        (READ_POSITIONS + 1, count),
    ]


def test_news_while_a_chunk_is_read_comes_after_it_once() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "ABC")
    bench.subscribes(begin=10**6)
    bench.slow = True
    bench.say("screen", story.follow(1, 100))
    assert not positions(bench.say("probe", story.publish("D", first=4)))
    bench.slow = False
    ready = bench.answer()
    assert said(ready, Bodies, "screen") == [story.bodies("ABC"), story.bodies("D", first=4)]
    assert positions(ready) == [4]


def test_chunk_that_was_read_for_an_ended_subscription_is_not_sent() -> None:
    bench = Bench()
    story = bench.past("probe", 1, "ABC")
    bench.subscribes(begin=10**6)
    bench.slow = True
    bench.say("screen", story.follow(1, 100))
    bench.say("screen", Unsubscribe(CHANNEL, 1))
    assert "screen" not in bench.answer().messages


def test_streams_beyond_the_reads_at_once_are_served_one_after_another() -> None:
    bench = Bench()
    stories = [bench.past(f"p{number}", 1, "AB") for number in range(12)]
    bench.subscribes(begin=10**6)
    bench.slow = True
    bench.say("screen", *[story.follow(1, 100) for story in stories])
    assert len(bench.waiting) == 4
    bench.slow = False
    ready = bench.answer()
    assert {each.stream for each in said(ready, Bodies, "screen")} == {
        story.stream for story in stories
    }


# -- bodies and statements ---------------------------------------------------------------------


@pytest.mark.parametrize(("n", "f"), [(4, 1), (5, 1), (6, 1), (7, 2)])
def test_bodies_come_from_exactly_f_plus_1_rotating_replicas_and_votes_from_all(
    n: int, f: int
) -> None:
    count = ROTATE_POSITIONS * (n + 2)
    senders: dict[int, set[str]] = {position: set() for position in range(1, count + 1)}
    for number in range(1, n + 1):
        bench = Bench(n, f, me=f"r{number}", alpha=1000)
        bench.subscribes()
        story = bench.opens()
        ready = bench.say("probe", Publish(story.stream, 1, (b"x",) * count))
        assert positions(ready) == list(range(1, count + 1))
        for message in said(ready, Bodies, "screen"):
            for position in range(message.first, message.first + len(message.bodies)):
                senders[position].add(f"r{number}")
    assert {len(each) for each in senders.values()} == {f + 1}
    blocks = {frozenset(each) for each in senders.values()}
    assert len(blocks) == n
    for block in range(1, n + 1):
        run = range(block * ROTATE_POSITIONS, (block + 1) * ROTATE_POSITIONS)
        assert len({frozenset(senders[position]) for position in run}) == 1


def test_those_who_catch_up_get_bodies_from_the_same_replicas() -> None:
    for number in (1, 3):
        bench = Bench(me=f"r{number}")
        story = bench.opens()
        bench.say("probe", story.publish("AB"))
        bench.subscribes()
        ready = bench.say("screen", story.follow(1, 100))
        assert bool(said(ready, Bodies, "screen")) == (number == 1)
        assert positions(ready) == [1, 2]


def test_confirmations_are_told_to_followers() -> None:
    bench = listening()
    story = bench.opens()
    bench.say("probe", story.publish("ABC"))
    ready = bench.confirm(story, "AB")
    assert statements(ready, "screen") == [story.confirmed("AB")]


@pytest.mark.parametrize(("protocol", "told"), [("bracha", 1), ("ab", 0)])
def test_ready_is_told_where_it_delivers(protocol: str, told: int) -> None:
    bench = listening(protocol=protocol)
    story = bench.opens()
    bench.say("probe", story.publish("AB"))
    ready = bench.say("r2 r3", story.held("AB"))
    assert len(said(ready, ReadyUpTo, "screen")) == told


def test_votes_below_the_confirmed_position_need_not_be_stated() -> None:
    bench = listening()
    story = bench.opens()
    bench.replica.step("probe", story.publish("ABC"))
    ready = bench.say("r2 r3 r4", story.held("ABC"))
    assert said(ready, ConfirmedUpTo, "screen") == [story.confirmed("ABC")]
    assert not positions(ready)
    assert said(ready, Bodies, "screen") == [story.bodies("ABC")]


def test_urgent_lane_is_told_first() -> None:
    bench = listening()
    slow, fast = bench.opens("probe", 1), bench.opens("probe", 2, lane=Lane.URGENT)
    bench.replica.step("probe", slow.publish("A"))
    ready = bench.say("probe", fast.publish("U"))
    assert [each.stream.lane for each in said(ready, Held, "screen")] == [Lane.URGENT, Lane.NORMAL]


def test_unconfirmed_channel_tells_votes_and_bodies_alone() -> None:
    bench = listening(confirm=False)
    story = bench.opens()
    ready = bench.say("probe", story.publish("AB"))
    assert ready.messages["screen"] == [story.held("AB"), story.bodies("AB")]
    assert not any(statements(ready, peer) for peer in ("r2", "r3", "r4"))


def test_large_bodies_of_one_turn_go_in_messages_that_fit_a_frame() -> None:
    bench = listening()
    story = bench.opens()
    large = bytes(2**20)
    said_at_once = [Publish(story.stream, seq, (large,), b"") for seq in range(1, 19)]
    ready = bench.say("probe", *said_at_once)
    sent = said(ready, Bodies, "screen")
    assert [seq for each in sent for seq in range(each.first, each.first + len(each.bodies))] == [
        *range(1, 19)
    ]
    assert all(sum(map(len, each.bodies)) <= FRAME_BYTES // 2 for each in sent)
