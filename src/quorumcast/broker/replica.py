"""The replica machine: what arrives is handed to the channel and stream that it is about."""

from __future__ import annotations

from collections.abc import Iterable

from quorumcast.broadcast.context import Replicas
from quorumcast.broker.desk import Desk
from quorumcast.broker.exchange import Exchange
from quorumcast.broker.incarnations import Incarnations
from quorumcast.broker.serving import Reads
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster, Incarnation, Party, Stream
from quorumcast.core.limits import PULLS_BURST, PULLS_PER_SECOND, REVISIT_SECONDS
from quorumcast.core.machine import Agenda, Out, Ready
from quorumcast.core.messages import (
    Heads,
    Hello,
    Message,
    Open,
    Publish,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
)
from quorumcast.core.rates import Bucket
from quorumcast.core.records import (
    Forgotten,
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
        self._closed: dict[str, Desk] = {}
        """Channels that are there no more, with what is known of their streams."""
        self._coming: dict[str, Desk] = {}
        """Channels that are new: they open once their streams, if the store has any, are read."""
        self._scanned: tuple[str, ...] = ()
        """Those of them that are looked for in the reading under way."""
        self._shifted = False
        """Whether streams were forgotten during it: then it has missed some."""
        self._started = False
        self._links = 0
        self._peers = frozenset(self.replicas.peers)

    # -- the machine ---------------------------------------------------------------------------

    def start(self) -> None:
        """Read back which streams there are; until then nothing is taken in."""
        self.out.read(ReadStreams(0, _PAGE))

    def learn(self, channels: Iterable[Channel]) -> None:
        """These are the operator's channels from now on, with these settings.

        `ConfigError` where one of them changes what cannot change, and nothing is learned. Rights
        that were taken away are so for what is open too. A channel that is not among them takes
        nothing more; its streams stay in the store, for the case that it comes back.
        """
        cluster = self.replicas.cluster
        wanted = {channel.name: channel.check(cluster) for channel in channels}
        for name, channel in wanted.items():
            known = self._desk(name)
            fault = known.channel.fixed_fault(channel) if known is not None else None
            if fault is not None:
                raise ConfigError(f"channel {name}: {fault} cannot change while the channel exists")
        for name in [name for name in self.desks if name not in wanted]:
            desk = self.desks.pop(name)
            desk.close()
            if self._started:  # else it does not know all of its streams
                self._closed[name] = desk
            for what in ("retain", "revisit"):
                self.agenda.cancel((desk, what))
        for name in [name for name in self._coming if name not in wanted]:
            del self._coming[name]
        for name, channel in wanted.items():
            if name in self._closed:
                desk = self.desks[name] = self._closed.pop(name)
                desk.reopen()
                self._keep(desk)
            known = self._desk(name)
            if known is not None:
                known.learn(channel)
            else:
                self._coming[name] = Desk(self.replicas, channel, self._reads, self._bucket)
                self._shifted |= name in self._scanned  # an earlier desk of this name was filled
        self._scan()

    def _desk(self, name: str) -> Desk | None:
        return self.desks.get(name) or self._closed.get(name) or self._coming.get(name)

    def at(self, now: float) -> None:
        """The time of this turn."""
        self.replicas.now = now

    def linked(self, party: Party) -> None:
        """A link is up: show this replica's incarnation, and exchange heads with a peer."""
        self.unlinked(party)
        self._links += 1
        self.replicas.live[party] = self._links
        self._exchange.linked(party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        if self.replicas.live.pop(party, None) is None:
            return
        self.incarnations.unlinked(party)
        self._exchange.unlinked(party)
        self._bucket.forget(party)
        for desk in (*self.desks.values(), *self._closed.values()):
            desk.unlinked(party)

    def step(self, sender: Party, message: Message) -> None:
        """A message from an authenticated sender."""
        if isinstance(message, Publish) and self._started:  # the hot path
            desk = self.desks.get(message.stream.channel)
            if desk is not None:
                desk.arrivals.add(sender, message)
                return
        if isinstance(message, Hello):
            self._hello(sender, message)
            return
        if not self._started:
            return  # whoever asks, asks again
        peer = sender in self._peers
        if peer and not self.incarnations.greeted(sender):
            return  # nothing that a peer says counts before it showed its incarnation
        stream: Stream | None = getattr(message, "stream", None)
        channel: str = getattr(message, "channel", "") if stream is None else stream.channel
        desk = self.desks.get(channel)
        if desk is None:
            self._no_channel(sender, channel, message)
        elif not isinstance(message, Heads):
            desk.step(sender, message)
        elif peer:
            self._exchange.heads(desk, sender, message)
        else:
            self.out.reject(sender, "only replicas exchange heads")

    def _no_channel(self, sender: Party, channel: str, message: Message) -> None:
        if channel in self._coming:
            return  # whoever asks, asks again
        reason = f"there is no channel {channel}"
        if not channel:
            reason = f"{type(message).__name__} is not for a replica"
        if isinstance(message, Open):
            self.out.send(sender, Status(message.stream, StatusCode.REJECTED, 0, reason))
        elif isinstance(message, Subscribe):
            self.out.send(sender, SubscribeStatus(channel, message.version, False, reason))
        self.out.reject(sender, reason)

    def tick(self) -> None:
        """Do what is due, after what arrived in this very turn was taken in."""
        for desk in self.desks.values():
            desk.arrivals.flush()
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
            elif name == "revisit":
                owner.shelf.revisit()
                self.agenda.set(key, self.replicas.now + REVISIT_SECONDS)
            else:
                self._exchange.tick(owner)

    def loaded(self, request: Read, result: Loaded) -> None:
        """An answer of the store."""
        if isinstance(request, ReadRange):
            found = result if isinstance(result, Range) else None
            self._reads.loaded(request, found)
        elif isinstance(request, ReadStream):
            desk = self._desk(request.stream.channel)
            if desk is None:
                return
            state = result if isinstance(result, StreamState) else None
            for sender, message in desk.shelf.loaded(state, request.stream):
                self.step(sender, message)
            if request.stream.channel in self._closed:
                desk.close()
        elif isinstance(result, list):
            self._restore(request, result)

    # -- reading back which streams there are --------------------------------------------------

    def _restore(self, request: ReadStreams, states: list[StreamState]) -> None:
        desks = self._coming if self._started else self.desks
        for state in states:
            desk = desks.get(state.stream.channel)
            if desk is not None and state.stream not in desk.shelf.entries:
                desk.restore(state)
        if len(states) == request.limit:
            self.out.read(ReadStreams(request.after + request.limit, request.limit))
        elif self._shifted:
            self._shifted = False
            self.out.read(ReadStreams(0, _PAGE))
        elif self._started:
            self._opened()
        else:
            self._started = True
            for desk in self.desks.values():
                self._keep(desk)
            self._scan()

    def _scan(self) -> None:
        """Look for the streams of new channels: their names may have been in use before.

        Without them, votes that are in the store could be cast a second time.
        """
        if self._started and self._coming and not self._scanned:
            self._scanned, self._shifted = tuple(self._coming), False
            self.out.read(ReadStreams(0, _PAGE))

    def _opened(self) -> None:
        scanned, self._scanned = self._scanned, ()
        for name in scanned:
            if name in self._coming:
                desk = self.desks[name] = self._coming.pop(name)
                self._keep(desk)
        self._exchange.learned()
        self._scan()

    def _keep(self, desk: Desk) -> None:
        self.agenda.set((desk, "retain"), self.replicas.now + desk.retention.period)
        self.agenda.set((desk, "revisit"), self.replicas.now + REVISIT_SECONDS)

    def ready(self) -> Ready:
        """All that follows from this turn."""
        for desk in self.desks.values():
            desk.settle()
        if self._scanned and any(isinstance(each, Forgotten) for each in self.out.records):
            self._shifted = True
        return self.out.take(self.agenda.next)

    # -- replicas ------------------------------------------------------------------------------

    def renew(self, incarnation: Incarnation) -> None:
        """Rotate this replica's incarnation; what it said and voted stays valid."""
        ages = [desk.channel.retention.age_seconds for desk in self.desks.values()]
        age = max(ages, default=0.0)
        self.incarnations.renew(incarnation, self.replicas.now, age)
        self._exchange.greet()
        for desk in self.desks.values():  # peers take the new one for a loss of memory
            for entry in desk.shelf.entries.values():
                if entry.active is not None:
                    entry.active.teller.restated()

    def _hello(self, sender: Party, message: Hello) -> None:
        if sender not in self._peers:
            self.out.reject(sender, "only replicas say Hello")
        elif self.incarnations.shown(sender, message):
            for desk in self.desks.values():
                for entry in desk.shelf.entries.values():
                    if entry.active is not None:
                        entry.active.forget(sender)
            self._exchange.greet()
