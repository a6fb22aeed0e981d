"""One client: a publisher and a subscriber under one identity, on one link per replica.

Upon a message: it goes to the half that it is for. Greetings are for both. CONFIRMED about an own
stream is for the publisher, and for the subscriber too where it reads that stream.
At the end of a turn: what both halves have to say to a replica is one list, and the earlier of
their timers is the timer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from quorumcast.auth import certificate as certificates
from quorumcast.client.publisher import Publisher
from quorumcast.client.reader import Reader
from quorumcast.client.subscription import Start
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Lane, Party, Stream
from quorumcast.core.machine import Ready, Rejection
from quorumcast.core.messages import (
    AskBodies,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Heads,
    Held,
    HeldUpTo,
    Hello,
    Message,
    ReadyUpTo,
    Status,
    StatusCode,
    SubscribeStatus,
)
from quorumcast.core.outcomes import Ticket
from quorumcast.core.records import Loaded, Read, SessionState

_TO_PUBLISHER = (Status, Credit, HeldUpTo, AskBodies)
_TO_SUBSCRIBER = (Held, Bodies, ReadyUpTo, FloorAt, Digests, Heads, SubscribeStatus, Follow)


class Reached(msgspec.Struct, frozen=True):
    """The replicas that this client has a link to, and that greeted it, are now these.

    >>> len(Reached(frozenset({"r1", "r2"})).replicas)
    2
    """

    replicas: frozenset[Party]


class Writer(Publisher):
    """A publisher that learns of channels while it runs.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> writer = Writer("probe", cluster, [], b"", lambda: 7, None)
    >>> writer.learn([Channel("alerts")])
    >>> writer.publish("alerts", b"disk failing").number
    1
    """

    def learn(self, channels: Iterable[Channel]) -> None:
        """There are these channels too; sessions that are open keep the settings they have."""
        for channel in channels:
            self._channels[channel.name] = channel.check(self._cluster)
            for lane in Lane:
                state = self._lanes.get((channel.name, lane))
                if state is not None:
                    state.channel = channel
            if channel.signed and not self._key:
                papers, cluster = self._certificate, self._cluster
                self._key = certificates.check(papers, cluster.operator, cluster.id).keys.sign


class ClientParty:
    """Publishes and subscribes on any channel of a cluster; drive it as `core.machine` says.

    `entropy` and `sign` are as for `Publisher`.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> party = ClientParty("probe", cluster, [Channel("alerts")], b"", lambda: 7, None)
    >>> party.publish("alerts", b"disk failing").number
    1
    >>> party.subscribe("alerts")
    >>> party.linked("r1")
    >>> party.ready().messages["r1"]
    [AskHeads(channel='alerts', since=0)]
    """

    def __init__(
        self,
        me: Party,
        cluster: Cluster,
        channels: Iterable[Channel],
        certificate: bytes,
        entropy: Callable[[], int],
        sign: Callable[[bytes], bytes] | None,
        *,
        journal: bool = False,
    ) -> None:
        self.me = me
        self.cluster = cluster
        channels = tuple(channels)
        self._publisher = Writer(me, cluster, channels, certificate, entropy, sign, journal=journal)
        self._subscriber = Reader(me, cluster, channels)
        self._rejections: list[Rejection] = []
        self._greeted: dict[Party, None] = {}
        self._reach_changed = False
        self._obstacles: dict[str, dict[Party, Status]] = {each.name: {} for each in channels}

    # -- local calls ---------------------------------------------------------------------------

    def publish(self, channel: str, body: bytes, lane: Lane = Lane.NORMAL) -> Ticket:
        """Publish a body; what becomes of it comes in `Ready.acknowledgements`."""
        return self._publisher.publish(channel, body, lane)

    def learn(self, channels: Iterable[Channel]) -> None:
        """There are these channels too, or these are their settings from now on."""
        channels = tuple(channels)
        self._publisher.learn(channels)
        self._subscriber.learn(channels)
        for channel in channels:
            self._obstacles.setdefault(channel.name, {})

    def resume(self, sessions: Iterable[SessionState]) -> None:
        """Finish the sessions that a journal kept, before new ones are opened."""
        self._publisher.resume(sessions)

    def subscribe(
        self,
        channel: str,
        patterns: tuple[str, ...] = ("*",),
        start: Start = "latest",
        *,
        blocks: bool = False,
    ) -> None:
        """Subscribe to publishers whose names match; see `Subscriber.subscribe`."""
        self._subscriber.subscribe(channel, patterns, start, blocks=blocks)

    def unsubscribe(self, channel: str) -> None:
        """End a subscription."""
        self._subscriber.unsubscribe(channel)

    def hold(self, channel: str) -> None:
        """Deliver nothing more of a channel for now."""
        self._subscriber.hold(channel)

    def release(self, channel: str) -> None:
        """Go on with a channel that was held."""
        self._subscriber.release(channel)

    def starts(self, channel: str) -> Mapping[Stream, int] | None:
        """Where the streams of a subscription began; None while that is not decided."""
        return self._subscriber.starts(channel)

    def obstacles(self, channel: str) -> Mapping[Party, str]:
        """Why replicas take no publications on a channel now, in their own words."""
        return {name: said.reason for name, said in self._obstacles.get(channel, {}).items()}

    # -- the machine ---------------------------------------------------------------------------

    def at(self, now: float) -> None:
        """The time of this turn."""
        self._publisher.at(now)
        self._subscriber.at(now)

    def linked(self, party: Party) -> None:
        """A link to a replica is up."""
        self._lost(party)
        self._publisher.linked(party)
        self._subscriber.linked(party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        self._lost(party)
        self._publisher.unlinked(party)
        self._subscriber.unlinked(party)

    def _lost(self, party: Party) -> None:
        if party in self._greeted:
            del self._greeted[party]
            self._reach_changed = True
        for said in self._obstacles.values():
            said.pop(party, None)

    def step(self, sender: Party, message: Message) -> None:
        """A message from a replica: for one half, or for both."""
        if sender not in self.cluster.replicas:
            self._rejections.append(Rejection(sender, "not a replica"))
        elif isinstance(message, _TO_SUBSCRIBER):
            self._subscriber.step(sender, message)
        elif isinstance(message, _TO_PUBLISHER):
            if isinstance(message, Status | Credit):
                self._note(sender, message)
            self._publisher.step(sender, message)
        elif isinstance(message, ConfirmedUpTo):
            mine = message.stream.publisher == self.me
            if mine:
                self._publisher.step(sender, message)
            if not mine or self._subscriber.wants(message.stream):
                self._subscriber.step(sender, message)
        elif isinstance(message, Hello):
            self._reach_changed = self._reach_changed or sender not in self._greeted
            self._greeted[sender] = None
            self._publisher.step(sender, message)
            self._subscriber.step(sender, message)
        else:
            reason = f"{type(message).__name__} is not for a client"
            self._rejections.append(Rejection(sender, reason))

    def _note(self, sender: Party, message: Status | Credit) -> None:
        """Remember why a replica takes nothing, for whoever waits in vain."""
        stream = message.stream
        said = self._obstacles.get(stream.channel)
        if said is None or stream.publisher != self.me:
            return
        known = said.get(sender)
        if isinstance(message, Credit):
            if known is not None and known.stream == stream and message.through > known.position:
                del said[sender]
        elif message.code is StatusCode.OK:
            if known is not None and known.stream.lane == stream.lane:
                del said[sender]
        elif message.reason:
            said[sender] = message

    def tick(self) -> None:
        """Do what is due in both halves."""
        self._publisher.tick()
        self._subscriber.tick()

    def loaded(self, request: Read, result: Loaded) -> None:
        """A client reads nothing."""

    def ready(self) -> Ready:
        """All that follows from this turn, of both halves."""
        whole, other = self._publisher.ready(), self._subscriber.ready()
        whole.records += other.records
        messages = whole.messages
        for receiver, said in other.messages.items():
            messages.setdefault(receiver, []).extend(said)
        whole.reads += other.reads
        if self._reach_changed:
            self._reach_changed = False
            whole.acknowledgements.append(Reached(frozenset(self._greeted)))
        whole.deliveries += other.deliveries
        whole.acknowledgements += other.acknowledgements
        whole.evidence += other.evidence
        whole.rejections += other.rejections
        if self._rejections:
            whole.rejections += self._rejections
            self._rejections = []
        if whole.timer is None or (other.timer is not None and other.timer < whole.timer):
            whole.timer = other.timer
        return whole
