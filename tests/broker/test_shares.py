"""How much a replica takes of each publisher: M unconfirmed sessions, and a fair share of bytes."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.ids import Lane
from quorumcast.core.limits import SESSION_QUIET_SECONDS, SESSIONS_UNCONFIRMED, SHARE_BYTES
from quorumcast.core.messages import ConfirmedUpTo, Credit, Publish, Status, StatusCode
from tests.broadcast.cast import said
from tests.broker.bench import Bench, status
from tests.scenarios.story import CHANNEL, Story

LARGE = b"x" * (SHARE_BYTES // 8)


def large(story: Story, first: int, count: int = 1) -> Publish:
    """Publications of an eighth of a channel's share each."""
    return Publish(story.stream, first, (LARGE,) * count)


# -- M unconfirmed sessions --------------------------------------------------------------------


def crowd(bench: Bench, lane: Lane = Lane.NORMAL) -> list[Story]:
    """M sessions with a publication each, and one more that is only opened."""
    stories = [bench.opens("probe", nonce, lane=lane) for nonce in range(SESSIONS_UNCONFIRMED)]
    for story in stories:
        bench.say("probe", story.publish("A"))
    return [*stories, bench.opens("probe", 99, lane=lane)]


def test_a_session_beyond_m_unconfirmed_ones_waits_for_a_confirmation() -> None:
    bench = Bench()
    *stories, last = crowd(bench)
    assert status(bench.say("probe", last.publish("B"))) == (StatusCode.WAIT, 0)
    assert bench.holds(last) == ""
    bench.confirm(stories[1], "A")
    bench.say("probe", last.publish("B"))
    assert bench.holds(last) == "B"


def test_a_quiet_session_stops_counting() -> None:
    bench = Bench()
    *stories, last = crowd(bench)
    bench.until(SESSION_QUIET_SECONDS - 1)
    bench.say("probe", last.publish("B"))
    assert bench.holds(last) == ""
    bench.until(SESSION_QUIET_SECONDS + 1)
    bench.say("probe", last.publish("B"))
    assert bench.holds(last) == "B"
    assert len(stories) == SESSIONS_UNCONFIRMED


def test_lanes_and_publishers_are_counted_apart() -> None:
    bench = Bench()
    crowd(bench)
    urgent = bench.opens("probe", 7, lane=Lane.URGENT)
    bench.say("probe", urgent.publish("U"))
    assert bench.holds(urgent) == "U"
    other = bench.opens("other", 1)
    bench.say("other", other.publish("O"))
    assert bench.holds(other) == "O"


def test_adoption_does_not_wait_for_a_place_among_m() -> None:
    bench = Bench()
    *_, last = crowd(bench)
    bench.say("r2 r3", last.held("B"))
    bench.until(1.0)
    bench.say("r2 r3", last.bodies("B"))
    assert bench.holds(last) == "B"


def test_restarted_replica_still_counts_m() -> None:
    bench = Bench()
    *_, last = crowd(bench)
    bench.restart()
    bench.link("probe")
    bench.say("probe", last.open())
    bench.say("probe", last.publish("B"))
    assert bench.holds(last) == ""


# -- shares ------------------------------------------------------------------------------------


def flooded(lane: Lane = Lane.NORMAL) -> tuple[Bench, Story]:
    """A publisher that has the whole share, and has used it up."""
    bench = Bench()
    story = bench.opens("flooder", 1, lane=lane)
    for first in range(1, 9):
        assert not said(bench.say("flooder", large(story, first)), Status)
    return bench, story


def test_publisher_that_used_its_share_waits() -> None:
    bench, story = flooded()
    assert status(bench.say("flooder", large(story, 9)), "flooder") == (StatusCode.WAIT, 8)
    again = bench.opens("flooder", 2)
    ready = bench.say("flooder", again.publish("A"))
    assert status(ready, "flooder") == (StatusCode.WAIT, 0)


def test_flooder_does_not_starve_another() -> None:
    bench, _ = flooded()
    story = bench.opens("probe")
    for first in range(1, 5):
        assert not said(bench.say("probe", large(story, first)), Status)
    assert status(bench.say("probe", large(story, 5))) == (StatusCode.WAIT, 4)  # half of it all


def test_urgent_lane_shares_its_publishers_part() -> None:
    bench, _ = flooded()
    mine = bench.opens("flooder", 1, lane=Lane.URGENT)
    ready = bench.say("flooder", mine.publish("U"))
    assert status(ready, "flooder") == (StatusCode.WAIT, 0)
    other = bench.opens("probe", 1, lane=Lane.URGENT)
    bench.say("probe", other.publish("U"))
    assert bench.holds(other) == "U"


def test_confirmation_gives_the_share_back() -> None:
    bench, story = flooded()
    entry = bench.entry(story)
    assert entry is not None
    assert entry.active is not None
    bench.say("r2 r3", ConfirmedUpTo(story.stream, *entry.active.path.tip))
    ready = bench.say("flooder", story.open())
    assert said(ready, Credit, "flooder") == [Credit(story.stream, 28)]
    assert not said(bench.say("flooder", large(story, 9)), Status)


def test_shares_are_per_channel() -> None:
    channels = tuple(Channel(name, alpha=10, publishers=("*",)) for name in (CHANNEL, "weather"))
    bench = Bench(channels=channels)
    story = bench.opens("flooder", 1)
    for first in range(1, 9):
        bench.say("flooder", large(story, first))
    elsewhere = bench.opens("flooder", 1, channel="weather")
    bench.say("flooder", elsewhere.publish("A"))
    assert bench.holds(elsewhere) == "A"


def test_publishers_in_flight_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorumcast.broker.admission.PUBLISHERS_IN_FLIGHT", 2)
    bench = Bench()
    for name in ("a", "b"):
        bench.say(name, bench.opens(name).publish("A"))
    story = bench.opens("c")
    assert status(bench.say("c", story.publish("A")), "c") == (StatusCode.WAIT, 0)
    bench.confirm(bench.story("a"), "A")
    bench.say("c", story.publish("A"))
    assert bench.holds(story) == "A"
