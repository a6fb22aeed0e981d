"""Bugs in catching up: what is told again, asked for, fetched, adopted, kept."""

from __future__ import annotations

from typing import Any

from quorumcast.core.ids import Position
from quorumcast.core.limits import SESSIONS_UNCONFIRMED


def tail_never_told(_right: Any) -> Any:
    """After the last publication of a burst nothing is exchanged."""

    def due(self: Any) -> None:
        return None

    return due


def within_put_off(right: Any) -> Any:
    """Every new publication puts the exchange off."""

    def tell_held(self: Any) -> bool:
        stream = self._stream
        if stream.head > getattr(self, "seen_head", 0):
            self.seen_head = stream.head
            stream.context.agenda.cancel((stream, "tell"))
        return right(self)

    return tell_held


def said_once(_right: Any) -> Any:
    """A statement is made once, and lost if its message is."""

    def repeat(self: Any) -> None:
        return None

    return repeat


def no_repair(_right: Any) -> Any:
    """A replica that missed a publication never asks for it."""

    def run(self: Any) -> None:
        return None

    return run


def bodies_not_fetched(_right: Any) -> Any:
    """A replica waits for the bodies that its publisher did not send to it."""

    def fetch(self: Any) -> None:
        return None

    return fetch


def repair_once(right: Any) -> Any:
    """A replica asks once for what it lacks, and waits for ever if that is lost."""

    def tick(self: Any) -> None:
        if not getattr(self, "was_run", False):
            self.was_run = True
            right(self)

    return tick


def any_body_taken(_right: Any) -> Any:
    """A body that was asked for is stored whatever its digest is."""

    def bodies(self: Any, sender: str, first: int, bodies: Any, signed: bytes) -> None:
        for index, body in enumerate(bodies):
            wanted = self._wanted.get(first + index)
            if wanted is not None:
                self._found.setdefault(first + index, (body, signed[index * 64 :][:64], wanted))
        self._use()
        self._want()
        self._fetch()
        self._stream.touch()

    return bodies


def adoption_waits_for_sessions(right: Any) -> Any:
    """Adoption waits while its publisher has too many unconfirmed sessions."""

    def bodies(self: Any, sender: str, message: Any) -> None:
        others = [
            entry
            for stream, entry in self._shelf.entries.items()
            if stream.publisher == message.stream.publisher
            and stream != message.stream
            and entry.head > entry.confirmed.seq
        ]
        if len(others) < SESSIONS_UNCONFIRMED:
            right(self, sender, message)

    return bodies


def put_away_and_silent(_right: Any) -> Any:
    """A stream that went to rest unconfirmed says nothing of its votes when asked."""

    def asked(self: Any, sender: str, message: Any) -> Any:
        return self._shelf.entries.get(message.stream) if self._serving.allowed(sender) else None

    return asked


def drops_when_full(right: Any) -> Any:
    """A replica drops what a subscriber has no credit for."""

    def pump(self: Any, cursor: Any, entry: Any) -> None:
        if not cursor.reading and cursor.next <= entry.head and cursor.next > cursor.through:
            cursor.next = entry.head + 1
        right(self, cursor, entry)

    return pump


def aged_floor_confirms(_right: Any) -> Any:
    """What goes by age leaves a floor that counts as CONFIRMED."""

    def close(self: Any, entry: Any) -> None:
        entry.oldest_at = None
        active = entry.active
        if active is not None and active.head > active.floor.seq:
            active.cut(Position(*active.path.tip), confirmed=True)
            entry.floor, entry.floor_confirmed = active.floor, True

    return close
