"""A failing run is made small, and still fails in the same way."""

from __future__ import annotations

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane
from quorumcast.sim.run import run, schedule_of
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.schedule import Crash, Cut, Publish, Storm
from quorumcast.sim.shrink import among, reduce, shrink

COLLUDERS = Scenario(adversary="collude", byzantine=2, seed=0, publications=6, faulty_ticks=2_000)
"""Two colluding replicas of four: one too many."""


def test_a_violation_shrinks_to_the_lies_that_it_needs() -> None:
    small = shrink(COLLUDERS)
    assert small.violations[0].rule == "agreement"
    assert small.deeds_before > 100
    assert 1 <= len(small.deeds) <= 20
    assert len(small.decisions) <= 4 < small.decisions_before
    assert small.scenario.subscribers == 2, "agreement takes two"
    assert small.scenario.publishers == 1
    assert small.scenario.loss == 0.0
    assert small.runs <= 121
    again = run(small.scenario, small.decisions, deeds=small.deeds)
    assert "agreement" in {violation.rule for violation in again.failures[0].violations}
    text = small.text
    assert "q1 sends two contents" in text
    assert "takes a side with" in text
    assert "agreement: " in text


def test_equal_failures_shrink_equally() -> None:
    assert shrink(COLLUDERS, runs=6) == shrink(COLLUDERS, runs=6)


def test_the_effort_is_bounded() -> None:
    tried: list[int] = []
    small = shrink(COLLUDERS, runs=5, progress=tried.append)
    assert tried == [1, 2, 3, 4, 5, 6], "the last one tells what the best one did"
    assert small.violations[0].rule == "agreement"
    assert shrink(COLLUDERS, statements=1).runs == 2


def test_a_run_that_fails_at_nothing_cannot_be_shrunk() -> None:
    with pytest.raises(ConfigError, match="seed 3 violates nothing"):
        shrink(Scenario(publications=2, crashes=False, loss=0.0, seed=3))


def test_reducing_finds_what_is_needed_alone_or_together() -> None:
    assert reduce([], lambda _: True) == []
    assert reduce([1, 2, 3], lambda _: True) == []
    assert reduce([1, 2, 3], lambda _: False) == [1, 2, 3]
    assert reduce(list(range(50)), lambda some: {0, 24, 25, 49} <= set(some)) == [0, 24, 25, 49]
    # Whichever is left out last stays: any one of these is enough.
    assert len(reduce(list(range(50)), lambda some: len(some) >= 1)) == 1


def test_reducing_takes_few_trials() -> None:
    trials: list[int] = []

    def fails(some: list[int]) -> bool:
        trials.append(len(some))
        return 300 in some

    assert reduce(list(range(1000)), fails) == [300]
    assert len(trials) < 60


def test_decisions_about_absent_parties_are_left_out() -> None:
    few = Scenario(publishers=1, subscribers=1)
    storm = Storm(1, 2, 0.5, 0.1)
    kept = Publish(1, "p1", "alerts", Lane.NORMAL, 1, 0)
    decisions = [
        kept,
        Publish(1, "p2", "alerts", Lane.NORMAL, 1, 0),
        Crash(1, "s2", None),
        Crash(1, "r1", 9),
        Cut(1, 9, ("r1", "s2"), ("p1", "p2"), both=True, flap=False),
        Cut(1, 9, ("s2",), ("p1",), both=True, flap=False),
        storm,
    ]
    assert among(decisions, few) == [
        kept,
        Crash(1, "r1", 9),
        Cut(1, 9, ("r1",), ("p1",), both=True, flap=False),
        storm,
    ]


def test_fewer_decisions_run_by_themselves() -> None:
    scenario = Scenario(seed=5, publications=6)
    decisions = [each for each in schedule_of(scenario) if not isinstance(each, Crash | Cut)]
    report = run(scenario, decisions)
    assert report.passed
    assert report.crashes == 0
