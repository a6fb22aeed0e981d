"""Amnesiac: restarts now and then without its votes, and pretends that nothing happened.

A correct replica that lost its votes draws a new incarnation. This one keeps the old one: it votes
again for ids that it has voted for, and denies what it stated.
"""

from __future__ import annotations

from quorumcast.core.machine import Machine, Ready
from quorumcast.core.records import Loaded, Read
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Ledger, Plot
from quorumcast.sim.store import Store

LEAST_SECONDS, MOST_SECONDS = 0.4, 2.0
LAPSES = 6


class Amnesiac(Liar):
    """Replaces its machine by a fresh one with the old life and an empty memory.

    Its machine's records and reads go to a store of its own, which is forgotten with it.
    """

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._store = Store(plot.cluster.id)
        self._answers: list[tuple[Read, Loaded]] = []
        self._lapses = 0
        self._next: float | None = None

    def at(self, now: float) -> None:
        """Answer what was read in the last turn, and perhaps forget everything."""
        super().at(now)
        if self._next is None:
            self._next = now + self.draws.uniform(LEAST_SECONDS, MOST_SECONDS)
        answers, self._answers = self._answers, []
        for request, result in answers:
            self.inner.loaded(request, result)
        if now >= self._next and self._lapses < LAPSES:
            self._next = now + self.draws.uniform(LEAST_SECONDS, MOST_SECONDS)
            self._lapses += 1
            if self.act("forgets its votes"):
                self._forget(now)

    def _forget(self, now: float) -> None:
        assert self.plot.rebuild is not None, "the rig provides it"
        self.inner = self.plot.rebuild(self.me)
        self._store = Store(self.plot.cluster.id)
        self.ledger = Ledger(self.plot.cluster.id)
        self.inner.at(now)
        self.start()
        for party in self.live:
            self.inner.linked(party)

    def loaded(self, request: Read, result: Loaded) -> None:
        """The real disk has nothing to say here."""

    def twist(self, ready: Ready) -> Ready:
        """Keep records and reads to itself; say what the forgetful machine says."""
        self._store.apply(ready.records)
        self._answers += [(request, self._store.read(request)) for request in ready.reads]
        ready.records, ready.reads = [], []
        if self._answers:
            return self.sooner(ready, self.now)
        if self._lapses < LAPSES and self._next is not None:
            return self.sooner(ready, self._next)
        return ready
