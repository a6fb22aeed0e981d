"""Answers to questions of peers and subscribers, from memory or from the store.

Every question costs its asker a token; what exceeds its rate is dropped and asked again later, so
that a party which asks for ever costs a bounded share of the replica. Reads under way are bounded
per party in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.core.ids import Party
from quorumcast.core.limits import (
    ANSWER_BYTES,
    ANSWER_HEADS,
    READ_BYTES,
    READ_POSITIONS,
    READS_PER_CLIENT,
)
from quorumcast.core.machine import Out
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Digests,
    FloorAt,
    Heads,
    Held,
    Message,
    OpeningOf,
)
from quorumcast.core.rates import Bucket
from quorumcast.core.records import Range, ReadRange

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream

NO_CHAIN = bytes(32)


class Reads:
    """Reads under way and what follows them, bounded per party."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._then: dict[ReadRange, list[tuple[Party, Callable[[Range], None]]]] = {}
        self._count: dict[Party, int] = {}

    def ask(self, party: Party, request: ReadRange, then: Callable[[Range], None]) -> bool:
        """Read for a party, unless too much is being read for it already."""
        count = self._count.get(party, 0)
        if count >= READS_PER_CLIENT:
            return False
        self._count[party] = count + 1
        if request not in self._then:
            self._then[request] = []
            self._out.read(request)
        self._then[request].append((party, then))
        return True

    def loaded(self, request: ReadRange, result: Range | None) -> None:
        """The store's answer; None: the stream is gone, and nothing was found."""
        found = result or Range(request.first, NO_CHAIN, b"", (), b"")
        for party, then in self._then.pop(request, []):
            left = self._count[party] - 1
            if left:
                self._count[party] = left
            else:
                del self._count[party]
            then(found)


