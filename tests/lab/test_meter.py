"""Rates, latencies and votes, on a clock of the test's."""

from __future__ import annotations

from typing import Any

from quorumcast.lab.meter import (
    HISTORY_SECONDS,
    LATENCY_SECONDS,
    RATE_SECONDS,
    SAMPLES,
    Latencies,
    Rate,
    Spread,
    Votes,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_rate_forgets_what_is_old() -> None:
    clock = Clock()
    rate = Rate(clock)
    for _ in range(20):
        clock.now += 0.5
        rate.add(50)
    assert rate.now() == 100.0
    clock.now += RATE_SECONDS / 2
    assert rate.now() == 50.0
    clock.now += RATE_SECONDS
    assert rate.now() == 0.0


def test_a_rate_that_has_just_begun_does_not_exaggerate() -> None:
    clock = Clock()
    rate = Rate(clock)
    clock.now += 0.01
    rate.add(20)
    assert rate.now() == 20.0


def test_history_has_every_second_and_idle_ones_too() -> None:
    clock = Clock()
    rate = Rate(clock)
    rate.add(3)
    rate.add(4)
    clock.now += 1.0
    rate.add(5)
    clock.now += 3.0
    rate.add(9)
    assert rate.history() == [7, 5, 0, 0]
    clock.now += 10 * HISTORY_SECONDS
    assert rate.history() == [0] * HISTORY_SECONDS


def test_latencies_are_those_of_the_last_seconds() -> None:
    clock = Clock()
    latencies = Latencies(clock)
    assert latencies.recent() is None
    latencies.add(9.0)
    clock.now += LATENCY_SECONDS
    for number in range(200):
        latencies.add((199 - number) / 1000)
    assert latencies.recent() == Spread(200, 0.1, 0.198, 0.199)
    assert latencies.all() == Spread(201, 0.1, 0.198, 9.0)


def test_latencies_are_bounded() -> None:
    latencies = Latencies(Clock())
    for _ in range(2 * SAMPLES):
        latencies.add(0.5)
    found = latencies.all()
    assert found is not None
    assert found.samples == SAMPLES


# -- votes -----------------------------------------------------------------------------------------


def told(name: str, held: int, confirmed: int, state: str = "ready", behind: int = 0) -> Any:
    channels = [
        {"name": "alerts", "held": held, "confirmed": confirmed},
        {"name": "other", "held": 500, "confirmed": 0},
    ]
    progress = {"streams_behind": behind}
    return {
        "name": name,
        "state": state,
        "rss_bytes": 1024,
        "progress": progress,
        "channels": channels,
    }


def test_votes_are_what_replicas_say_on_the_channels_asked_for() -> None:
    clock = Clock()
    votes = Votes(clock, ("alerts",))
    votes.note({"replicas": [told("r1", 10, 8), told("r2", 0, 0, "catching-up", behind=2)]})
    clock.now += 2.0
    votes.note({"replicas": [told("r1", 30, 30), told("r2", 4, 0)]})
    r1, r2 = votes.standings
    assert (r1.votes, r1.unconfirmed, r1.votes_per_second, r1.state) == (30, 0, 10.0, "ready")
    assert (r2.votes, r2.unconfirmed, r2.behind) == (4, 4, 0)


def test_a_replica_that_is_away_keeps_its_last_word() -> None:
    clock = Clock()
    votes = Votes(clock, ("alerts",))
    gone = {"name": "r1", "address": "x", "pid": None, "state": "stopped"}
    votes.note({"replicas": [gone]})
    assert (votes.standings[0].away, votes.standings[0].votes) == (True, 0)
    votes.note({"replicas": [told("r1", 10, 8)]})
    votes.note({"replicas": [gone]})
    (r1,) = votes.standings
    assert (r1.away, r1.votes, r1.votes_per_second, r1.rss_bytes) == (True, 10, 0.0, 0)
    votes.note({"replicas": [told("r1", 12, 8)]})
    assert not votes.standings[0].away
