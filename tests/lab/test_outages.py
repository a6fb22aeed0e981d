"""One replica at a time is away, never two, and another one each time."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest

from quorumcast.lab.outages import plan

NAMES = ("r1", "r2", "r3", "r4")


@pytest.mark.parametrize("seconds", [0.1, 4.0, 30.0, 45.0])
def test_a_short_run_has_one_outage_in_its_middle(seconds: float) -> None:
    (only,) = plan(NAMES, seconds)
    assert 0 < only.down < only.up < seconds


@pytest.mark.parametrize("seconds", [None, 3600.0])
def test_a_long_run_has_one_after_the_other(seconds: float | None) -> None:
    first = list(islice(plan(NAMES, seconds), 9))
    assert len({each.replica for each in first[:4]}) == 4
    for before, after in pairwise(first):
        assert before.down < before.up < after.down
        assert after.down - before.up > 10.0, "there is time to catch up"


def test_no_outage_goes_beyond_the_end() -> None:
    planned = list(plan(NAMES, 100.0))
    assert len(planned) == 3
    assert all(each.up < 100.0 for each in planned)
