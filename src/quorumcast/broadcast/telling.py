"""What a replica tells its peers about a stream, when, and how often again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.core.ids import Party
from quorumcast.core.limits import (
    REPEAT_MOST_SECONDS,
    REPEAT_SECONDS,
    REPEATS,
    RESTATEMENTS,
    TELL_BYTES,
)
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import ConfirmedUpTo, Held, Message, ReadyUpTo

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream


class Teller:
    """Tells HELD by the channel's rhythm, READY and CONFIRMED at once, and repeats them.

    HELD leaves every turn on `bracha` and `plain`; on `ab` when α votes are untold, or votes for so
    many bytes that waiting would stop a publisher of large bodies, or when the oldest has waited
    for `within`, a time that newer ones do not put off. Statements are repeated
    to each peer, with backoff and a cap, until it states CONFIRMED for them.
    """

    def __init__(self, stream: ReplicaStream) -> None:
        self._stream = stream
        self._told = 0
        self._untold_bytes = 0
        """What the bodies amount to that were voted for since HELD was told."""
        self._ready = 0
        self._confirmed = 0
        self._due = False
        self._claimed: dict[Party, int] = {}
        self._answers: dict[Party, None] = {}
        self._said = 0
        """The highest position stated before the last repetition was set."""
        self._interval = REPEAT_SECONDS
        self._repeats = 0

    @property
    def idle(self) -> bool:
        """Whether nothing is left to tell or to repeat."""
        return not self._answers and (not self._lagging(self._stated) or self.exhausted)

    @property
    def exhausted(self) -> bool:
        """Whether all was told, and repeated as often as it may be."""
        stream = self._stream
        return (
            self._repeats >= REPEATS
            and self._told >= stream.head
            and self._ready >= stream.ready.seq
            and self._confirmed >= stream.confirmed.seq
        )

    @property
    def _stated(self) -> int:
        return max(self._told, self._ready, self._confirmed)

    def claimed_by(self, peer: Party, position: int) -> None:
        """A peer states CONFIRMED up to here: below, it need not be told anything."""
        if position > self._claimed.get(peer, 0):
            self._claimed[peer] = position

    def answer(self, peer: Party) -> None:
        """A peer speaks of what is confirmed here: tell it."""
        if self._claimed.get(peer, 0) < self._stream.confirmed.seq:
            self._answers[peer] = None

    def forget(self, peer: Party) -> None:
        """A peer lost its memory: tell it all again."""
        self._claimed.pop(peer, None)
        self.restated()

    def restated(self) -> None:
        """All is to be stated again: after a restart, or to a peer that came back."""
        self._interval, self._repeats = REPEAT_SECONDS, 0
        context = self._stream.context
        self._said = max(self._said, self._stream.head, self._stream.ready.seq)
        context.agenda.soon((self._stream, "repeat"), context.now)

    def restored(self) -> None:
        """Read back from the store: all was stated before, and is not unless something is new.

        Else streams in which nobody can help would wake each other for ever.
        """
        stream = self._stream
        self._told, self._ready = stream.head, stream.ready.seq
        self._confirmed = stream.confirmed.seq
        self._repeats = REPEATS

    def revisit(self) -> None:
        """State all again, a few times: after a restart, or because the network may have healed."""
        self.restated()
        self._repeats = REPEATS - RESTATEMENTS

    def voted(self, size: int) -> None:
        """There are votes for bodies of so many bytes."""
        self._untold_bytes += size

    def due(self) -> None:
        """The oldest untold vote has waited long enough."""
        self._due = True
        self._stream.touch()

    def tell(self) -> None:
        """State what is new in this turn."""
        stream, context = self._stream, self._stream.context
        new = self._tell_held()
        if stream.ready.seq > self._ready:
            self._ready = stream.ready.seq
            if stream.ready.seq > stream.confirmed.seq:
                context.to_peers(ReadyUpTo(stream.stream, *stream.ready))
                new = True
        if stream.confirmed.seq > self._confirmed:
            self._confirmed = stream.confirmed.seq
            context.to_peers(ConfirmedUpTo(stream.stream, *stream.confirmed))
            self._answers.clear()
            new = True
        for peer in self._answers:
            context.out.send(peer, ConfirmedUpTo(stream.stream, *stream.confirmed))
        self._answers.clear()
        if new:
            self._interval, self._repeats = REPEAT_SECONDS, 0
            context.agenda.soon((stream, "repeat"), context.now + self._interval)

    def _tell_held(self) -> bool:
        stream, context = self._stream, self._stream.context
        first = max(self._told, stream.path.base.seq) + 1
        untold = stream.head + 1 - first
        if untold <= 0:
            self._due = False
            return False
        channel = context.channel
        few = untold < channel.alpha and self._untold_bytes < TELL_BYTES
        if channel.protocol == "ab" and few and not self._due:
            context.agenda.soon((stream, "tell"), context.now + channel.within_seconds)
            return False
        self._due = False
        context.agenda.cancel((stream, "tell"))
        context.to_peers(self.held(first, stream.head))
        self._told = stream.head
        self._untold_bytes = 0
        return True

    def held(self, first: int, last: int) -> Held:
        """HELD from `first` to `last`, both on the path."""
        stream = self._stream
        base = stream.path.base.seq
        signatures = bytes(stream.signatures[(first - base - 1) * S : (last - base) * S])
        return Held(stream.stream, first, stream.path.run(first, last), signatures)

    def everything(self, first: int, last: int) -> list[Message]:
        """All that this replica states about the stream, votes from `first` to `last`."""
        stream = self._stream
        said: list[Message] = []
        if stream.confirmed.seq > 0:
            said.append(ConfirmedUpTo(stream.stream, *stream.confirmed))
        first = max(first, stream.path.base.seq + 1)
        if last >= first:
            said.append(self.held(first, last))
        if stream.ready.seq > stream.confirmed.seq:
            said.append(ReadyUpTo(stream.stream, *stream.ready))
        return said

    def _lagging(self, position: int) -> list[Party]:
        """Peers with a link that have not confirmed what was stated up to a position."""
        live = self._stream.context.replicas.live
        return [
            peer
            for peer in self._stream.context.peers
            if peer in live and self._claimed.get(peer, 0) < position
        ]

    def repeat(self) -> None:
        """Say again to whoever has not confirmed what was said a while ago."""
        stream, context = self._stream, self._stream.context
        lagging = self._lagging(self._said)
        self._said = self._stated
        if lagging:
            said = self.everything(0, min(self._told, stream.head))
            for peer in lagging:
                for message in said:
                    context.out.send(peer, message)
            self._repeats += 1
            self._interval = min(2 * self._interval, REPEAT_MOST_SECONDS)
        if self.exhausted:
            stream.touch()  # nothing is left to do here for now
        elif self._lagging(self._said):
            context.agenda.soon((stream, "repeat"), context.now + self._interval)
