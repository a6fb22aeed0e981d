"""One client: a publisher and a subscriber under one identity, on one link per replica.

Upon a message: it goes to the half that it is for. Greetings are for both. CONFIRMED about an own
stream is for the publisher, and for the subscriber too where it reads that stream.
At the end of a turn: what both halves have to say to a replica is one list, and the earlier of
their timers is the timer.

A subscriber that falls behind is held: nothing more of the channel is delivered, and replicas are
told that there is no credit. Released, it asks for all from where it stood; replicas read it from
their logs. So a slow reader costs its own client a window of publications, and others nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from quorumcast.auth import certificate as certificates
from quorumcast.client.publisher import LaneState, Publisher
from quorumcast.client.subscriber import Desk, Start, Subscriber, Subscription
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Lane, Party, Stream
from quorumcast.core.limits import REPEAT_SECONDS
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
    Subscribe,
    SubscribeStatus,
)
from quorumcast.core.outcomes import Ticket
from quorumcast.core.records import Loaded, Read, SessionState

_KNOCK = 0
"""The version of a subscription that asks for nothing: replicas do not list streams to those who
may not read them, and refuse only subscriptions."""

_NEVER = 2**62
"""A counter that no replica reaches: a knock follows no streams."""

_TO_PUBLISHER = (Status, Credit, HeldUpTo, AskBodies)
_TO_SUBSCRIBER = (Held, Bodies, ReadyUpTo, FloorAt, Digests, Heads, SubscribeStatus)


class Reached(msgspec.Struct, frozen=True):
    """The replicas that this client has a link to, and that greeted it, are now these.

    >>> len(Reached(frozenset({"r1", "r2"})).replicas)
    2
    """

    replicas: frozenset[Party]


class Subscribed(msgspec.Struct, frozen=True):
    """A subscription is in force at n-f replicas: what is published from now on is delivered.

    >>> Subscribed("alerts").channel
    'alerts'
    """

    channel: str


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
                self._try_again(channel, lane)
            if channel.signed and not self._key:
                papers, cluster = self._certificate, self._cluster
                self._key = certificates.check(papers, cluster.operator, cluster.id).keys.sign

    def _try_again(self, channel: Channel, lane: Lane) -> None:
        """What was refused may be allowed now: with a new session, and with nothing of the old."""
        old = self._lanes.get((channel.name, lane))
        if old is None or old.refused is None:
            return
        for session in (old.session, *old.left):
            if session is not None:
                self._end(session)
        self.agenda.cancel(old)
        fresh = self._lanes[channel.name, lane] = LaneState(channel, lane)
        fresh.tickets = fresh.placed = old.tickets


class Reader(Subscriber):
    """A subscriber whose channels can be held, each by itself, and that says when it begins.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> reader = Reader("screen", cluster, [Channel("alerts")])
    >>> reader.subscribe("alerts", start="earliest")
    >>> reader.hold("alerts"); reader.holds("alerts")
    True
    """

    def __init__(self, me: Party, cluster: Cluster, channels: Iterable[Channel]) -> None:
        super().__init__(me, cluster, channels)
        self._held: dict[str, None] = {}
        self._beginning: dict[str, None] = {}
        """Subscriptions that are not in force everywhere yet."""

    def subscribe(
        self, channel: str, patterns: tuple[str, ...] = ("*",), start: Start = "latest"
    ) -> None:
        """Subscribe, or change the subscription; `Subscribed` follows once it is in force."""
        super().subscribe(channel, patterns, start)
        self._beginning[channel] = None

    def unsubscribe(self, channel: str) -> None:
        """End a subscription."""
        self._held.pop(channel, None)
        self._beginning.pop(channel, None)
        super().unsubscribe(channel)

    def learn(self, channels: Iterable[Channel]) -> None:
        """There are these channels too; subscriptions keep the settings they have."""
        for channel in channels:
            self._channels[channel.name] = channel.check(self._cluster)

    # -- knocking ------------------------------------------------------------------------------

    def _ask(self, subscription: Subscription, replica: Party, desk: Desk) -> None:
        """Ask for what changed; of a replica that does not answer, ask whether we may read."""
        super()._ask(subscription, replica, desk)
        if not desk.complete and desk.interval > REPEAT_SECONDS:
            channel, patterns = subscription.reading.channel.name, subscription.patterns
            self.out.send(replica, Subscribe(channel, _KNOCK, patterns, _NEVER, 0))

    def _status(self, subscription: Subscription, replica: Party, message: SubscribeStatus) -> None:
        """A replica's answer to a subscription; the refusal of a knock is one of all versions."""
        if message.version == _KNOCK and not message.accepted:
            version = subscription.reading.version
            message = SubscribeStatus(message.channel, version, False, message.reason)
        super()._status(subscription, replica, message)

    # -- holding -------------------------------------------------------------------------------

    def holds(self, channel: str) -> bool:
        """Whether nothing of this channel is delivered now."""
        return channel in self._held

    def hold(self, channel: str) -> None:
        """Deliver nothing more of a channel, and let replicas pause."""
        subscription = self._subscriptions.get(channel)
        if subscription is None or channel in self._held:
            return
        self._held[channel] = None
        version = subscription.reading.version
        for stream, follower in subscription.followers.items():
            if follower.believed and follower.anchor.anchored and not follower.ended:
                end = follower.delivered
                subscription.reading.to_replicas(Follow(stream, version, end + 1, end))

    def release(self, channel: str) -> None:
        """Go on where the channel was held."""
        subscription = self._subscriptions.get(channel)
        if subscription is None or channel not in self._held:
            return
        del self._held[channel]
        for follower in subscription.followers.values():
            follower.touch()
            if follower.believed:
                follower.follow()

    def starts(self, channel: str) -> Mapping[Stream, int] | None:
        """Where streams began that did not begin at 1; None while that is not decided."""
        subscription = self._subscriptions.get(channel)
        if subscription is None or not subscription.fixed:
            return None
        return dict(subscription.starts)

    def wants(self, stream: Stream) -> bool:
        """Whether a stream is subscribed to."""
        subscription = self._subscriptions.get(stream.channel)
        return subscription is not None and subscription.matches(stream)

    def ready(self) -> Ready:
        """All that follows from this turn; channels that are held are settled later."""
        readings = [
            self._subscriptions[channel].reading
            for channel in self._held
            if self._subscriptions[channel].reading.touched
        ]
        waiting = [(reading, reading.touched) for reading in readings]
        for reading in readings:
            reading.touched = {}
        ready = super().ready()
        for reading, touched in waiting:
            touched.update(reading.touched)
            reading.touched = touched
        for channel in [name for name in self._beginning if self._in_force(name)]:
            del self._beginning[channel]
            ready.deliveries.append(Subscribed(channel))
        return ready

    def _in_force(self, channel: str) -> bool:
        subscription = self._subscriptions[channel]
        quorum, version = subscription.reading.quorum, subscription.reading.version
        accepted = sum(1 for desk in subscription.desks.values() if desk.accepted == version)
        return subscription.fixed and accepted >= quorum.n - quorum.f


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
        self._obstacles: dict[str, dict[Party, str]] = {each.name: {} for each in channels}

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
        self, channel: str, patterns: tuple[str, ...] = ("*",), start: Start = "latest"
    ) -> None:
        """Subscribe to publishers whose names match; see `Subscriber.subscribe`."""
        self._subscriber.subscribe(channel, patterns, start)

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
        return dict(self._obstacles.get(channel, {}))

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
            if isinstance(message, Status):
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

    def _note(self, sender: Party, message: Status) -> None:
        """Remember why a replica takes nothing, for whoever waits in vain."""
        said = self._obstacles.get(message.stream.channel)
        if said is None or message.stream.publisher != self.me:
            return
        if message.code is StatusCode.OK:
            said.pop(sender, None)
        elif message.reason:
            said[sender] = message.reason

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
