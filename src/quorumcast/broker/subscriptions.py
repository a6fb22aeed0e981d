"""Subscriptions at a replica: who follows which stream, from where, with how much credit.

Upon votes in a stream that a subscriber follows and is up to date with: send the digests, and
the bodies if it is this replica's turn (f+1 of n, rotating with the position). A subscriber that is
behind, for want of credit or because it came later, is served from the store in chunks. Nothing is
dropped and nothing is voted by queue position: a subscriber without credit is waited for.
Publishers do not notice it, unless the subscriber is trusted to let them wait (`blocking`).
"""

from __future__ import annotations

from quorumcast.broadcast.notes import Fresh
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.blocking import Blocking
from quorumcast.broker.cursors import Cursor, Subscription
from quorumcast.broker.serving import Reads, Serving
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.core.body import portions
from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.core.limits import (
    CLIENTS,
    FOLLOWED_STREAMS,
    MESSAGE_BYTES,
    READ_BYTES,
    READ_POSITIONS,
    ROTATE_POSITIONS,
    SUBSCRIBE_PATTERNS,
    SUBSCRIBE_STREAMS,
)
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import (
    AskConfirmed,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Follow,
    Held,
    Message,
    ReadyUpTo,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from quorumcast.core.records import Range, ReadRange


class Subscriptions:
    """The subscribers of one channel at a replica."""

    def __init__(self, shelf: Shelf, serving: Serving, reads: Reads, blocking: Blocking) -> None:
        self._shelf = shelf
        self._context = shelf.context
        self._out = shelf.context.out
        self._serving = serving
        self._reads = reads
        self._blocking = blocking
        self._clients: dict[Party, Subscription] = {}
        self._ended: dict[Party, int] = {}
        self._followers: dict[Stream, dict[Party, Cursor]] = {}
        self._f = self._context.cluster.faults
        self._n = len(self._context.cluster.replicas)
        self._index = self._context.replicas.index

    @property
    def count(self) -> int:
        """How many clients subscribe at this moment."""
        return len(self._clients)

    # -- what clients say ----------------------------------------------------------------------

    def subscribe(self, party: Party, message: Subscribe) -> None:
        """A new subscription, or a change of the one in force."""
        old = self._clients.get(party)
        newest = max(old.version if old else -1, self._ended.get(party, -1))
        if message.version < newest or not self._serving.affords(party, self._work(old, message)):
            return
        refusal = self._refusal(party, old, message)
        if refusal is not None:
            self._out.send(party, SubscribeStatus(message.channel, message.version, False, refusal))
            return
        if old is None or message.version > old.version:
            fresh = Subscription(party, message)
            if old is not None:
                self._drop(old)
                for stream, cursor in old.cursors.items():
                    if fresh.matches(stream):
                        self._follow(fresh, stream, cursor.next, cursor.through)
            self._clients[party] = fresh
            self._blocking.begin(fresh)
            for stream, entry in self._shelf.entries.items():
                if entry.head > 0 and fresh.begins(stream, entry.created):
                    self._auto_follow(fresh, stream)
        self._out.send(party, SubscribeStatus(message.channel, message.version, True))

    def _work(self, old: Subscription | None, message: Subscribe) -> float:
        """What a subscription costs its client: a repetition little, a new one a pass."""
        if old is not None and old.version == message.version:
            return 1.0
        streams, patterns = len(self._shelf.entries), len(message.patterns)
        return 1.0 + streams / SUBSCRIBE_STREAMS + patterns / SUBSCRIBE_PATTERNS

    def _refusal(self, party: Party, old: Subscription | None, message: Subscribe) -> str | None:
        channel = self._context.channel
        if not channel.admits_subscriber(party):
            return f"{party} may not subscribe to {channel.name}"
        if message.blocks and not channel.trusts_subscriber(party):
            return f"{party} may not block {channel.name}"
        most = min(channel.max_subscribers or CLIENTS, CLIENTS)
        if old is None and len(self._clients) >= most:
            return f"{channel.name} takes {most} subscribers, and has them"
        return None

    def unsubscribe(self, party: Party, message: Unsubscribe) -> None:
        """Send nothing more."""
        client = self._clients.get(party)
        if client is not None and client.version <= message.version:
            self._drop(client)
            del self._clients[party]
            self._ended[party] = message.version

    def learn(self) -> None:
        """Rights changed: who lost his is told, and nothing more is sent to him."""
        channel = self._context.channel
        for party in [each for each in self._clients if not channel.admits_subscriber(each)]:
            self._refuse(party, f"{party} may not subscribe to {channel.name}")
        for party, client in list(self._clients.items()):
            if client.blocks and not channel.trusts_subscriber(party):
                self._refuse(party, f"{party} may not block {channel.name}")

    def end(self) -> None:
        """The channel is gone: its subscribers are told."""
        for party in list(self._clients):
            self._refuse(party, f"there is no channel {self._context.channel.name}")

    def _refuse(self, party: Party, reason: str) -> None:
        client = self._clients.pop(party)
        self._drop(client)
        said = SubscribeStatus(self._context.channel.name, client.version, False, reason)
        self._out.send(party, said)

    def unlinked(self, party: Party) -> None:
        """The client's link is gone; it subscribes again when it comes back."""
        client = self._clients.pop(party, None)
        if client is not None:
            self._drop(client)
        self._ended.pop(party, None)

    def follow(self, party: Party, entry: Entry, message: Follow) -> None:
        """A client names where a stream begins for it."""
        client = self._clients.get(party)
        if client is None or client.version != message.version:
            return
        if client.matches(message.stream):
            self._follow(client, message.stream, message.first, message.through)
            cursor = client.cursors.get(message.stream)
            if cursor is not None:
                self._pump(cursor, entry)

    def credit(self, party: Party, entry: Entry, message: Credit) -> None:
        """A client takes more of a stream."""
        client = self._clients.get(party)
        cursor = client.cursors.get(message.stream) if client is not None else None
        if cursor is not None and message.through > cursor.through:
            cursor.through = message.through
            self._blocking.moved(cursor.client, message.stream)
            self._pump(cursor, entry)

    def _follow(self, client: Subscription, stream: Stream, first: int, through: int) -> None:
        if stream not in client.cursors and len(client.cursors) >= FOLLOWED_STREAMS:
            return
        cursor = Cursor(client, stream, max(1, first), through)
        client.cursors[stream] = cursor
        self._followers.setdefault(stream, {})[client.party] = cursor
        self._blocking.moved(client, stream)

    def _auto_follow(self, client: Subscription, stream: Stream) -> None:
        if stream not in client.cursors:
            self._follow(client, stream, 1, client.window)
            cursor = client.cursors.get(stream)
            if cursor is not None:
                self._pump(cursor, self._shelf.entries[stream])

    def _drop(self, client: Subscription) -> None:
        client.waiting.clear()
        self._blocking.end(client)
        for stream in client.cursors:
            followers = self._followers.get(stream)
            if followers is not None:
                followers.pop(client.party, None)
                if not followers:
                    del self._followers[stream]

    # -- live ----------------------------------------------------------------------------------

    def push(self, entry: Entry, active: ReplicaStream, fresh: Fresh | None, told: bool) -> None:
        """Send a turn's news of a stream to those who follow it.

        `told` says that READY or CONFIRMED changed.
        """
        if fresh is not None and fresh.first == 1:
            for client in self._clients.values():
                known = active.stream in client.cursors
                if not known and client.begins(active.stream, entry.created):
                    self._follow(client, active.stream, 1, client.window)
        followers = self._followers.get(active.stream)
        if not followers:
            return
        news = self._news(active, fresh) if fresh is not None else []
        statements = self._statements(active) if told else []
        for cursor in followers.values():
            party = cursor.client.party
            if fresh is not None:
                last = fresh.first + len(fresh.bodies) - 1
                if cursor.next == fresh.first and cursor.through >= last and not cursor.reading:
                    cursor.next = last + 1
                    for message in news:
                        self._out.send(party, message)
                else:
                    self._pump(cursor, entry)
            for message in statements:
                self._out.send(party, message)

    def _news(self, active: ReplicaStream, fresh: Fresh) -> list[Message]:
        """The votes of a turn, and the bodies that it is this replica's turn to send."""
        stream = active.stream
        news: list[Message] = []
        skip = max(0, self._vouched(active.confirmed.seq) + 1 - fresh.first)
        if skip < len(fresh.bodies):
            digests = bytes(fresh.digests[skip * D :])
            news.append(
                Held(stream, fresh.first + skip, digests, bytes(fresh.signatures[skip * S :]))
            )
        signatures = bytes(fresh.signatures)
        return news + self._bodies(stream, fresh.first, tuple(fresh.bodies), signatures)

    def _statements(self, active: ReplicaStream) -> list[Message]:
        said: list[Message] = []
        bracha = self._context.channel.protocol == "bracha"
        if bracha and active.ready.seq > active.confirmed.seq:
            said.append(ReadyUpTo(active.stream, *active.ready))
        if active.confirmed.seq > 0:
            said.append(ConfirmedUpTo(active.stream, *active.confirmed))
        return said

    def _bodies(
        self, stream: Stream, first: int, bodies: tuple[bytes, ...], signatures: bytes
    ) -> list[Message]:
        """The bodies of the blocks that are this replica's: f+1 replicas send each block."""
        sent: list[Message] = []
        last = first + len(bodies) - 1
        while first <= last:
            block = first // ROTATE_POSITIONS
            end = min(last, block * ROTATE_POSITIONS + ROTATE_POSITIONS - 1)
            count = end - first + 1
            if (self._index - block) % self._n <= self._f:
                for at, to in portions(bodies[:count], MESSAGE_BYTES):
                    sent.append(
                        Bodies(stream, first + at, bodies[at:to], signatures[at * S : to * S])
                    )
            bodies, signatures = bodies[count:], signatures[count * S :]
            first = end + 1
        return sent

    def _vouched(self, confirmed: int) -> int:
        """Up to where CONFIRMED stands for the votes: on Byzantine channels, where it is stated."""
        return confirmed if self._context.limited else 0

    # -- from the store ------------------------------------------------------------------------

    def _pump(self, cursor: Cursor, entry: Entry) -> None:
        """Read the next chunk for a subscriber that is behind and has credit."""
        if self._serving.floor_if_below(cursor.client.party, entry, cursor.next):
            cursor.next = entry.floor.seq + 1
        last = min(entry.head, cursor.through)
        if cursor.reading or cursor.next > last:
            return
        first = cursor.next
        if first <= entry.confirmed.seq:  # ends where other replicas' chunks end, so that c agrees
            chunk = (first - 1) // READ_POSITIONS * READ_POSITIONS + READ_POSITIONS
            last = min(last, entry.confirmed.seq, chunk)
        else:
            last = min(last, first + READ_POSITIONS - 1)
        request = ReadRange(cursor.stream, first, last, READ_BYTES)
        cursor.reading = True
        if not self._reads.ask(
            cursor.client.party, request, lambda found: self._chunk(cursor, found)
        ):
            cursor.reading = False
            waiting = cursor.client.waiting
            if cursor.stream not in waiting:
                waiting[cursor.stream] = None
                if cursor.stream.lane == Lane.URGENT:
                    waiting.move_to_end(cursor.stream, last=False)

    def _chunk(self, cursor: Cursor, found: Range) -> None:
        cursor.reading = False
        client = cursor.client
        entry = self._shelf.entries.get(cursor.stream)
        if client.cursors.get(cursor.stream) is not cursor or entry is None:
            return
        if self._clients.get(client.party) is client and found.digests:
            self._send_chunk(cursor, entry, found)
            self._pump(cursor, entry)
        while client.waiting:
            stream, _ = client.waiting.popitem(last=False)
            other, waiting = self._shelf.entries.get(stream), client.cursors.get(stream)
            if other is not None and waiting is not None:
                self._pump(waiting, other)
                break

    def _send_chunk(self, cursor: Cursor, entry: Entry, found: Range) -> None:
        party, stream = cursor.client.party, cursor.stream
        count = len(found.digests) // D
        last = found.first + count - 1
        bodies: list[bytes] = []
        for body in found.bodies:
            if body is None:
                break
            bodies.append(body)
        signatures = found.signatures[: len(bodies) * S]
        for message in self._bodies(stream, found.first, tuple(bodies), signatures):
            self._out.send(party, message)
        vouched = self._vouched(entry.confirmed.seq)
        if last > vouched:
            first = max(found.first, vouched + 1)
            skip = first - found.first
            self._out.send(
                party, Held(stream, first, found.digests[skip * D :], found.signatures[skip * S :])
            )
        cursor.next = max(cursor.next, last + 1)
        if last <= entry.confirmed.seq:
            self._serving.confirmed(party, entry, AskConfirmed(stream, last))
        elif entry.confirmed.seq > 0:
            self._out.send(party, ConfirmedUpTo(stream, *entry.confirmed))