class Serving:
    """Answers questions about the streams of one channel."""

    def __init__(self, shelf: Shelf, reads: Reads, bucket: Bucket) -> None:
        self._shelf = shelf
        self._context = shelf.context
        self._out = shelf.context.out
        self._reads = reads
        self._bucket = bucket

    def allowed(self, party: Party) -> bool:
        """Whether this party may ask about this channel, and now."""
        known = party in self._context.cluster.replicas
        if not known and not self._context.channel.admits_subscriber(party):
            self._out.reject(party, f"{party} may not read {self._context.channel.name}")
            return False
        return self._bucket.take(party, self._context.now)

    def affords(self, party: Party, cost: float) -> bool:
        """Whether a party has tokens left for something that costs so many; if so, they go."""
        if not self._bucket.take(party, self._context.now):
            return False
        self._bucket.charge(party, self._context.now, cost - 1.0)
        return True

    def _send(self, party: Party, answer: Message) -> None:
        """Send an answer from memory; a long one costs more than one token."""
        size = len(getattr(answer, "digests", b"")) + len(getattr(answer, "signatures", b""))
        self._bucket.charge(party, self._context.now, size / ANSWER_BYTES)
        self._out.send(party, answer)

    def heads(self, party: Party, message: AskHeads) -> None:
        """Streams that changed after the asker's counter."""
        counter, heads, more = self._shelf.heads(message.since)
        self._bucket.charge(party, self._context.now, len(heads) / ANSWER_HEADS)
        self._out.send(party, Heads(message.channel, counter, tuple(heads), more))

    def opening(self, party: Party, active: ReplicaStream, message: AskOpening) -> None:
        """What the session is the hash of."""
        if active.opening is not None:
            self._out.send(party, OpeningOf(message.stream, active.opening, active.certificate))

    def votes(self, party: Party, entry: Entry, message: AskVotes) -> None:
        """All statements from a position on; at rest, CONFIRMED says it all."""
        self.floor_if_below(party, entry, message.first)
        active = entry.active
        if active is not None:
            for said in active.teller.everything(message.first, active.head):
                self._send(party, said)
        elif entry.confirmed.seq > 0:
            self._out.send(party, ConfirmedUpTo(entry.stream, *entry.confirmed))
        if not self._context.limited:  # there a confirmation is no vote for what lies below it
            first = max(message.first, entry.floor.seq + 1)
            base = active.path.base.seq if active is not None else entry.head
            last = min(base, first + READ_POSITIONS - 1)
            if first <= last:
                request = ReadRange(entry.stream, first, last, 0)
                self._reads.ask(party, request, lambda found: self._state(party, entry, found))

    def _state(self, party: Party, entry: Entry, found: Range) -> None:
        if found.digests:
            self._out.send(party, Held(entry.stream, found.first, found.digests, found.signatures))

    def confirmed(self, party: Party, entry: Entry, message: AskConfirmed) -> None:
        """CONFIRMED for exactly one position."""
        position = message.position
        if position > entry.confirmed.seq or position < 1:
            return
        if position == entry.confirmed.seq:
            self._out.send(party, ConfirmedUpTo(entry.stream, *entry.confirmed))
            return
        if position <= entry.floor.seq:
            self.floor_if_below(party, entry, position)
            return

        def answer(found: Range) -> None:
            if found.first == position + 1 and found.chain_before != NO_CHAIN:
                said = ConfirmedUpTo(entry.stream, position, found.chain_before)
                self._out.send(party, said)

        self._reads.ask(party, ReadRange(entry.stream, position + 1, position + 1, 0), answer)

    def floor_if_below(self, party: Party, entry: Entry, position: int) -> bool:
        """Tell a party that asks for what is gone."""
        if entry.floor.seq < position or entry.floor.seq == 0:
            return False
        chain = entry.floor.chain if entry.floor_confirmed else NO_CHAIN
        said = FloorAt(entry.stream, entry.floor.seq, chain, entry.floor_confirmed)
        self._out.send(party, said)
        return True

    def digests(self, party: Party, entry: Entry, message: AskDigests) -> None:
        """The digests under a READY or CONFIRMED of this replica."""
        first, last = message.first, min(message.last, message.first + READ_POSITIONS * 16)
        active = entry.active
        if active is not None and first > active.confirmed.seq:
            path = active.truth or active.path
            last = min(last, active.ready.seq, path.end)
            if path.base.seq < first <= last:
                self._send(party, Digests(entry.stream, first, path.run(first, last)))
            return
        if self.floor_if_below(party, entry, first):
            return
        last = min(last, entry.confirmed.seq)

        def answer(found: Range) -> None:
            if found.first == first and found.digests:
                self._out.send(party, Digests(entry.stream, first, found.digests))

        if first <= last:
            self._reads.ask(party, ReadRange(entry.stream, first, last, 0), answer)

    def bodies(self, party: Party, entry: Entry, message: AskBodies) -> None:
        """Bodies with exactly these digests; others at those positions are not what was asked."""
        if self.floor_if_below(party, entry, message.first):
            return
        count = min(len(message.digests) // D, READ_POSITIONS)
        last = min(message.first + count - 1, entry.head)

        def answer(found: Range) -> None:
            self._send_bodies(party, entry, message, found)

        if message.first <= last:
            request = ReadRange(entry.stream, message.first, last, READ_BYTES)
            self._reads.ask(party, request, answer)

    def _send_bodies(self, party: Party, entry: Entry, message: AskBodies, found: Range) -> None:
        """Send the runs of bodies that match what was asked for."""
        run: list[bytes] = []
        first = found.first
        for index, body in enumerate((*found.bodies, None)):
            position = found.first + index
            at = (position - message.first) * D
            asked = message.digests[at : at + D]
            if body is not None and found.digests[index * D : index * D + D] == asked:
                if not run:
                    first = position
                run.append(body)
                continue
            if body is None and index < len(found.bodies) and position <= entry.confirmed.seq:
                self._out.send(party, FloorAt(entry.stream, position, NO_CHAIN, False))
            if run:
                start = (first - found.first) * S
                signatures = found.signatures[start : start + len(run) * S]
                self._out.send(party, Bodies(entry.stream, first, tuple(run), signatures))
                run = []
