"""Twins: 256 schedules of two correct replicas with one identity, in a cluster of four.

After Bano et al., Twins: BFT Systems Made Robust (2021). Each seed draws its rounds: who talks to
which twin, and when the two parts cannot talk to each other. With one pair of twins among four
replicas every promise holds.
"""

from __future__ import annotations

import pytest

from quorumcast.sim.run import Run
from tests.sim.matrix import twins, verdict

SCHEDULES = 256
BATCH = 8
ROUNDS = 5
"""Rounds that a schedule has at least."""


@pytest.mark.parametrize("first", range(0, SCHEDULES, BATCH))
def test_twins_break_nothing(first: int) -> None:
    seen: set[tuple[str, ...]] = set()
    for number in range(first, first + BATCH):
        run = Run(twins(number))
        failed = verdict(run.execute())
        if failed:
            pytest.fail(failed, pytrace=False)
        done = [deed.what for deed in run.rig.plot.deeds]
        rounds = tuple(what for what in done if what.startswith("round "))
        assert len(rounds) >= ROUNDS, rounds
        seen.add(rounds)
    assert len(seen) == BATCH, "every schedule has rounds of its own"
