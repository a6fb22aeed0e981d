"""The subscriber machine: subscriptions with all replicas in, deliveries out.

At each replica it first asks which streams there are, then subscribes with the counter of that
answer: what the replica hears of later it sends from position 1, the others where `Follow` says.
`latest` begins each stream after the (f+1)-th highest head that n-f replicas list.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from quorumcast.client.follower import Follower
from quorumcast.client.reading import Reading
from quorumcast.client.subscription import Desk, Start, Subscription
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster, Party, Stream
from quorumcast.core.limits import (
    ACTIVE_STREAMS,
    CANDIDATE_STREAMS,
    HEADS_MOST_SECONDS,
    PATTERNS,
)
from quorumcast.core.machine import Agenda, Out, Ready
from quorumcast.core.messages import (
    AskHeads,
    Bodies,
    ConfirmedUpTo,
    Digests,
    FloorAt,
    Follow,
    Head,
    Heads,
    Held,
    Hello,
    Message,
    ReadyUpTo,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from quorumcast.core.outcomes import SubscriptionRefused
from quorumcast.core.records import Loaded, Read


class Subscriber:
    """Reads any channel of a cluster; drive it as `core.machine` says.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> subscriber = Subscriber("screen", cluster, [Channel("alerts")])
    >>> subscriber.subscribe("alerts", start="earliest")
    >>> subscriber.linked("r1")
    >>> subscriber.ready().messages["r1"]
    [AskHeads(channel='alerts', since=0)]
    """

    def __init__(self, me: Party, cluster: Cluster, channels: Iterable[Channel]) -> None:
        self.me = me
        self.out = Out()
        self.agenda = Agenda()
        self._cluster = cluster
        self._channels = {channel.name: channel.check(cluster) for channel in channels}
        self._live: dict[Party, None] = {}
        self._now = 0.0
        self._subscriptions: dict[str, Subscription] = {}
        self._versions: dict[str, int] = {}
        self._handlers: dict[type, Callable[[Follower, Party, Any], None]] = {
            Held: Follower.held,
            ReadyUpTo: Follower.ready,
            ConfirmedUpTo: Follower.confirmed,
            FloorAt: Follower.floor,
            Digests: Follower.digests,
            Bodies: Follower.take_bodies,
            Follow: Follower.reminded,
        }

    # -- local calls ---------------------------------------------------------------------------

    def subscribe(
        self,
        channel: str,
        patterns: tuple[str, ...] = ("*",),
        start: Start = "latest",
        *,
        blocks: bool = False,
    ) -> None:
        """Subscribe to publishers whose names match, or change the subscription to these.

        Streams that were followed already go on where they are, if they still match. With
        `blocks` publishers wait for this subscriber, if the channel trusts it with that.
        """
        if channel not in self._channels:
            known = ", ".join(sorted(self._channels)) or "none"
            raise ConfigError(f"there is no channel {channel}; there are: {known}")
        if not 1 <= len(patterns) <= PATTERNS:
            raise ConfigError(f"{len(patterns)} patterns: use 1 to {PATTERNS}")
        old = self._subscriptions.get(channel)
        reading = Reading(self._cluster, self._channels[channel], self.out, self.agenda, self._live)
        if old is not None:
            reading = old.reading
        fresh = Subscription(reading, patterns, start, blocks=blocks)
        reading.version = self._versions[channel] = self._versions.get(channel, 0) + 1
        reading.now = self._now
        self._subscriptions[channel] = fresh
        if old is not None:
            for replica in old.desks:
                self.agenda.cancel((old, replica))
            for stream, follower in old.followers.items():
                if fresh.matches(stream):
                    fresh.followers[stream] = follower
                    fresh.starts[stream] = follower.start
                else:
                    self._drop(follower)
            fresh.resting = {s: at for s, at in old.resting.items() if fresh.matches(s)}
            fresh.idle = OrderedDict((s, None) for s in old.idle if fresh.matches(s))
        for replica in self._live:
            self._list(fresh, replica)

    def unsubscribe(self, channel: str) -> None:
        """End a subscription."""
        old = self._subscriptions.pop(channel, None)
        if old is not None:
            for follower in old.followers.values():
                self._drop(follower)
            old.reading.to_replicas(Unsubscribe(channel, self._versions[channel]))
            for replica in old.desks:
                self.agenda.cancel((old, replica))

    def _drop(self, follower: Follower) -> None:
        follower.close()
        follower.reading.touched.pop(follower, None)
        self.agenda.cancel((follower, "pull"))

    # -- the machine ---------------------------------------------------------------------------

    def at(self, now: float) -> None:
        """The time of this turn."""
        self._now = now
        for subscription in self._subscriptions.values():
            subscription.reading.now = now

    def linked(self, party: Party) -> None:
        """A link to a replica is up: list its streams, then subscribe."""
        self.unlinked(party)
        self._live[party] = None
        for subscription in self._subscriptions.values():
            self._list(subscription, party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        self._live.pop(party, None)
        for subscription in self._subscriptions.values():
            desk = subscription.desks.pop(party, None)
            subscription.listing.forget(party)
            self.agenda.cancel((subscription, party))
            for stream in desk.candidates if desk is not None else ():
                self._abandon(subscription, party, stream)

    def step(self, sender: Party, message: Message) -> None:
        """A message from a replica."""
        if sender not in self._cluster.replicas:
            self.out.reject(sender, "not a replica")
            return
        if isinstance(message, Hello):
            return
        if isinstance(message, Heads | SubscribeStatus):
            subscription = self._subscriptions.get(message.channel)
            if subscription is None or sender not in subscription.desks:
                return
            if isinstance(message, Heads):
                self._heads(subscription, sender, message)
            else:
                self._status(subscription, sender, message)
            return
        handler = self._handlers.get(type(message))
        if handler is None:
            self.out.reject(sender, f"{type(message).__name__} is not for a subscriber")
            return
        stream: Stream = getattr(message, "stream")  # noqa: B009  every handled kind has one
        if isinstance(message, Follow) and stream.channel not in self._subscriptions:
            version = self._versions.get(stream.channel, message.version)
            self.out.send(sender, Unsubscribe(stream.channel, version))  # the last one was lost
            return
        follower = self._follower(sender, stream)
        if follower is not None:
            handler(follower, sender, message)

    def tick(self) -> None:
        """Pull what is missing, and did not come in this very turn; list again."""
        self.settle()
        for owner, name in self.agenda.due(self._now):
            if name == "pull":
                owner.pulling.pull()
            elif name in owner.desks:
                desk = owner.desks[name]
                self._ask(owner, name, desk)
                desk.interval = min(2 * desk.interval, HEADS_MOST_SECONDS)
                self.agenda.set((owner, name), self._now + desk.interval)

    def loaded(self, request: Read, result: Loaded) -> None:
        """A subscriber reads nothing."""

    def ready(self) -> Ready:
        """All that follows from this turn."""
        self.settle()
        return self.out.take(self.agenda.next)

    def settle(self) -> None:
        """Draw the conclusions of what came so far."""
        for subscription in self._subscriptions.values():
            touched = subscription.reading.touched
            while touched:
                follower = next(iter(touched))
                del touched[follower]
                follower.settle()
                self._rest(subscription, follower)

    # -- listing and subscribing ---------------------------------------------------------------

    def _list(self, subscription: Subscription, replica: Party) -> None:
        desk = subscription.desks[replica] = Desk()
        self._ask(subscription, replica, desk)
        self.agenda.set((subscription, replica), self._now + desk.interval)

    def _ask(self, subscription: Subscription, replica: Party, desk: Desk) -> None:
        """Ask for what changed; subscribe again where the answer is missing."""
        channel = subscription.reading.channel.name
        if not desk.complete or subscription.fixed:  # else the others' first listings are awaited
            self.out.send(replica, AskHeads(channel, desk.since))
        waits = desk.complete and desk.accepted < subscription.reading.version
        if waits and subscription.fixed:
            self._subscribe_at(subscription, replica, desk)

    def _heads(self, subscription: Subscription, replica: Party, message: Heads) -> None:
        desk = subscription.desks[replica]
        news = message.counter > desk.since
        desk.since = max(desk.since, message.counter)
        for head in message.heads:
            if head.stream.channel == message.channel and subscription.matches(head.stream):
                if subscription.start == "earliest":
                    subscription.reading.first_listed(replica, head)
                if subscription.fixed:
                    self._listed(subscription, replica, head)
                else:
                    subscription.listing.add(replica, head)
        if message.more and news:
            self.out.send(replica, AskHeads(message.channel, desk.since))
            return
        if not desk.complete:
            desk.complete = True
            subscription.reading.first_listing_ends(replica)
            if not subscription.fixed:
                self._fix(subscription)
            elif desk.subscribed < subscription.reading.version:
                self._subscribe_at(subscription, replica, desk)
        elif news and desk.interval > 1.0:
            desk.interval = 1.0
            self.agenda.set((subscription, replica), self._now + desk.interval)

    def _fix(self, subscription: Subscription) -> None:
        """Decide where streams begin, once n-f replicas have listed theirs."""
        quorum = subscription.reading.quorum
        complete = [name for name, desk in subscription.desks.items() if desk.complete]
        if len(complete) < quorum.n - quorum.f:
            return
        for stream, start in subscription.listing.after_latest(complete).items():
            subscription.starts.setdefault(stream, start)
        subscription.fixed = True
        for listers in subscription.listing.known().values():
            self._believe(subscription, listers)
        for replica in complete:
            self._subscribe_at(subscription, replica, subscription.desks[replica])

    def _listed(self, subscription: Subscription, replica: Party, head: Head) -> None:
        resting = subscription.resting.get(head.stream)
        if resting is not None and max(head.last, head.floor) <= resting.seq:
            return
        if head.stream in subscription.followers:
            self._believe(subscription, {replica: head})
        else:
            self._believe(subscription, subscription.listing.add(replica, head))

    def _believe(self, subscription: Subscription, listers: dict[Party, Head]) -> None:
        """Follow a stream that these replicas list."""
        for replica, head in listers.items():
            subscription.listing.take(head.stream)
            follower = self._follower(replica, head.stream)
            if follower is not None:
                follower.announce(replica, head.last)
                follower.anchor.claims(replica, head.confirmed)

    def _subscribe_at(self, subscription: Subscription, replica: Party, desk: Desk) -> None:
        reading = subscription.reading
        desk.subscribed = reading.version
        self.out.send(
            replica,
            Subscribe(
                reading.channel.name,
                reading.version,
                subscription.patterns,
                desk.since,
                reading.window,
                subscription.blocks,
            ),
        )
        for follower in subscription.followers.values():
            if follower.believed:
                follower.follow_at(replica)

    def _status(self, subscription: Subscription, replica: Party, message: SubscribeStatus) -> None:
        desk = subscription.desks[replica]
        if message.version != subscription.reading.version:
            return
        if message.accepted:
            desk.accepted = message.version
            return
        desk.refused = message.reason
        refused = [each.refused for each in subscription.desks.values()]
        if refused.count(message.reason) >= subscription.reading.quorum.one_correct:
            self.out.deliver(SubscriptionRefused(message.channel, message.reason))
            self.unsubscribe(message.channel)

    # -- streams -------------------------------------------------------------------------------

    def _follower(self, replica: Party, stream: Stream) -> Follower | None:
        """The follower of a stream that a replica speaks of; new ones are on its account."""
        subscription = self._subscriptions.get(stream.channel)
        if subscription is None or replica not in subscription.desks or not subscription.fixed:
            return None
        follower = subscription.followers.get(stream)
        if follower is None:
            if not subscription.matches(stream):
                self.out.reject(replica, f"{stream} was not asked for")
                return None
            base = subscription.resting.pop(stream, None)
            start = base.seq + 1 if base is not None else subscription.starts.get(stream, 1)
            follower = Follower(subscription.reading, stream, start, base)
            subscription.followers[stream] = follower
        if not follower.believed:
            self._account(subscription, replica, stream)
        return follower

    def _account(self, subscription: Subscription, replica: Party, stream: Stream) -> None:
        candidates = subscription.desks[replica].candidates
        candidates.pop(stream, None)
        candidates[stream] = None
        if len(candidates) > CANDIDATE_STREAMS:
            self._abandon(subscription, replica, candidates.popitem(last=False)[0])

    def _abandon(self, subscription: Subscription, replica: Party, stream: Stream) -> None:
        """A replica's word on a stream that too few announce is dropped."""
        follower = subscription.followers.get(stream)
        if follower is None or follower.believed:
            return
        follower.forget(replica)
        if not follower.announcers:
            self._drop(follower)
            del subscription.followers[stream]
            if follower.delivered > 0 and follower.anchor.anchored:  # it had been at rest
                subscription.resting[stream] = follower.tally.path.base

    def _rest(self, subscription: Subscription, follower: Follower) -> None:
        """Of streams with nothing to do, all but the latest keep only what was delivered."""
        stream = follower.stream
        if follower.believed:
            for desk in subscription.desks.values():
                desk.candidates.pop(stream, None)
        idle = subscription.idle
        idle.pop(stream, None)
        if follower.believed and follower.idle:
            idle[stream] = None
            if len(idle) > ACTIVE_STREAMS:
                oldest = subscription.followers.pop(idle.popitem(last=False)[0])
                self._drop(oldest)
                subscription.resting[oldest.stream] = oldest.tally.path.base
