"""Bodies that replicas sent to a subscriber and that are not delivered yet."""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.limits import COPIES_BYTES


class Copies:
    """At most one body per position and replica, within a number of bytes per replica.

    `totals` counts the bytes of each replica over all the streams that share it.

    >>> copies = Copies({})
    >>> copies.add("r1", 1, b"a", most=10)
    True
    >>> copies.at(1)
    [('r1', b'a')]
    """

    def __init__(self, totals: dict[Party, int]) -> None:
        self._totals = totals
        self._bodies: dict[int, dict[Party, bytes]] = {}
        self._sizes: dict[Party, int] = {}

    def add(self, replica: Party, position: int, body: bytes, most: int) -> bool:
        """Keep a body, if its replica has room for it, or a stream's first one room at all."""
        size = self._sizes.get(replica, 0) + len(body)
        total = self._totals.get(replica, 0) + len(body)
        if total > COPIES_BYTES or (size > most and size > len(body)):
            return False
        self.keep(replica, position, body)
        return True

    def keep(self, replica: Party, position: int, body: bytes) -> None:
        """Keep a body in any case; a replica's first one for a position counts."""
        copies = self._bodies.setdefault(position, {})
        if replica not in copies:
            copies[replica] = body
            self._count(replica, len(body) + 1)

    def _count(self, replica: Party, change: int) -> None:
        for sizes in (self._sizes, self._totals):
            size = sizes.get(replica, 0) + change
            if size > 0:
                sizes[replica] = size
            else:
                sizes.pop(replica, None)

    def at(self, position: int) -> list[tuple[Party, bytes]]:
        """The bodies at a position, with who sent them."""
        return list(self._bodies.get(position, {}).items())

    def likely(self, position: int) -> bytes | None:
        """The body that most replicas sent for a position."""
        bodies = list(self._bodies.get(position, {}).values())
        return max(bodies, key=bodies.count) if bodies else None

    def remove(self, replica: Party, position: int) -> None:
        """A body turned out to be false."""
        self._count(replica, -len(self._bodies[position].pop(replica)) - 1)

    def drop(self, last: int) -> None:
        """Bodies up to a position are not needed any more."""
        for position in [position for position in self._bodies if position <= last]:
            for replica, body in self._bodies.pop(position).items():
                self._count(replica, -len(body) - 1)

    def clear(self) -> None:
        """Nothing is kept any more."""
        self.drop(max(self._bodies, default=0))
