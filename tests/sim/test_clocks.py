"""Clocks drift, never run backwards, and ring their timers in time."""

from __future__ import annotations

import pytest

from quorumcast.sim.clocks import DRIFT, Clock, drifting
from quorumcast.sim.draws import derive


def test_two_clocks_drift_apart_within_the_bound() -> None:
    rates = [drifting(derive(1, "clock", str(node))).rate for node in range(50)]
    assert len(set(rates)) == 50
    assert all(abs(rate - 1.0) <= DRIFT for rate in rates)


def test_a_timer_rings_when_its_clock_shows_it() -> None:
    for node in range(50):
        clock = drifting(derive(2, "clock", str(node)))
        timer = clock.read(3.0) + 0.25
        assert clock.when(timer) == pytest.approx(3.0 + 0.25 / clock.rate)
        assert clock.read(clock.when(timer), at_least=timer) >= timer


def test_a_clock_never_shows_less_than_before() -> None:
    clock = Clock(1.0, 0.0)
    assert clock.read(1.0, at_least=1.5) == 1.5
    assert clock.read(1.2) == 1.5
    assert clock.read(2.0) == 2.0


def test_a_clock_that_stands_still_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        Clock(0.0)


def test_draws_of_one_component_do_not_shift_anothers() -> None:
    one, other = derive(5, "a"), derive(5, "b")
    before = [derive(5, "b").random()]
    one.random()
    assert [other.random()] == before
