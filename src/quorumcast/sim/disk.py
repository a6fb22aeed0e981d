"""A replica's disk: commits a turn's records at once, keeps what was synced over a crash.

With `sync_every=1` every commit is synced, as a replica's votes are at every level. With more, the
last commits are only in the machine's memory until the next sync: a crash of the machine loses
them (`crash(lose_tail=True)`), a crash of the process does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from quorumcast.core.ids import FIRST, Incarnation
from quorumcast.core.records import Floored, Incarnated, Loaded, Read, Record
from quorumcast.sim.store import Store


class Disk:
    """One replica's disk.

    >>> disk = Disk(bytes(32))
    >>> disk.commit([Incarnated(((Incarnation(1, 7), 0.0),), ())])
    >>> disk.life.valid[-1][0].counter
    1
    >>> disk.wipe(); disk.life is None
    True
    """

    def __init__(self, cluster: bytes, sync_every: int = 1) -> None:
        self._cluster = cluster
        self._sync_every = sync_every
        self.store = Store(cluster)
        self._synced = self.store if sync_every == 1 else Store(cluster)
        self._tail: list[Sequence[Record]] = []
        self.commits = 0

    @property
    def life(self) -> Incarnated | None:
        """The incarnations that were last stored; None on an empty disk."""
        return self.store.life

    @property
    def unsynced(self) -> int:
        """How many commits a crash of the machine would lose."""
        return len(self._tail)

    def commit(self, records: Sequence[Record]) -> None:
        """Store a turn's records, all of them."""
        self.commits += 1
        self.store.apply(records)
        if self._synced is not self.store:
            self._tail.append(records)
            if len(self._tail) >= self._sync_every:
                self.sync()

    def sync(self) -> None:
        """Make everything durable that was committed."""
        for records in self._tail:
            self._synced.apply(records)
        self._tail.clear()

    def crash(self, *, lose_tail: bool) -> bool:
        """The machine stops; with `lose_tail`, what was not synced is gone. Says if any was."""
        if not lose_tail or not self._tail:
            self.sync()
            return False
        self._tail.clear()
        self.store = self._synced
        self._synced = _copy(self._cluster, self.store)
        return True

    def wipe(self) -> None:
        """Everything is gone, as after a disk was replaced."""
        self.store = Store(self._cluster)
        self._synced = self.store if self._sync_every == 1 else Store(self._cluster)
        self._tail.clear()

    def lose_bodies(self) -> list[Floored]:
        """Bodies are gone, as where they live in memory; returns the floors that this makes.

        Confirmed positions without bodies are a floor. Unconfirmed votes stay, without bodies.
        """
        self.sync()
        floors = self.store.without_bodies()
        self.commit(floors)
        self.sync()
        self.store.strip()
        if self._synced is not self.store:
            self._synced.strip()
        return floors

    def read(self, request: Read) -> Loaded:
        """What the store answers."""
        return self.store.read(request)


def new_life(
    replica: int, count: int, incarnation: Incarnation, birth: float, seen: Sequence[Incarnation]
) -> Incarnated:
    """The life of a replica that has no votes, or cannot know whether it forgot some.

    >>> new_life(0, 2, Incarnation(5, 9), 0.0, ()).seen
    (Incarnation(counter=5, nonce=9), Incarnation(counter=1, nonce=0))
    """
    known = list(seen) or [FIRST] * count
    known[replica] = incarnation
    return Incarnated(((incarnation, birth),), tuple(known))


def _copy(cluster: bytes, store: Store) -> Store:
    copy = Store(cluster)
    copy.life = store.life
    for stream, stored in store.streams.items():
        copy.streams[stream] = stored.copy()
    return copy
