"""Incarnations: this replica's own, and the last that it saw of each peer."""

from __future__ import annotations

from itertools import pairwise

from quorumcast.broadcast.context import Replicas
from quorumcast.core.ids import FIRST, Incarnation, Party
from quorumcast.core.messages import Hello
from quorumcast.core.records import Incarnated

_CHANGE_SECONDS = 1.0
"""How often a peer may change its incarnation: each change costs a pass over all streams."""


class Incarnations:
    """Who lives which life; a peer's new one cancels what it stated.

    Nothing that a peer says counts before its Hello on this link.
    """

    def __init__(self, replicas: Replicas, life: Incarnated) -> None:
        self._replicas = replicas
        self._valid = life.valid
        self._seen = list(life.seen)
        self._seen += [FIRST] * (len(replicas.cluster.replicas) - len(self._seen))
        self._seen[replicas.index] = self.current
        self._greeted: dict[Party, None] = {}
        self._changed: dict[Party, float] = {}
        replicas.valid = {incarnation for incarnation, _ in life.valid}

    @property
    def current(self) -> Incarnation:
        """This replica's present life."""
        return self._valid[-1][0]

    @property
    def born(self) -> float:
        """When that life began; 0 for the one that every replica is born with."""
        return self._valid[-1][1]

    def hello(self) -> Hello:
        """What this replica shows of itself and reports of others."""
        return Hello(self.current, tuple(self._seen))

    def greeted(self, peer: Party) -> bool:
        """Whether the peer showed its incarnation on this link."""
        return peer in self._greeted

    def unlinked(self, peer: Party) -> None:
        """The peer's link is gone: it has to show itself again."""
        self._greeted.pop(peer, None)

    def shown(self, peer: Party, hello: Hello) -> bool:
        """A peer's Hello; returns whether it lives a new life."""
        self._greeted[peer] = None
        index = self._replicas.cluster.replicas.index(peer)
        old = self._seen[index]
        now = self._replicas.now
        if hello.incarnation <= old or now < self._changed.get(peer, -1.0) + _CHANGE_SECONDS:
            return False
        self._changed[peer] = now
        self._seen[index] = hello.incarnation
        self._store()
        return True

    def renew(self, incarnation: Incarnation, now: float, age_seconds: float) -> None:
        """Rotate: a new incarnation; earlier ones stay valid until the retention age."""
        assert incarnation > self.current, "incarnations only grow"
        lives = (*self._valid, (incarnation, now))
        kept = [life for life, (_, ended) in pairwise(lives) if now - ended <= age_seconds]
        self._valid = (*kept, (incarnation, now))
        self._replicas.valid = {each for each, _ in self._valid}
        self._seen[self._replicas.index] = incarnation
        self._store()

    def _store(self) -> None:
        self._replicas.out.record(Incarnated(self._valid, tuple(self._seen)))
