"""What a replica drops, and when: confirmed prefixes by events, bytes and age; the rest by age.

A floor in the confirmed part carries c and counts as CONFIRMED there. Unconfirmed positions go by
age alone: bodies go, votes stay, the stream is closed here, and the floor counts only towards a
gap. A stream is forgotten altogether only when its session names no valid incarnation of this
replica: until then its votes must be remembered, for no id is voted for twice.
"""

from __future__ import annotations

from heapq import heappop, heappush

from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.shelf import Entry, Mark, Shelf
from quorumcast.core.ids import Position, Stream
from quorumcast.core.records import Closed, Floored, Forgotten

_PARTS = 32
"""Into how many steps a stream's retained past is divided: what is dropped is dropped in these."""


class Retention:
    """Keeps the past of one channel's streams within its bounds."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._context = shelf.context
        self._events = 0
        self._bytes = 0
        self._marks: list[tuple[float, int, Stream]] = []
        self._tie = 0
        self.learn()

    def learn(self) -> None:
        """The channel's settings are new: what they keep is kept from now on."""
        self._rule = self._context.channel.retention
        self.period = max(0.01, min(self._rule.age_seconds / _PARTS, 5.0))

    def restored(self, entry: Entry) -> None:
        """A stream that the store had at start counts as received now."""
        self._events += max(0, entry.confirmed.seq - entry.floor.seq)
        for mark in entry.marks:
            self._push(mark, entry.stream)

    def note(self, entry: Entry, active: ReplicaStream, before: Position) -> None:
        """A turn changed a stream that was confirmed up to `before`."""
        now = self._context.now
        if active.head > active.confirmed.seq:
            if entry.oldest_at is None or active.confirmed.seq > before.seq:
                entry.oldest_at = now
        else:
            entry.oldest_at = None
        if active.floor.seq > entry.floor.seq:  # taken over from peers, over what was counted
            self._events -= max(0, min(before.seq, active.floor.seq) - entry.floor.seq)
        gained = active.confirmed.seq - max(before.seq, active.floor.seq)
        if gained <= 0:
            return
        size, active.released = active.released, 0
        self._events += gained
        self._bytes += size
        last = entry.marks[-1] if entry.marks else None
        if (
            last is not None
            and now - last.at < self._rule.age_seconds / _PARTS
            and last.bytes + size <= self._rule.bytes // _PARTS
            and active.confirmed.seq - self._before(entry) <= self._rule.events // _PARTS
        ):
            last.position = active.confirmed
            last.bytes += size
        else:
            mark = Mark(now, active.confirmed, size)
            entry.marks.append(mark)
            self._push(mark, entry.stream)

    def _before(self, entry: Entry) -> int:
        return entry.marks[-2].position.seq if len(entry.marks) > 1 else entry.floor.seq

    def _push(self, mark: Mark, stream: Stream) -> None:
        self._tie += 1
        heappush(self._marks, (mark.at, self._tie, stream))

    def enforce(self) -> None:
        """Drop the oldest parts of the past while there is too much of it, or it is too old."""
        now, rule = self._context.now, self._rule
        while self._marks:
            at, _, stream = self._marks[0]
            over = self._events > rule.events or self._bytes > rule.bytes
            if not over and now - at <= rule.age_seconds:
                break
            heappop(self._marks)
            entry = self._shelf.entries.get(stream)
            if entry is not None and entry.marks:
                self._drop(entry, entry.marks.pop(0))
        for entry in list(self._shelf.entries.values()):
            if entry.oldest_at is not None and now - entry.oldest_at > rule.age_seconds:
                self._close(entry)
            self._forget_if_done(entry)

    def _drop(self, entry: Entry, mark: Mark) -> None:
        self._bytes -= mark.bytes
        if mark.position.seq <= entry.floor.seq:
            return
        self._events -= mark.position.seq - entry.floor.seq
        if entry.active is not None:
            entry.active.cut(mark.position, confirmed=True)
        else:
            self._context.out.record(Floored(entry.stream, *mark.position, confirmed=True))
        entry.floor, entry.floor_confirmed = mark.position, True

    def _close(self, entry: Entry) -> None:
        """Unconfirmed and too old: the bodies go, the votes stay."""
        entry.oldest_at = None
        floor = Position(entry.head, bytes(32))
        if floor.seq <= entry.floor.seq:
            return
        if entry.active is not None:
            entry.active.cut(floor, confirmed=False)
        else:
            self._context.out.record(Closed(entry.stream))
            self._context.out.record(Floored(entry.stream, *floor, confirmed=False))
        entry.floor, entry.floor_confirmed, entry.closed = floor, False, True

    def _forget_if_done(self, entry: Entry) -> None:
        if not entry.stored or entry.floor.seq < entry.head:
            return
        if entry.named in self._context.replicas.valid or entry.loading is not None:
            return
        self._context.out.record(Forgotten(entry.stream))
        self._shelf.remove(entry)
