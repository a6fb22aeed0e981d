"""Unfinished frames of all clients of a process, so that they stay within one bound.

A frame is held until its last byte has come, and each link may be within a long one; ten thousand
clients that send half of one would add up. Links note what they hold. When it is too much, the
link goes whose frame has been unfinished for longest, of those that hold more than an equal part:
who sends short frames, or all of a long one, is not in the way of others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Holder(Protocol):
    """A link, as far as its unfinished frame is concerned."""

    def give_up(self, why: str) -> None:
        """End the link now."""
        ...


class Inbox:
    """The sum of what the links of a process hold of unfinished frames.

    >>> inbox = Inbox(100)
    >>> inbox.total
    0
    """

    __slots__ = ("_held", "_limit", "_was_much", "on_relief", "total")

    def __init__(self, limit: int) -> None:
        self.on_relief: Callable[[], object] = lambda: None
        """Called when there is little again after there was much."""
        self._limit = limit
        self._was_much = False
        self._held: dict[Holder, int] = {}
        """The link whose frame is unfinished for longest first."""
        self.total = 0

    def note(self, link: Holder, size: int) -> None:
        """So much of an unfinished frame is held for this link now; 0: its frame is whole."""
        before = self._held.get(link, 0)
        if size == before:
            return
        self.total += size - before
        if size:
            self._held[link] = size
        else:
            del self._held[link]
        while self.total > self._limit:
            self._make_room()
        if self.total > self._limit // 2:
            self._was_much = True
        elif self._was_much and self.total < self._limit // 8:
            self._was_much = False
            self.on_relief()

    def _make_room(self) -> None:
        part = self.total / len(self._held)
        worst = next(link for link, size in self._held.items() if size >= part)
        size = self._held.pop(worst)
        self.total -= size
        worst.give_up(f"{size} bytes are held of a frame that does not end, and others send too")
