"""What peers say about the streams of a channel, handed to the stream that it is about."""

from __future__ import annotations

from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.shelf import Shelf
from quorumcast.broker.statements import Statements
from quorumcast.core.ids import Party, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Digests,
    FloorAt,
    Held,
    OpeningOf,
    ReadyUpTo,
)


class Peers:
    """One handler per message of a peer; the sender is a replica that showed its incarnation."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._out = shelf.context.out
        self._statements = Statements(shelf.context, shelf)

    def _heard(
        self, sender: Party, message: Held | ReadyUpTo | ConfirmedUpTo | FloorAt
    ) -> ReplicaStream | None:
        """The stream that a peer speaks of, at work; None while it is read, or has no place."""
        settled = isinstance(message, ConfirmedUpTo | FloorAt)
        entry = self._shelf.heard_of(message.stream, sender, settled=settled)
        if entry is None:
            return None
        if entry.active is None:
            self._shelf.load(entry, sender, message)
        return entry.active

    def held(self, sender: Party, message: Held) -> None:
        """HELD."""
        last = message.first + len(message.digests) // D - 1
        if not self._settled_already(sender, message.stream, last):
            active = self._heard(sender, message)
            if active is not None:
                self._statements.held(active, sender, message)

    def ready(self, sender: Party, message: ReadyUpTo) -> None:
        """READY."""
        if not self._settled_already(sender, message.stream, message.position):
            active = self._heard(sender, message)
            if active is not None:
                self._statements.ready(active, sender, message)

    def confirmed(self, sender: Party, message: ConfirmedUpTo) -> None:
        """CONFIRMED."""
        entry = self._shelf.entries.get(message.stream)
        if entry is not None and entry.active is None and message.position <= entry.confirmed.seq:
            return
        active = self._heard(sender, message)
        if active is not None:
            self._statements.confirmed(active, sender, message)

    def _settled_already(self, peer: Party, stream: Stream, last: int) -> bool:
        """A peer speaks of what a stream at rest has confirmed: tell it, without waking that."""
        entry = self._shelf.entries.get(stream)
        if entry is None or entry.active is not None or last > entry.confirmed.seq:
            return False
        self._out.send(peer, ConfirmedUpTo(stream, *entry.confirmed))
        return True

    def floor(self, sender: Party, message: FloorAt) -> None:
        """A floor."""
        active = self._heard(sender, message)
        if active is not None:
            self._statements.floor(active, sender, message)

    def opening(self, sender: Party, message: OpeningOf) -> None:
        """The opening of a stream, asked for."""
        active = self._shelf.active(message.stream)
        if active is not None:
            self._statements.opening(active, sender, message)

    def digests(self, sender: Party, message: Digests) -> None:
        """Digests, asked for."""
        active = self._shelf.active(message.stream)
        if active is not None:
            active.repair.digests(sender, message.first, message.digests)

    def bodies(self, sender: Party, message: Bodies) -> None:
        """Bodies, asked for; their publisher may send them too."""
        active = self._shelf.active(message.stream)
        if active is not None:
            active.repair.bodies(sender, message.first, message.bodies, message.signatures)
