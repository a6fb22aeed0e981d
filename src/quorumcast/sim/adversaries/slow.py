"""Slow: says everything that a correct replica would, too late."""

from __future__ import annotations

from collections import deque

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import Message
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

LEAST_SECONDS, MOST_SECONDS = 0.3, 4.0
HELD_BACK = 20_000
"""Messages held back at most; what comes above goes out at once."""


class Slow(Liar):
    """Holds back each turn's messages for a while, in order."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._pause = self.draws.uniform(LEAST_SECONDS, MOST_SECONDS)
        self._later: deque[tuple[float, dict[Party, list[Message]]]] = deque()
        self._count = 0

    def twist(self, ready: Ready) -> Ready:
        """Put the turn's messages aside, and send those whose time has come."""
        size = sum(len(messages) for messages in ready.messages.values())
        if size and self._count + size <= HELD_BACK and self.act("is slow"):
            self._later.append((self.now + self._pause, dict(ready.messages)))
            self._count += size
            ready.messages = {}
        while self._later and self._later[0][0] <= self.now:
            _, messages = self._later.popleft()
            for receiver, late in messages.items():
                self._count -= len(late)
                if receiver in self.live:
                    ready.messages[receiver] = ready.messages.get(receiver, []) + late
        return self.sooner(ready, self._later[0][0]) if self._later else ready
