"""The replica machine: what arrives is handed to the channel and stream that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from quorumcast.broadcast.context import Replicas
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.desk import Desk
from quorumcast.broker.exchange import Exchange
from quorumcast.broker.incarnations import Incarnations
from quorumcast.broker.rates import Bucket
from quorumcast.broker.serving import Reads
from quorumcast.broker.shelf import Entry
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Party, Stream
from quorumcast.core.limits import PULLS_BURST, PULLS_PER_SECOND
from quorumcast.core.machine import Agenda, Out, Ready
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Heads,
    Held,
    Hello,
    Message,
    Open,
    OpeningOf,
    Publish,
    ReadyUpTo,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from quorumcast.core.records import (
    Incarnated,
    Loaded,
    Range,
    Read,
    ReadRange,
    ReadStream,
    ReadStreams,
    StreamState,
)

_PAGE = 1024
"""Streams that are read at once when a replica starts."""


class Replica:
    """One replica of a cluster, for all its channels; drive it as `core.machine` says.

    `life` is its durable incarnation state. Call `start` once, before anything else.

    >>> from quorumcast.core.ids import Incarnation
    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> life = Incarnated(((Incarnation(1, 7), 0.0),), ())
    >>> replica = Replica("r1", cluster, [Channel("alerts")], life)
    >>> replica.start()
    >>> replica.ready().reads
    [ReadStreams(after=0, limit=1024)]
    """

    def __init__(
        self, me: Party, cluster: Cluster, channels: Iterable[Channel], life: Incarnated
    ) -> None:
        self.me = me
        self.out = Out()
        self.agenda = Agenda()
        self.replicas = Replicas(me, cluster, self.out, self.agenda)
        self.incarnations = Incarnations(self.replicas, life)
        self._reads = Reads(self.out)
        self._bucket = Bucket(PULLS_PER_SECOND, PULLS_BURST)
        self.desks = {
            channel.name: Desk(self.replicas, channel.check(cluster), self._reads, self._bucket)
            for channel in channels
        }
        self._exchange = Exchange(self.replicas, self.desks, self.incarnations)
        self._started = False
        self._peers = frozenset(self.replicas.peers)
        self._of_peers: dict[type, Callable[[Desk, Party, Any], None]] = {
            Held: self._held,
            ReadyUpTo: self._ready,
            ConfirmedUpTo: self._confirmed,
            FloorAt: self._floor,
            OpeningOf: self._opening,
            Digests: self._digests,
        }
        self._of_anybody: dict[type, Callable[[Desk, Party, Any], None]] = {
            Publish: self._publish,
            Open: self._open,
            Bodies: self._bodies,
            Follow: self._follow,
            Credit: self._credit,
        }
        self._questions: dict[type, Callable[[Desk, Party, Entry, Any], None]] = {
            AskVotes: lambda desk, *rest: desk.serving.votes(*rest),
            AskConfirmed: lambda desk, *rest: desk.serving.confirmed(*rest),
            AskDigests: lambda desk, *rest: desk.serving.digests(*rest),
            AskBodies: lambda desk, *rest: desk.serving.bodies(*rest),
            AskOpening: self._ask_opening,
        }
        self._by_channel: dict[type, Callable[[Desk, Party, Any], None]] = {
            AskHeads: lambda desk, *rest: desk.serving.heads(*rest),
            Heads: self._exchange.heads,
            Subscribe: lambda desk, *rest: desk.subscriptions.subscribe(*rest),
            Unsubscribe: lambda desk, *rest: desk.subscriptions.unsubscribe(*rest),
        }

    # -- the machine ---------------------------------------------------------------------------

    def start(self) -> None:
        """Read back which streams there are; until then nothing is taken in."""
        self.out.read(ReadStreams(0, _PAGE))

    def at(self, now: float) -> None:
        """The time of this turn."""
        self.replicas.now = now

    def linked(self, party: Party) -> None:
        """A link is up: show this replica's incarnation, and exchange heads with a peer."""
        self.unlinked(party)
        self.replicas.live[party] = None
        self._exchange.linked(party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        if self.replicas.live.pop(party, self) is self:
            return
        self.incarnations.unlinked(party)
        self._exchange.unlinked(party)
        self._bucket.forget(party)
        for desk in self.desks.values():
            desk.unlinked(party)

    def step(self, sender: Party, message: Message) -> None:
        """A message from an authenticated sender."""
        kind = type(message)
        if kind is Hello:
            self._hello(sender, message)
        elif not self._started:
            return  # whoever asks, asks again
        elif kind in self._by_channel:
            desk = self._desk(sender, message.channel, message)
            if desk is None:
                return
            if kind is Heads and sender not in self._peers:
                self.out.reject(sender, "only replicas exchange heads")
            elif kind is not AskHeads or desk.serving.allowed(sender):
                self._by_channel[kind](desk, sender, message)
        else:
            self._step_stream(kind, sender, message)

    def _step_stream(self, kind: type, sender: Party, message: Any) -> None:
        desk = self._desk(sender, message.stream.channel, message)
        if desk is None:
            return
        if kind in self._of_anybody:
            self._of_anybody[kind](desk, sender, message)
        elif kind in self._questions:
            if desk.serving.allowed(sender):
                self._question(desk, sender, message)
        elif kind not in self._of_peers:
            self.out.reject(sender, f"{kind.__name__} is not for a replica")
        elif sender not in self._peers:
            self.out.reject(sender, f"{kind.__name__} from a client")
        elif desk.context.repairs and self.incarnations.greeted(sender):
            self._of_peers[kind](desk, sender, message)

    def tick(self) -> None:
        """Do what is due."""
        for key in self.agenda.due(self.replicas.now):
            owner, name = key
            if name == "tell":
                owner.teller.due()
            elif name == "repeat":
                owner.teller.repeat()
            elif name == "repair":
                owner.repair.tick()
            elif name == "retain":
                owner.retention.enforce()
                self.agenda.set(key, self.replicas.now + owner.retention.period)
            else:
                self._exchange.tick(owner)

    def loaded(self, request: Read, result: Loaded) -> None:
        """An answer of the store."""
        if isinstance(request, ReadRange):
            if isinstance(result, Range):
                self._reads.loaded(request, result)
        elif isinstance(request, ReadStream):
            desk = self.desks[request.stream.channel]
            state = result if isinstance(result, StreamState) else None
            for sender, message in desk.shelf.loaded(state, request.stream):
                self.step(sender, message)
        elif isinstance(result, list):
            self._restore(request, result)

    def _restore(self, request: ReadStreams, states: list[StreamState]) -> None:
        for state in states:
            desk = self.desks.get(state.stream.channel)
            if desk is not None:
                desk.restore(state)
        if len(states) == request.limit:
            self.out.read(ReadStreams(request.after + request.limit, request.limit))
            return
        self._started = True
        for desk in self.desks.values():
            self.agenda.set((desk, "retain"), self.replicas.now + desk.retention.period)

    def ready(self) -> Ready:
        """All that follows from this turn."""
        for desk in self.desks.values():
            desk.settle()
        return self.out.take(self.agenda.next)

    # -- replicas ------------------------------------------------------------------------------

    def renew(self, incarnation: Incarnation) -> None:
        """Rotate this replica's incarnation; what it said and voted stays valid."""
        age = max(desk.channel.retention.age_seconds for desk in self.desks.values())
        self.incarnations.renew(incarnation, self.replicas.now, age)
        self._exchange.greet()

    def _hello(self, sender: Party, message: Hello) -> None:
        if sender not in self._peers:
            self.out.reject(sender, "only replicas say Hello")
        elif self.incarnations.shown(sender, message):
            for desk in self.desks.values():
                for entry in desk.shelf.entries.values():
                    if entry.active is not None:
                        entry.active.forget(sender)
            self._exchange.greet()

    def _desk(self, sender: Party, channel: str, message: Any) -> Desk | None:
        desk = self.desks.get(channel)
        if desk is None:
            reason = f"there is no channel {channel}"
            if isinstance(message, Open):
                self.out.send(sender, Status(message.stream, StatusCode.REJECTED, 0, reason))
            elif isinstance(message, Subscribe):
                self.out.send(sender, SubscribeStatus(channel, message.version, False, reason))
            self.out.reject(sender, reason)
        return desk

    def _heard(self, desk: Desk, sender: Party, message: Any) -> ReplicaStream | None:
        """The stream that a peer speaks of, at work; None while it is being read."""
        entry = desk.shelf.heard_of(message.stream, sender)
        if entry.active is None:
            desk.shelf.load(entry, sender, message)
        return entry.active

    def _held(self, desk: Desk, sender: Party, message: Held) -> None:
        last = message.first + len(message.digests) // 32 - 1
        if not self._settled_already(desk, sender, message.stream, last):
            active = self._heard(desk, sender, message)
            if active is not None:
                desk.statements.held(active, sender, message)

    def _ready(self, desk: Desk, sender: Party, message: ReadyUpTo) -> None:
        if not self._settled_already(desk, sender, message.stream, message.position):
            active = self._heard(desk, sender, message)
            if active is not None:
                desk.statements.ready(active, sender, message)

    def _confirmed(self, desk: Desk, sender: Party, message: ConfirmedUpTo) -> None:
        entry = desk.shelf.entries.get(message.stream)
        if entry is not None and entry.active is None and message.position <= entry.confirmed.seq:
            return
        active = self._heard(desk, sender, message)
        if active is not None:
            desk.statements.confirmed(active, sender, message)

    def _settled_already(self, desk: Desk, peer: Party, stream: Stream, last: int) -> bool:
        """A peer speaks of what a stream at rest has confirmed: tell it, without waking that."""
        entry = desk.shelf.entries.get(stream)
        if entry is None or entry.active is not None or last > entry.confirmed.seq:
            return False
        self.out.send(peer, ConfirmedUpTo(stream, *entry.confirmed))
        return True

    def _floor(self, desk: Desk, sender: Party, message: FloorAt) -> None:
        active = self._heard(desk, sender, message)
        if active is not None:
            desk.statements.floor(active, sender, message)

    def _opening(self, desk: Desk, sender: Party, message: OpeningOf) -> None:
        active = desk.shelf.active(message.stream)
        if active is not None:
            desk.statements.opening(active, sender, message)

    def _digests(self, desk: Desk, sender: Party, message: Digests) -> None:
        active = desk.shelf.active(message.stream)
        if active is not None:
            active.repair.digests(sender, message.first, message.digests)

    def _bodies(self, desk: Desk, sender: Party, message: Bodies) -> None:
        if sender not in self._peers and sender != message.stream.publisher:
            self.out.reject(sender, "bodies from a stranger")
            return
        active = desk.shelf.active(message.stream)
        if active is not None and desk.context.repairs:
            active.repair.bodies(sender, message.first, message.bodies, message.signatures)

    # -- clients -------------------------------------------------------------------------------

    def _open(self, desk: Desk, sender: Party, message: Open) -> None:
        stream = message.stream
        refusal = desk.admission.refusal(sender, message)
        if refusal is not None:
            self.out.send(sender, Status(stream, StatusCode.REJECTED, 0, refusal))
            self.out.reject(sender, refusal)
            return
        full = desk.admission.full(sender, stream)
        if full is not None:
            self.out.send(sender, Status(stream, StatusCode.WAIT, 0, full))
            return
        entry = desk.shelf.heard_of(stream, sender)
        active = entry.active
        if active is None:
            desk.shelf.load(entry, sender, message)
            return
        if active.opening is None:
            key = desk.shelf.sign_key(stream, message.certificate) or b""
            active.open(message.opening, message.certificate, key)
        desk.admission.opened(active)

    def _publish(self, desk: Desk, sender: Party, message: Publish) -> None:
        stream = message.stream
        if stream.publisher != sender:
            self.out.reject(sender, "a publication under another's name")
            return
        entry = desk.shelf.entries.get(stream)
        if entry is None or (entry.active is not None and entry.active.opening is None):
            self.out.send(sender, Status(stream, StatusCode.WAIT, 0, "open the stream first"))
        elif entry.active is None:
            desk.shelf.load(entry, sender, message)
        else:
            desk.admission.publish(entry, entry.active, message)

    def _follow(self, desk: Desk, sender: Party, message: Follow) -> None:
        entry = desk.shelf.entries.get(message.stream)
        if entry is not None:
            desk.subscriptions.follow(sender, entry, message)

    def _credit(self, desk: Desk, sender: Party, message: Credit) -> None:
        entry = desk.shelf.entries.get(message.stream)
        if entry is not None:
            desk.subscriptions.credit(sender, entry, message)

    def _question(self, desk: Desk, sender: Party, message: Any) -> None:
        entry = desk.shelf.entries.get(message.stream)
        if entry is None:
            return
        if entry.active is None and entry.loading is not None:
            desk.shelf.load(entry, sender, message)
        else:
            self._questions[type(message)](desk, sender, entry, message)

    def _ask_opening(self, desk: Desk, sender: Party, entry: Entry, message: AskOpening) -> None:
        if entry.active is None:
            desk.shelf.load(entry, sender, message)
        else:
            desk.serving.opening(sender, entry.active, message)
