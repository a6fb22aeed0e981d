"""When which replica is killed and comes back, and what was done meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import msgspec

PERIOD_SECONDS = 30.0
LONGEST_SECONDS = 45.0
"""A shorter run has one outage, in its middle; a longer one has one every `PERIOD_SECONDS`."""

DOWN_SHARE, UP_SHARE = 0.35, 0.6
"""Which part of a period a replica is away."""


class Planned(NamedTuple):
    """A replica is to be killed and started again at these seconds."""

    replica: str
    down: float
    up: float


class Outage(msgspec.Struct):
    """A replica was away: from and to when, and what happened to events meanwhile."""

    replica: str
    from_seconds: float
    to_seconds: float | None = None
    """When it said that it was ready again; None while it is not."""
    acknowledged: int = 0
    delivered: int = 0


def plan(replicas: tuple[str, ...], seconds: float | None) -> Iterator[Planned]:
    """One replica at a time, another one each time; without end, if the run has none.

    >>> list(plan(("r1", "r2", "r3", "r4"), 20.0))
    [Planned(replica='r3', down=7.0, up=12.0)]
    """
    whole = seconds is not None and seconds <= LONGEST_SECONDS
    period = seconds if whole and seconds is not None else PERIOD_SECONDS
    for number in range(1) if whole else count():
        began = number * period
        if seconds is not None and began + period > seconds:
            return
        victim = replicas[(number + 2) % len(replicas)]
        yield Planned(victim, began + DOWN_SHARE * period, began + UP_SHARE * period)
