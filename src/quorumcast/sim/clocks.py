"""Clocks that drift: each node reads its own, which runs a little fast or slow.

Virtual time is the world's. A node's monotonic clock shows `offset + rate * virtual`, and its
timers are set on that clock.
"""

from __future__ import annotations

from random import Random

DRIFT = 0.02
"""How far a clock's rate may be from 1: far worse than quartz, so that rates matter in a run."""


class Clock:
    """One node's monotonic clock.

    >>> clock = Clock(rate=1.01, offset=5.0)
    >>> clock.read(100.0)
    106.0
    >>> round(clock.when(106.0), 9)
    100.0
    """

    __slots__ = ("_last", "offset", "rate")

    def __init__(self, rate: float = 1.0, offset: float = 0.0) -> None:
        if rate <= 0.0:
            raise ValueError(f"a clock's rate must be positive, not {rate}")
        self.rate = rate
        self.offset = offset
        self._last = offset

    def read(self, virtual: float, at_least: float = 0.0) -> float:
        """What the clock shows at a virtual time; never less than it showed before.

        `at_least` is the time of a timer that rings now: rounding must not make it too early.
        """
        shown = max(self.offset + self.rate * virtual, at_least, self._last)
        self._last = shown
        return shown

    def when(self, shown: float) -> float:
        """The virtual time at which the clock will show this."""
        return (shown - self.offset) / self.rate


def drifting(draws: Random) -> Clock:
    """A clock with a rate within `DRIFT` of 1, started some time ago.

    >>> clock = drifting(Random(1))
    >>> 0.98 <= clock.rate <= 1.02
    True
    """
    return Clock(1.0 + draws.uniform(-DRIFT, DRIFT), draws.uniform(1.0, 1000.0))
