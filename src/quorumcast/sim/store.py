"""What a store holds of a replica's records, and how it answers reads: the model in memory.

The rules are those of `core/records.py`, written for clarity and not for speed: slots by position,
a later record overrides an earlier one, chain digests are computed from what stands in the slots.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import NamedTuple

from quorumcast.auth.digests import chain_after, origin
from quorumcast.core.ids import Opening, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES, SIGNATURE_BYTES
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Forgotten,
    Incarnated,
    Installed,
    Loaded,
    MadeReady,
    Opened,
    Range,
    Read,
    ReadRange,
    ReadStream,
    ReadStreams,
    Record,
    StreamState,
    Tainted,
)


class Slot(NamedTuple):
    """What stands at a position."""

    digest: bytes
    body: bytes | None
    signature: bytes


class StoredStream:
    """One stream in the store.

    `base` is the highest confirmed floor: everything at or below it is gone. `floor` may be
    above it, unconfirmed: there the bodies are gone and the digests stay.
    """

    __slots__ = (
        "_chains",
        "_top",
        "base",
        "certificate",
        "closed",
        "confirmed",
        "floor",
        "floor_confirmed",
        "opening",
        "ready",
        "ready_digests",
        "ready_first",
        "slots",
        "stream",
        "tainted",
    )

    def __init__(self, cluster: bytes, opened: Opened) -> None:
        zero = Position(0, origin(cluster, opened.stream))
        self.stream = opened.stream
        self.opening: Opening = opened.opening
        self.certificate = opened.certificate
        self.slots: dict[int, Slot] = {}
        self.base = zero
        self.floor = zero
        self.floor_confirmed = True
        self.confirmed = zero
        self.ready = zero
        self.ready_first = 1
        self.ready_digests = b""
        self.tainted = False
        self.closed = False
        self._chains: list[bytes] = []
        self._top = 0

    @property
    def head(self) -> int:
        """The end of the gap-free run of slots above the base."""
        end = self.base.seq
        if self._top == end + len(self.slots):  # the usual case: no gap at all
            return self._top
        while end + 1 in self.slots:
            end += 1
        return end

    def copy(self) -> StoredStream:
        """The same stream, independent of this one."""
        twin = copy(self)
        twin.slots = dict(self.slots)
        twin._chains = list(self._chains)
        return twin

    def put(self, first: int, digests: bytes, bodies: tuple[bytes, ...], signatures: bytes) -> None:
        """Fill slots, overriding what stands there; nothing comes back at or below the base."""
        for index, body in enumerate(bodies):
            position = first + index
            if position <= self.base.seq:
                continue
            digest = digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
            signature = signatures[index * SIGNATURE_BYTES : (index + 1) * SIGNATURE_BYTES]
            self.slots[position] = Slot(digest, body, signature)
        self._top = max(self._top, first + len(bodies) - 1)
        del self._chains[max(0, first - self.base.seq - 1) :]

    def chain(self, position: int) -> bytes:
        """c(position), over what stands in the slots; from the base to the head."""
        count = position - self.base.seq
        while len(self._chains) < count:
            last = self._chains[-1] if self._chains else self.base.chain
            digest = self.slots[self.base.seq + len(self._chains) + 1].digest
            self._chains.append(chain_after(last, digest))
        return self._chains[count - 1] if count > 0 else self.base.chain

    def drop(self, floored: Floored) -> None:
        """Move the floor: bodies go, and under a confirmed floor votes and digests too."""
        floor = Position(floored.position, floored.chain)
        if floored.confirmed and floor.seq > self.base.seq:
            self._rebase(floor)
        if floor.seq < self.floor.seq:
            return
        self.floor, self.floor_confirmed = floor, floored.confirmed
        if floored.confirmed:
            return
        for position in range(self.base.seq + 1, floored.position + 1):
            slot = self.slots.get(position)
            if slot is not None:
                self.slots[position] = slot._replace(body=None)

    def _rebase(self, floor: Position) -> None:
        for position in [each for each in self.slots if each <= floor.seq]:
            del self.slots[position]
        self.base = floor
        self._top = max(self._top, floor.seq)
        self._chains.clear()
        if self.confirmed.seq < floor.seq:  # a confirmed floor counts as CONFIRMED there
            self.confirmed = floor

    def state(self, *, whole: bool) -> StreamState:
        """The stream as it is handed back; without `whole` no votes and no READY digests."""
        head = held = self.head
        if not self.closed:  # there the bodies went by age, and the votes are stated without them
            held = self._held(head)
        votes: list[Slot] = []
        if whole:
            votes = [self.slots[each] for each in range(self.confirmed.seq + 1, held + 1)]
        bare = [self.slots[each].digest for each in range(held + 1, head + 1)]
        return StreamState(
            stream=self.stream,
            opening=self.opening,
            certificate=self.certificate,
            floor=self.floor,
            floor_confirmed=self.floor_confirmed,
            confirmed=self.confirmed,
            votes=b"".join([slot.digest for slot in votes]),
            head=held,
            ready=self.ready,
            ready_first=self.ready_first,
            ready_digests=self.ready_digests if whole else b"",
            tainted=self.tainted,
            closed=self.closed,
            signatures=b"".join([slot.signature for slot in votes]),
            pledged=b"".join(bare),
        )

    def _held(self, head: int) -> int:
        """The end of the votes above the confirmed position whose bodies are here."""
        for position in range(self.confirmed.seq + 1, head + 1):
            if self.slots[position].body is None:
                return position - 1
        return head

    def range(self, read: ReadRange) -> Range:
        """Consecutive slots from above the confirmed floor, as many as the read allows."""
        first = min(max(read.first, self.base.seq + 1), self.head + 1)
        slots: list[Slot] = []
        size = 0
        for position in range(first, min(read.last, self.head) + 1):
            slot = self.slots[position]
            if read.max_bytes == 0:
                slot = slot._replace(body=None)
            size += len(slot.body or b"")
            if slots and size > read.max_bytes:
                break
            slots.append(slot)
        return Range(
            first=first,
            chain_before=self.chain(first - 1),
            digests=b"".join([slot.digest for slot in slots]),
            bodies=tuple([slot.body for slot in slots]),
            signatures=b"".join([slot.signature for slot in slots]),
        )


class Store:
    """All streams of one replica, in the order in which they were first recorded.

    >>> store = Store(bytes(32))
    >>> store.read(ReadStreams(0, 10))
    []
    """

    def __init__(self, cluster: bytes) -> None:
        self._cluster = cluster
        self.streams: dict[Stream, StoredStream] = {}
        self.life: Incarnated | None = None

    def apply(self, records: Iterable[Record]) -> None:
        """Apply a turn's records, in order."""
        for record in records:
            if type(record) is Accepted or type(record) is Installed:
                self.streams[record.stream].put(
                    record.first, record.digests, record.bodies, record.signatures
                )
            else:
                self._mark(record)

    def _mark(self, record: Record) -> None:
        if isinstance(record, Incarnated):
            self.life = record
            return
        if isinstance(record, Forgotten):
            self.streams.pop(record.stream, None)
            return
        if isinstance(record, Opened):
            stored = self.streams.get(record.stream)
            if stored is None:
                self.streams[record.stream] = StoredStream(self._cluster, record)
            else:
                stored.opening, stored.certificate = record.opening, record.certificate
            return
        stored = self.streams[record.stream]
        match record:
            case MadeReady(_, position, chain, first, digests):
                stored.ready = Position(position, chain)
                stored.ready_first, stored.ready_digests = first, digests
            case Confirmed(_, position, chain):
                stored.confirmed = Position(position, chain)
            case Floored():
                stored.drop(record)
            case Tainted():
                stored.tainted = True
            case Closed():
                stored.closed = True
            case _:
                raise AssertionError(f"a record that no store knows: {record}")

    def without_bodies(self) -> list[Floored]:
        """The floors that the loss of all bodies makes: what is confirmed cannot be had here."""
        return [
            Floored(stored.stream, *stored.confirmed, confirmed=True)
            for stored in self.streams.values()
            if stored.confirmed.seq > stored.base.seq
        ]

    def strip(self) -> None:
        """Forget all bodies; the votes stay."""
        for stored in self.streams.values():
            for position, slot in stored.slots.items():
                stored.slots[position] = slot._replace(body=None)

    def read(self, request: Read) -> Loaded:
        """The answer to one of `Ready.reads`."""
        if isinstance(request, ReadStreams):
            streams = list(self.streams.values())[request.after : request.after + request.limit]
            return [stored.state(whole=False) for stored in streams]
        stored = self.streams.get(request.stream)
        if stored is None:
            return None
        if isinstance(request, ReadStream):
            return stored.state(whole=True)
        return stored.range(request)
