"""Bodies that replicas sent to a subscriber and that are not delivered yet."""

from __future__ import annotations

from quorumcast.core.ids import Party


class Copies:
    """At most one body per position and replica, within a number of bytes per replica.

    >>> copies = Copies()
    >>> copies.add("r1", 1, b"a", most=10, next_position=1)
    >>> copies.at(1)
    [('r1', b'a')]
    """

    def __init__(self) -> None:
        self._bodies: dict[int, dict[Party, bytes]] = {}
        self._sizes: dict[Party, int] = {}

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not self._bodies

    def add(
        self, replica: Party, position: int, body: bytes, most: int, next_position: int
    ) -> None:
        """Keep a body; the one that is next to be delivered always finds room."""
        copies = self._bodies.setdefault(position, {})
        size = self._sizes.get(replica, 0) + len(body)
        if replica not in copies and (size <= most or position == next_position):
            copies[replica] = body
            self._sizes[replica] = size

    def at(self, position: int) -> list[tuple[Party, bytes]]:
        """The bodies at a position, with who sent them."""
        return list(self._bodies.get(position, {}).items())

    def likely(self, position: int) -> bytes | None:
        """The body that most replicas sent for a position."""
        bodies = list(self._bodies.get(position, {}).values())
        return max(bodies, key=bodies.count) if bodies else None

    def remove(self, replica: Party, position: int) -> None:
        """A body turned out to be false."""
        self._sizes[replica] -= len(self._bodies[position].pop(replica))

    def drop(self, last: int) -> None:
        """Bodies up to a position are not needed any more."""
        for position in [position for position in self._bodies if position <= last]:
            for replica, body in self._bodies.pop(position).items():
                self._sizes[replica] -= len(body)
