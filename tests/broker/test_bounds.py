"""What a faulty party cannot use up: memory in bytes, places, reads, shares, streams at work."""

from __future__ import annotations

import pytest

from quorumcast.broker import shelf
from quorumcast.core.channel import Retention
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.limits import (
    ACTIVE_STREAMS,
    LOADING_BYTES,
    REVISIT_SECONDS,
    REVISITED_STREAMS,
    SHARE_BYTES,
)
from quorumcast.core.messages import (
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Heads,
    Publish,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
)
from quorumcast.sim.checkers import measure
from tests.broadcast.cast import said
from tests.broker.bench import Bench, status
from tests.scenarios.story import CHANNEL, Story

MIB = 2**20


# -- publishers --------------------------------------------------------------------------------


def test_early_bodies_are_bounded_over_all_sessions_of_a_publisher() -> None:
    bench = Bench()
    for nonce in range(30):
        story = bench.past("probe", nonce)
        bodies = tuple(bytes([nonce, at]) * (MIB // 2) for at in range(4))
        bench.say("probe", Publish(story.stream, 3, bodies))
    assert measure(bench.replica) < 16 * MIB


def test_early_bodies_of_one_publisher_leave_room_for_anothers() -> None:
    bench = Bench()
    flood = bench.opens("flooder")
    bench.say("flooder", Publish(flood.stream, 2, (b"x" * MIB,) * 8))
    story = bench.opens()
    bench.say("probe", story.publish("BC", first=2))
    bench.say("probe", story.publish("A"))
    assert bench.holds(story) == "ABC"


def test_publications_that_wait_for_a_read_are_bounded_in_bytes() -> None:
    bench = Bench()
    story = bench.past("probe", 1)
    bench.shelve(story)
    bench.slow = True
    for turn in range(100):
        bench.say("probe", Publish(story.stream, 2, (turn.to_bytes(2, "big") * (MIB // 2),)))
    assert measure(bench.replica) < LOADING_BYTES + MIB
    bench.slow = False
    bench.answer()
    bench.shelve(story)
    bench.say("probe", story.publish("C", first=3))  # and their bytes are given back
    assert bench.store.streams[story.stream].head == 3


def test_bytes_of_a_stream_that_is_forgotten_are_not_in_flight() -> None:
    bench = Bench(retention=Retention(age_seconds=100.0))
    for number in range(8):
        story = bench.opens(f"p{number}")
        bench.say(f"p{number}", Publish(story.stream, 1, (b"x" * MIB,)))
        bench.unlink(f"p{number}")
    for counter, time in ((2, 90.0), (3, 300.0)):
        bench.until(time)
        bench.replica.renew(Incarnation(counter, 7))
        bench.turn()
    bench.until(320.0)
    assert not bench.replica.desks[CHANNEL].shelf.entries
    lives = (Incarnation(3, 7), *bench.lives[1:])
    fresh = Story(bench.cluster, Opening("probe", 1, lives))
    bench.link("probe")
    bench.say("probe", fresh.open())
    large = b"x" * (8 * MIB)
    for first in range(1, SHARE_BYTES // len(large) + 1):  # it has the whole channel for itself
        assert not said(bench.say("probe", Publish(fresh.stream, first, (large,))), Status)


def test_credit_comes_after_wait_once_there_is_room_again() -> None:
    bench = Bench()
    story = bench.opens()
    for first in range(1, 10):
        bench.say("probe", Publish(story.stream, first, (b"x" * (SHARE_BYTES // 8),)))
    entry = bench.entry(story)
    assert entry is not None
    assert entry.active is not None
    tip = entry.active.path.tip
    assert tip.seq == 8  # the ninth was told to wait
    ready = bench.say("r2 r3", ConfirmedUpTo(story.stream, *tip))
    assert said(ready, Credit, "probe") == [Credit(story.stream, 28)]


def test_runs_gathered_in_one_turn_do_not_overrun_the_share() -> None:
    bench = Bench()
    story = bench.opens()
    bench.say("probe", *(Publish(story.stream, at, (b"x" * (8 * MIB),)) for at in range(1, 21)))
    assert len(bench.store.streams[story.stream].slots) <= 10  # the share, and one message more


def test_streams_that_are_dropped_within_a_turn_are_not_kept_to_its_end() -> None:
    bench = Bench()
    bench.link("probe")
    before = measure(bench.replica)
    for nonce in range(3000):
        bench.replica.step("probe", bench.story("probe", nonce).open())
    answers = measure(bench.replica.out)
    assert measure(bench.replica) - answers < before + MIB // 2


# -- subscribers -------------------------------------------------------------------------------


@pytest.mark.parametrize("lane", list(Lane))
def test_cursors_that_wait_for_a_read_are_bounded(lane: Lane) -> None:
    bench = Bench()
    story = bench.past("probe", 1, "ABCDE", lane)
    bench.subscribes(begin=10**6)
    for slow in (True, False):
        bench.slow = slow
        for _ in range(300):
            bench.say("screen", *[story.follow(1, 100)] * 100)
    assert measure(bench.replica) < MIB


def test_burst_of_questions_makes_answers_of_bounded_size() -> None:
    bench = Bench(alpha=1000)
    story = bench.opens()
    bench.say("probe", Publish(story.stream, 1, (b"x",) * 2000))
    bench.link("screen")
    for _ in range(4000):
        bench.replica.step("screen", story.ask_votes())
    assert measure(bench.replica) < 32 * MIB


def test_read_that_finds_nothing_is_over() -> None:
    bench = Bench()
    bench.link("screen")
    stories = [bench.past("probe", nonce, "ABC") for nonce in range(5)]
    bench.slow = True
    for story in stories[:4]:
        bench.say("screen", story.ask_bodies("AB"))
        del bench.store.streams[story.stream]  # forgotten before the read was done
    bench.answer()
    bench.slow = False
    ready = bench.say("screen", stories[4].ask_bodies("AB"))
    assert said(ready, Bodies, "screen") == [stories[4].bodies("AB")]


def test_subscriptions_that_change_all_the_time_cost_their_client_tokens() -> None:
    bench = Bench()
    for number in range(400):
        bench.past(f"p{number % 8}", number)
    bench.link("screen")
    answers = 0
    for version in range(1000):
        ready = bench.say("screen", Subscribe(CHANNEL, version, ("nobody",), 0, 10))
        answers += len(said(ready, SubscribeStatus, "screen"))
    assert 10 < answers < 200
    bench.until(10.0)
    assert said(bench.say("screen", Subscribe(CHANNEL, 1000, ("*",), 0, 10)), SubscribeStatus)


# -- peers -------------------------------------------------------------------------------------


def test_peer_cannot_use_up_the_places_of_publishers() -> None:
    bench = Bench(max_publishers=2)
    for name in ("x", "y", "z"):
        bench.say("r4", bench.story(name).held("A"), bench.story(name).confirmed("A"))
    story = bench.story("probe")
    bench.link("probe")
    assert said(bench.say("probe", story.open()), Status, "probe") == [
        Status(story.stream, StatusCode.OK, 0)
    ]


@pytest.mark.parametrize("how", ["question", "heads"])
def test_streams_that_somebody_wakes_go_to_rest_again(how: str) -> None:
    bench = Bench()
    stories = [bench.past("probe", nonce) for nonce in range(ACTIVE_STREAMS + 200)]
    bench.link("screen")
    for story in stories:
        if how == "question":
            bench.say("screen", story.ask_opening())
        else:
            bench.say("r4", Heads(CHANNEL, 1, (story.head(5),), more=False))
    assert bench.at_work() <= ACTIVE_STREAMS + 64


def test_peer_that_fills_its_own_account_cannot_publish_and_harms_nobody() -> None:
    bench = Bench()
    for nonce in range(6):
        bench.say("r4", bench.story("r4", nonce).confirmed("A"))
    story = bench.story("r4", 9)
    ready = bench.say("r4", story.open())
    assert status(ready, "r4")[0] in (StatusCode.OK, StatusCode.WAIT)
    other = bench.opens()
    bench.say("probe", other.publish("A"))
    assert bench.holds(other) == "A"


def hopeless(count: int) -> Bench:
    """Streams that one replica alone has, of publishers that are gone."""
    bench = Bench()
    for number in range(count):
        story = bench.opens(f"p{number}")
        bench.say(f"p{number}", story.publish("A"))
        bench.unlink(f"p{number}")
    return bench


def test_streams_in_which_nobody_can_help_go_to_rest_and_leave_their_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shelf, "ACTIVE_STREAMS", 16)
    bench = hopeless(64)
    bench.until(189.0)
    assert bench.at_work() == 16
    assert bench.holds(bench.story("p1")) == "A"
    story = bench.opens()
    for first in range(1, SHARE_BYTES // (8 * MIB) + 1):
        ready = bench.say("probe", Publish(story.stream, first, (b"x" * (8 * MIB),)))
        assert not said(ready, Status)


def test_streams_at_rest_are_taken_up_again_a_few_at_a_time() -> None:
    count = 4 * REVISITED_STREAMS
    bench = hopeless(count)
    bench.until(189.0)
    asked: set[Stream] = set()
    while bench.now < 190.0 + 5 * REVISIT_SECONDS:
        ready = bench.until(bench.now + 5.0)
        now = {each.stream for each in said(ready, AskVotes, "r2")}
        assert len(now) <= REVISITED_STREAMS
        asked |= now
    assert len(asked) == count
