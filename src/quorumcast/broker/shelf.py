"""The streams of one channel at a replica: at work, at rest, or known by hearsay.

Every retained stream has an `Entry`, small enough to keep all of them. A stream in which something
is to be done has a `ReplicaStream` too; one with nothing left to do goes to rest when newer ones
need the room, and is read back from the store when somebody speaks of it.

Streams without a vote here, known from a peer's word or from their publisher's Open, are on the
account of who spoke of them (`hearsay`).

A stream in which all was said and nobody could help goes to rest too; such streams are taken up
again, a few at a time, for as long as they are retained: the network may have healed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from quorumcast.auth import certificate as certificates
from quorumcast.auth.digests import session_of
from quorumcast.broadcast.context import Context
from quorumcast.broadcast.intake import Intake
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.hearsay import Hearsay
from quorumcast.core.errors import AuthError
from quorumcast.core.ids import Incarnation, Opening, Party, Position, Stream
from quorumcast.core.limits import (
    ACTIVE_STREAMS,
    HEADS_PAGE,
    LOADING_BYTES,
    LOADING_MESSAGES,
    REVISITED_STREAMS,
)
from quorumcast.core.messages import Head, Message
from quorumcast.core.records import ReadStream, StreamState


class Mark:
    """A confirmed position, when it was confirmed, and how many bytes lie below it to the last."""

    __slots__ = ("at", "bytes", "position")

    def __init__(self, at: float, position: Position, size: int) -> None:
        self.at = at
        self.position = position
        self.bytes = size


class Entry:
    """What a replica remembers of a stream at all times."""

    __slots__ = (
        "active",
        "changed",
        "closed",
        "confirmed",
        "created",
        "floor",
        "floor_confirmed",
        "head",
        "intake",
        "loading",
        "marks",
        "named",
        "oldest_at",
        "stored",
        "stream",
        "unfinished",
    )

    def __init__(self, stream: Stream, zero: Position, created: int) -> None:
        self.stream = stream
        self.created = created
        self.changed = created
        self.floor = zero
        self.floor_confirmed = True
        self.confirmed = zero
        self.head = 0
        self.closed = False
        self.stored = False
        self.active: ReplicaStream | None = None
        self.intake: Intake | None = None
        self.loading: list[tuple[Party, Message]] | None = None
        self.marks: list[Mark] = []
        self.oldest_at: float | None = None
        """When the oldest unconfirmed vote was cast, as far as known."""
        self.named: Incarnation | None = None
        """Which incarnation of this replica the session names."""
        self.unfinished = False
        """Whether it went to rest with something left to say or to get."""

    def listed(self) -> Head:
        """The stream as `Heads` shows it."""
        return Head(self.stream, self.floor.seq, self.head, self.confirmed.seq)


class Shelf:
    """All streams of a channel, by name and by the time of their last change."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.entries: dict[Stream, Entry] = {}
        self.counter = 0
        self.per_publisher: dict[Party, int] = {}
        """Streams of each publisher that are stored here."""
        self.hearsay = Hearsay()
        self.away: Callable[[Stream], None] = lambda stream: None
        """Told when a stream goes to rest or is forgotten."""
        self._order: list[tuple[int, Stream]] = []
        self._resting: OrderedDict[Stream, None] = OrderedDict()
        self._stuck: OrderedDict[Stream, None] = OrderedDict()
        """Streams in which nobody could help, in the order in which they are taken up again."""
        self._given_up: OrderedDict[Stream, None] = OrderedDict()
        """Those of them that are still at work: what peers say one by one has to add up."""
        self._revisited: dict[Stream, None] = {}
        self._loading_bytes = 0

    # -- finding -------------------------------------------------------------------------------

    def active(self, stream: Stream) -> ReplicaStream | None:
        """The stream, if it is at work."""
        entry = self.entries.get(stream)
        return entry.active if entry is not None else None

    def add(self, stream: Stream) -> Entry:
        """A stream that was unknown, put to work without votes."""
        active = ReplicaStream(self.context, stream)
        self.counter += 1
        entry = Entry(stream, active.confirmed, self.counter)
        self._activate(entry, active)
        self.entries[stream] = entry
        return entry

    def restore(self, state: StreamState) -> Entry:
        """A stream that the store has, at start; it is put to work only when needed."""
        state = self._of_this_epoch(state)
        self.counter += 1
        entry = Entry(state.stream, state.confirmed, self.counter)
        self._stored(entry)
        entry.floor, entry.floor_confirmed = state.floor, state.floor_confirmed
        entry.confirmed, entry.head, entry.closed = state.confirmed, state.head, state.closed
        entry.named = self._named(state.opening)
        last = max(state.head, state.ready.seq)
        entry.unfinished = last > state.confirmed.seq or bool(state.pledged)
        self.entries[state.stream] = entry
        self._order.append((self.counter, state.stream))
        if entry.confirmed.seq > entry.floor.seq:
            entry.marks.append(Mark(self.context.now, entry.confirmed, 0))
        if entry.head > entry.confirmed.seq:
            entry.oldest_at = self.context.now
        return entry

    def load(self, entry: Entry, sender: Party, message: Message) -> None:
        """Read a stream back; the message waits until it is there."""
        self.wake(entry)
        size = _size(message)
        if (
            entry.loading is not None
            and len(entry.loading) < LOADING_MESSAGES
            and self._loading_bytes + size <= LOADING_BYTES
        ):
            entry.loading.append((sender, message))
            self._loading_bytes += size

    def loaded(self, state: StreamState | None, stream: Stream) -> list[tuple[Party, Message]]:
        """The store's answer; returns the messages that waited for it."""
        entry = self.entries.get(stream)
        if entry is None or entry.loading is None:
            return []
        waiting, entry.loading = entry.loading, None
        self._loading_bytes -= sum(_size(message) for _, message in waiting)
        if entry.active is None:
            active = ReplicaStream(self.context, stream)
            if state is not None:
                key = self.sign_key(stream, state.certificate) or b""
                active.restore(self._of_this_epoch(state), key)
                active.abstains |= not self.names(stream, state.opening, key)
            self._activate(entry, active)
            active.touch()
            if self._revisited.pop(stream, 0) is None:
                active.teller.revisit()
                active.repair.inquire()
        return waiting

    def sign_key(self, stream: Stream, certificate: bytes) -> bytes | None:
        """The publisher's key on a signed channel; None where the certificate does not serve."""
        if not self.context.channel.signed:
            return b""
        cluster = self.context.cluster
        try:
            checked = certificates.check(certificate, cluster.operator, cluster.id)
        except AuthError:
            return None
        return checked.keys.sign if checked.name == stream.publisher else None

    def names(self, stream: Stream, opening: Opening, key: bytes) -> bool:
        """Whether a session is the hash of this opening, in the present epoch."""
        cluster = self.context.cluster
        return session_of(cluster.id, cluster.epoch, opening, key) == stream.session

    def _of_this_epoch(self, state: StreamState) -> StreamState:
        """What counts of a stored stream: of another epoch's only what was confirmed in it."""
        key = self.sign_key(state.stream, state.certificate) or b""
        if self.names(state.stream, state.opening, key):
            return state
        return msgspec.structs.replace(
            state,
            votes=b"",
            signatures=b"",
            pledged=b"",
            head=state.confirmed.seq,
            ready=state.confirmed,
        )

    def _named(self, opening: Opening) -> Incarnation | None:
        index = self.context.replicas.index
        return opening.incarnations[index] if index < len(opening.incarnations) else None

    def wake(self, entry: Entry) -> None:
        """Put a stream to work, because something is left to do in it."""
        if entry.active is None and entry.loading is None:
            entry.loading = []
            self.context.out.read(ReadStream(entry.stream))

    def _activate(self, entry: Entry, active: ReplicaStream) -> None:
        entry.active = active
        entry.intake = Intake(active)

    # -- changes -------------------------------------------------------------------------------

    def update(self, entry: Entry) -> bool:
        """Take over what a turn changed in a stream; returns whether its heads changed."""
        active = entry.active
        assert active is not None, "only a stream at work changes"
        if active.recorded and not entry.stored:
            self._stored(entry)
        if entry.named is None and active.opening is not None:
            entry.named = self._named(active.opening)
        now = (active.head, active.confirmed, active.floor)
        changed = now != (entry.head, entry.confirmed, entry.floor)
        entry.closed = active.closed
        entry.floor_confirmed = active.floor_confirmed
        entry.head, entry.confirmed, entry.floor = now
        if changed:
            self._bump(entry)
        return changed

    def _bump(self, entry: Entry) -> None:
        self.counter += 1
        entry.changed = self.counter
        self._order.append((self.counter, entry.stream))
        if len(self._order) > 64 + 2 * len(self.entries):
            live = self.entries
            self._order = [
                each for each in self._order if each[1] in live and live[each[1]].changed == each[0]
            ]

    def rest(self, entry: Entry) -> None:
        """Streams with nothing to do stay for a while, the most recent of them."""
        active, intake = entry.active, entry.intake
        resting, given_up = self._resting, self._given_up
        resting.pop(entry.stream, None)
        given_up.pop(entry.stream, None)
        if active is None or intake is None:
            return
        if not (entry.stored and intake.idle):
            return
        if active.settled:
            resting[entry.stream] = None
            if len(resting) > ACTIVE_STREAMS:
                self.put_away(self.entries[resting.popitem(last=False)[0]])
        elif active.stuck:
            self._stuck.setdefault(entry.stream)
            given_up[entry.stream] = None
            self.away(entry.stream)
            if len(given_up) > ACTIVE_STREAMS:
                self.put_away(self.entries[given_up.popitem(last=False)[0]])
        else:
            self._stuck.pop(entry.stream, None)

    def put_away(self, entry: Entry) -> None:
        """Drop a stream's working state; the store has it all."""
        for name in ("tell", "repeat", "repair"):
            self.context.agenda.cancel((entry.active, name))
        active = entry.active
        if active is not None:
            last = max(active.head, active.ready.seq)
            entry.unfinished = last > active.confirmed.seq or active.pledges.any
        if entry.intake is not None:
            entry.intake.drop()
        entry.active = entry.intake = None
        self.away(entry.stream)

    def revisit(self) -> None:
        """Take up again what was given up longest ago."""
        for _ in range(min(REVISITED_STREAMS, len(self._stuck))):
            stream, _ = self._stuck.popitem(last=False)
            entry = self.entries.get(stream)
            if entry is not None and entry.active is None:
                self.take_up(entry)
            elif entry is not None and entry.active is not None:
                entry.active.teller.revisit()
                entry.active.repair.inquire()

    def take_up(self, entry: Entry) -> None:
        """Read a stream back, state all of it again, and ask what others state."""
        self._revisited[entry.stream] = None
        self.wake(entry)

    def remove(self, entry: Entry) -> None:
        """Forget a stream altogether."""
        if entry.active is not None:
            self.context.touched.pop(entry.active, None)
            self.put_away(entry)
        for kept in (self._resting, self._stuck, self._given_up, self._revisited):
            kept.pop(entry.stream, None)
        self.hearsay.settle(entry.stream)
        del self.entries[entry.stream]
        if entry.stored:
            left = self.per_publisher[entry.stream.publisher] - 1
            if left:
                self.per_publisher[entry.stream.publisher] = left
            else:
                del self.per_publisher[entry.stream.publisher]

    def _stored(self, entry: Entry) -> None:
        entry.stored = True
        self.hearsay.settle(entry.stream)
        count = self.per_publisher.get(entry.stream.publisher, 0)
        self.per_publisher[entry.stream.publisher] = count + 1

    # -- hearsay -------------------------------------------------------------------------------

    def heard_of(self, stream: Stream, party: Party, *, settled: bool = False) -> Entry | None:
        """A stream that a party speaks of: the known one, or a new one on this party's account.

        With `settled`, it says that the stream is confirmed. None: its account is full.
        """
        entry = self.entries.get(stream)
        if entry is not None and entry.stored:
            return entry
        gone = self.hearsay.add(party, stream, settled=settled)
        if gone is None:
            return None
        if entry is None:
            entry = self.add(stream)
        for other in gone:
            self._unhear(party, other)
        return entry

    def _unhear(self, party: Party, stream: Stream) -> None:
        self.hearsay.drop(party, stream)
        entry = self.entries.get(stream)
        if entry is None or entry.stored or entry.active is None or entry.active.recorded:
            return  # a vote that was cast in this very turn is not stored yet, but it stands
        if self.hearsay.known(stream):
            entry.active.forget(party)
        else:
            self.remove(entry)

    def release(self, stream: Stream, party: Party) -> bool:
        """A party has no use for a stream that it opened; returns whether it had not used it."""
        unused = self.hearsay.speaks(party, stream)
        if unused:
            self._unhear(party, stream)
        return unused and stream not in self.entries

    def gone(self, party: Party) -> None:
        """A client is gone: what it opened and did not use goes too."""
        for stream in self.hearsay.of(party):
            self._unhear(party, stream)
        self.hearsay.missed.pop(party, None)

    # -- listing -------------------------------------------------------------------------------

    def heads(self, since: int) -> tuple[int, list[Head], bool]:
        """A page of the streams that changed after `since`, its last counter, and is there more."""
        found: list[Head] = []
        start = bisect_right(self._order, since, key=lambda each: each[0])
        for counter, stream in self._order[start : start + 4 * HEADS_PAGE]:
            if len(found) == HEADS_PAGE:
                return since, found, True
            entry = self.entries.get(stream)
            since = counter
            if entry is not None and entry.changed == counter:
                found.append(entry.listed())
        more = start + 4 * HEADS_PAGE < len(self._order)
        return since, found, more


def _size(message: Message) -> int:
    """About how many bytes a message keeps while it waits."""
    bodies: tuple[bytes, ...] = getattr(message, "bodies", ())
    digests: bytes = getattr(message, "digests", b"")
    signatures: bytes = getattr(message, "signatures", b"")
    return 256 + sum(map(len, bodies)) + len(digests) + len(signatures)
