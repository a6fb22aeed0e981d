"""Bodies that replicas sent to a subscriber and that are not delivered yet."""

from __future__ import annotations

from collections.abc import Sequence

from quorumcast.core.ids import Party
from quorumcast.core.limits import COPIES_BYTES


class Copies:
    """At most one body per position and replica, within a number of bytes per replica.

    `totals` counts the bytes of each replica over all the streams that share it, and a byte for
    each body.

    >>> copies = Copies({})
    >>> copies.add("r1", 1, b"a", most=10)
    True
    >>> copies.at(1)
    [('r1', b'a')]
    """

    def __init__(self, totals: dict[Party, int]) -> None:
        self._totals = totals
        self._bodies: dict[Party, dict[int, bytes]] = {}
        self._sizes: dict[Party, int] = {}
        self._dropped = 0

    # -- what comes ----------------------------------------------------------------------------

    def add_run(self, replica: Party, first: int, bodies: Sequence[bytes], most: int) -> list[int]:
        """Keep consecutive bodies; returns the positions of those that there is no room for.

        >>> Copies({}).add_run("r1", 1, [b"a", b"b" * 20, b"c"], most=10)
        [2]
        """
        size = sum(map(len, bodies))
        positions = range(first, first + len(bodies))
        mine = self._bodies.get(replica)
        if self._fits(replica, size, most) and (mine is None or mine.keys().isdisjoint(positions)):
            if mine is None:
                mine = self._bodies[replica] = {}
            mine.update(zip(positions, bodies, strict=True))
            self._count(replica, size + len(bodies))
            return []
        return [
            position
            for position, body in zip(positions, bodies, strict=True)
            if not self.add(replica, position, body, most)
        ]

    def add(self, replica: Party, position: int, body: bytes, most: int) -> bool:
        """Keep a body, if its replica has room for it, or a stream's first one room at all."""
        size = self._sizes.get(replica, 0) + len(body)
        if not self._fits(replica, len(body), most) and (
            size > len(body) or self._totals.get(replica, 0) + len(body) > COPIES_BYTES
        ):
            return False
        self.keep(replica, position, body)
        return True

    def _fits(self, replica: Party, size: int, most: int) -> bool:
        return (
            self._sizes.get(replica, 0) + size <= most
            and self._totals.get(replica, 0) + size <= COPIES_BYTES
        )

    def keep(self, replica: Party, position: int, body: bytes) -> None:
        """Keep a body in any case; a replica's first one for a position counts."""
        mine = self._bodies.setdefault(replica, {})
        if position not in mine:
            mine[position] = body
            self._count(replica, len(body) + 1)

    def _count(self, replica: Party, change: int) -> None:
        for sizes in (self._sizes, self._totals):
            size = sizes.get(replica, 0) + change
            if size > 0:
                sizes[replica] = size
            else:
                sizes.pop(replica, None)

    # -- what is there -------------------------------------------------------------------------

    def at(self, position: int) -> list[tuple[Party, bytes]]:
        """The bodies at a position, with who sent them."""
        return [
            (replica, mine[position]) for replica, mine in self._bodies.items() if position in mine
        ]

    def runs(self, first: int, last: int) -> list[tuple[Party, list[bytes]]]:
        """Who sent a body for `first`, with those for the positions behind it without a gap.

        >>> copies = Copies({})
        >>> copies.add_run("r1", 1, [b"a", b"b"], most=10), copies.add("r1", 4, b"d", most=10)
        ([], True)
        >>> copies.runs(1, 9)
        [('r1', [b'a', b'b'])]
        """
        found: list[tuple[Party, list[bytes]]] = []
        for replica, mine in self._bodies.items():
            if first not in mine:
                continue
            run: list[bytes] = []
            for position in range(first, last + 1):
                body = mine.get(position)
                if body is None:
                    break
                run.append(body)
            found.append((replica, run))
        return found

    def likely(self, first: int, last: int) -> tuple[Party, list[bytes]] | None:
        """The bodies that most replicas sent for a position, and those that follow it.

        Where replicas differ at the position, one body is found, that of most of them.

        >>> copies = Copies({})
        >>> copies.add("r4", 1, b"x", most=9), copies.add_run("r1", 1, [b"a", b"b"], most=9)
        (True, [])
        >>> copies.likely(1, 9)
        ('r4', [b'x'])
        """
        runs = sorted(self.runs(first, last), key=_length, reverse=True)
        if not runs:
            return None
        longest = runs[0][1]
        if all(run == longest[: len(run)] for _, run in runs):
            return runs[0]
        heads = [(replica, body) for replica, body in self.at(first)]
        bodies = [body for _, body in heads]
        replica, body = max(heads, key=lambda head: bodies.count(head[1]))
        return replica, [body]

    # -- what goes -----------------------------------------------------------------------------

    def remove(self, replica: Party, position: int) -> None:
        """A body turned out to be false."""
        self._count(replica, -len(self._bodies[replica].pop(position)) - 1)

    def drop(self, last: int) -> None:
        """Bodies up to a position are not needed any more."""
        for replica, mine in self._bodies.items():
            span = range(self._dropped + 1, last + 1)
            gone = span if len(span) <= len(mine) else [each for each in mine if each <= last]
            bodies = [body for position in gone if (body := mine.pop(position, None)) is not None]
            if bodies:
                self._count(replica, -sum(map(len, bodies)) - len(bodies))
        self._dropped = max(self._dropped, last)

    def clear(self) -> None:
        """Nothing is kept any more."""
        for replica, mine in self._bodies.items():
            self._count(replica, -sum(map(len, mine.values())) - len(mine))
        self._bodies.clear()


def _length(run: tuple[Party, list[bytes]]) -> int:
    return len(run[1])
