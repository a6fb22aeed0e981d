"""What waits to be written on all links of a process, so that it stays within one bound.

A link has a bound of its own; ten thousand peers that do not read would still add up. Links note
what waits after each write. When the sum seems too large, all are asked again, for they may have
been read since; if it is, the link with most of it ends, clients before replicas.
"""

from __future__ import annotations

from typing import Protocol


class Writer(Protocol):
    """A link, as far as its waiting output is concerned."""

    is_replica: bool

    def unsent(self) -> int:
        """Bytes that wait to be written."""
        ...

    def give_up(self, why: str) -> None:
        """End the link now; what waits is lost."""
        ...


class Outbox:
    """The sum of what waits on the links of a process.

    >>> outbox = Outbox(100)
    >>> outbox.total
    0
    """

    __slots__ = ("_limit", "_waiting", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[Writer, int] = {}
        self.total = 0

    def note(self, link: Writer, size: int) -> None:
        """So much waits on this link now."""
        self.total += size - self._waiting.pop(link, 0)
        if size:
            self._waiting[link] = size
        if self.total > self._limit:
            self._make_room()

    def _make_room(self) -> None:
        for link in list(self._waiting):
            size = link.unsent()
            self.total += size - self._waiting.pop(link)
            if size:
                self._waiting[link] = size
        while self.total > self._limit:
            worst = max(self._waiting, key=lambda link: (not link.is_replica, self._waiting[link]))
            size = self._waiting.pop(worst)
            self.total -= size
            worst.give_up(f"{size} bytes wait for it, and too many for others")
