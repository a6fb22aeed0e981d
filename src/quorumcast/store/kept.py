"""One stream of a journal, in memory: its slots, positions and marks, and how it answers reads.

Everything at or below `marks.base`, the highest confirmed floor, is gone. Slots above it have
bodies, or lost them: to an unconfirmed floor, to the window, or to a restart. After a restart no
body is there: what was confirmed is a confirmed floor then, and of the votes above it only the
digests are left. They are handed back as pledged: the replica is bound by them, and does not hold
what it voted for. A vote for other content is a bug, and refused.
"""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from typing import NamedTuple

from quorumcast.auth.digests import chain_after, origin
from quorumcast.core.ids import Opening, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import Floored, Range, ReadRange, StreamState
from quorumcast.store.cells import Marks, Votes
from quorumcast.store.runs import Run, Runs

_ANCHOR_POSITIONS = 256
"""How far positions are apart, at least, whose chain digests are remembered."""


class Saved(NamedTuple):
    """What a stream was before a commit, to be taken up again should it fail."""

    opening: Opening
    certificate: bytes
    marks: Marks
    ready_digests: bytes
    slots: tuple[list[Run], int, int]
    head: int
    stored: int
    serial: int


class KeptStream:
    """One stream; `number` is its place in the order of all.

    >>> from quorumcast.core.ids import Lane
    >>> stream = Stream("alerts", "probe", bytes(32), Lane.NORMAL)
    >>> kept = KeptStream(1, bytes(32), stream, Opening("probe", 1, ()), b"")
    >>> kept.put(Run(1, b"a" * 32, (b"x",), b""))
    >>> kept.head
    1
    """

    __slots__ = (
        "_anchors",
        "_memo",
        "certificate",
        "head",
        "marks",
        "number",
        "opening",
        "ready_digests",
        "serial",
        "slots",
        "stored",
        "stream",
        "touched",
    )

    def __init__(
        self, number: int, cluster: bytes, stream: Stream, opening: Opening, certificate: bytes
    ) -> None:
        zero = Position(0, origin(cluster, stream))
        self.number = number
        self.stream = stream
        self.opening = opening
        self.certificate = certificate
        self.marks = Marks(zero, zero, True, zero, zero)
        self.ready_digests = b""
        self.slots = Runs()
        self.head = 0
        """The end of the gap-free run of slots above the base."""
        self.stored: list[tuple[int, int]] = []
        """The runs of votes on the disk: serial number and last position."""
        self.serial = 0
        self.touched = 0
        """The number of the last commit that put something here."""
        self._anchors: list[Position] = []
        self._memo: Position | None = None

    # -- changes -------------------------------------------------------------------------------

    def save(self) -> Saved:
        """What there is now."""
        slots = self.slots
        return Saved(
            self.opening,
            self.certificate,
            copy(self.marks),
            self.ready_digests,
            (slots.list, len(slots.list), slots.size),
            self.head,
            len(self.stored),
            self.serial,
        )

    def undo(self, saved: Saved) -> None:
        """Take up what was saved before the commit that failed."""
        self.opening, self.certificate = saved.opening, saved.certificate
        self.marks, self.ready_digests = saved.marks, saved.ready_digests
        self.slots.list, count, self.slots.size = saved.slots
        del self.slots.list[count:]
        self.head, self.serial = saved.head, saved.serial
        del self.stored[saved.stored :]
        self._memo = None

    def clash(self, run: Run) -> int | None:
        """Where a vote would be a second one, for other content."""
        return self.slots.clash(run)

    def put(self, run: Run) -> None:
        """Fill slots, overriding what stands there; nothing comes back at or below the base."""
        base = self.marks.base.seq
        if run.last <= base:
            return
        run = run.part(base + 1, run.last)
        self.slots.put(run)
        if self._memo is not None and run.first <= self._memo.seq:
            self._memo = None
        if run.first <= self.head + 1 <= run.last + 1:
            self.head = self.slots.end_of(max(self.head, run.last))

    def drop(self, floored: Floored) -> None:
        """Move the floor: bodies go, and under a confirmed floor votes and digests too."""
        marks = self.marks
        floor = Position(floored.position, floored.chain)
        if floored.confirmed and floor.seq > marks.base.seq:
            self._rebase(floor)
        if floor.seq < marks.floor.seq:
            return
        marks.floor, marks.floor_confirmed = floor, floored.confirmed
        if not floored.confirmed:
            self.slots.strip(floor.seq)

    def _rebase(self, floor: Position) -> None:
        marks = self.marks
        self.slots.cut_below(floor.seq)
        marks.base = floor
        self._memo = None
        if self.head < floor.seq:
            self.head = self.slots.end_of(floor.seq)
        if marks.confirmed.seq < floor.seq:  # a confirmed floor counts as CONFIRMED there
            marks.confirmed = floor

    def restarted(self, votes: list[Votes]) -> None:
        """Take up what the disk has: floors, and votes whose bodies are gone."""
        marks = self.marks
        self.head = marks.base.seq
        if marks.confirmed.seq > marks.base.seq:
            self.drop(Floored(self.stream, *marks.confirmed, confirmed=True))
        for first, digests, signatures in votes:
            self.put(Run(first, digests, None, signatures))

    def settle(self) -> None:
        """A commit is done: remember what later reads will start from."""
        base, confirmed = self.marks.base.seq, self.marks.confirmed
        anchors = self._anchors
        last = anchors[-1].seq if anchors else base
        if confirmed.seq >= last + _ANCHOR_POSITIONS:
            anchors.append(confirmed)
        if anchors and anchors[0].seq <= base:
            del anchors[: bisect_right(anchors, base, key=_seq)]

    # -- reading -------------------------------------------------------------------------------

    def state(self, *, whole: bool) -> StreamState:
        """The stream as it is handed back; without `whole` no votes and no READY digests."""
        marks, slots = self.marks, self.slots
        first, head = marks.confirmed.seq + 1, self.head
        if not marks.closed:  # there the bodies went by age, and the votes are stated without them
            head = slots.held(first - 1, head)
        return StreamState(
            stream=self.stream,
            opening=self.opening,
            certificate=self.certificate,
            floor=marks.floor,
            floor_confirmed=marks.floor_confirmed,
            confirmed=marks.confirmed,
            votes=slots.digests(first, head) if whole else b"",
            head=head,
            ready=marks.ready,
            ready_first=marks.ready_first,
            ready_digests=self.ready_digests if whole else b"",
            tainted=marks.tainted,
            closed=marks.closed,
            signatures=slots.signatures(first, head) if whole else b"",
            pledged=slots.digests(head + 1, self.head) if head < self.head else b"",
        )

    def range(self, read: ReadRange) -> Range:
        """Consecutive slots from above the confirmed floor, as many as the read allows."""
        first = min(max(read.first, self.marks.base.seq + 1), self.head + 1)
        last = min(read.last, self.head)
        if read.max_bytes > 0:
            bodies, last = self._bodies(first, last, read.max_bytes)
        else:
            bodies = (None,) * (last + 1 - first)
        return Range(
            first=first,
            chain_before=self.chain(first - 1),
            digests=self.slots.digests(first, last),
            bodies=bodies,
            signatures=self.slots.signatures(first, last),
        )

    def _bodies(
        self, first: int, last: int, max_bytes: int
    ) -> tuple[tuple[bytes | None, ...], int]:
        """The bodies of a range that ends where the bytes do; and where that is."""
        bodies: list[bytes | None] = []
        size = 0
        for run in self.slots.above(first - 1):
            if run.first > last:
                break
            part = run.part(first, last)
            if bodies and size > max_bytes:
                break
            if part.bodies is None:
                bodies += [None] * (part.last + 1 - part.first)
                continue
            for body in part.bodies:
                size += len(body)
                if bodies and size > max_bytes:
                    return tuple(bodies), first + len(bodies) - 1
                bodies.append(body)
        return tuple(bodies), first + len(bodies) - 1

    def chain(self, position: int) -> bytes:
        """c(position), over what stands in the slots; from the base to the head."""
        known = self._known(position)
        chain = known.chain
        digests = self.slots.digests(known.seq + 1, position)
        for at in range(0, len(digests), D):
            chain = chain_after(chain, digests[at : at + D])
        self._memo = Position(position, chain)
        return chain

    def _known(self, position: int) -> Position:
        """The nearest position at or below one whose chain digest is known."""
        best = self.marks.base
        anchors = self._anchors
        index = bisect_right(anchors, position, key=_seq)
        for each in (anchors[index - 1] if index else None, self._memo, self.marks.confirmed):
            if each is not None and best.seq < each.seq <= position:
                best = each
        return best


def _seq(position: Position) -> int:
    return position.seq
