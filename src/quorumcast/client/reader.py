"""The subscriber of a client: channels that can be held, and that say when they begin.

A subscriber that falls behind is held: nothing more of the channel is delivered, and replicas are
told that there is no credit. Released, it asks for all from where it stood; replicas read it from
their logs. So a slow reader costs its own client a window of publications, and others nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from quorumcast.client.subscriber import Subscriber
from quorumcast.client.subscription import Desk, Start, Subscription
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Party, Stream
from quorumcast.core.limits import REPEAT_SECONDS
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Subscribe, SubscribeStatus

_KNOCK = 0
"""The version of a subscription that asks for nothing: replicas do not list streams to those who
may not read them, and refuse only subscriptions."""

_NEVER = 2**62
"""A counter that no replica reaches: a knock follows no streams."""


class Subscribed(msgspec.Struct, frozen=True):
    """A subscription is in force at n-f replicas: what is published from now on is delivered.

    >>> Subscribed("alerts").channel
    'alerts'
    """

    channel: str


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
        self._beginning: dict[str, None] = {}
        """Subscriptions that are not in force everywhere yet."""

    def subscribe(
        self,
        channel: str,
        patterns: tuple[str, ...] = ("*",),
        start: Start = "latest",
        *,
        blocks: bool = False,
    ) -> None:
        """Subscribe, or change the subscription; `Subscribed` follows once it is in force."""
        super().subscribe(channel, patterns, start, blocks=blocks)
        self._beginning[channel] = None

    def unsubscribe(self, channel: str) -> None:
        """End a subscription."""
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
            knock = Subscribe(channel, _KNOCK, patterns, _NEVER, 0, subscription.blocks)
            self.out.send(replica, knock)

    def _status(self, subscription: Subscription, replica: Party, message: SubscribeStatus) -> None:
        """A replica's answer to a subscription; the refusal of a knock is one of all versions."""
        if message.version == _KNOCK and not message.accepted:
            version = subscription.reading.version
            message = SubscribeStatus(message.channel, version, False, message.reason)
        super()._status(subscription, replica, message)

    # -- holding -------------------------------------------------------------------------------

    def holds(self, channel: str) -> bool:
        """Whether nothing of this channel is delivered now."""
        subscription = self._subscriptions.get(channel)
        return subscription is not None and subscription.reading.held

    def hold(self, channel: str) -> None:
        """Deliver nothing more of a channel, and let replicas pause."""
        subscription = self._subscriptions.get(channel)
        if subscription is not None and not subscription.reading.held:
            self._change(subscription, held=True)

    def release(self, channel: str) -> None:
        """Go on where the channel was held."""
        subscription = self._subscriptions.get(channel)
        if subscription is not None and subscription.reading.held:
            self._change(subscription, held=False)

    def _change(self, subscription: Subscription, *, held: bool) -> None:
        """Tell replicas how much of every stream is taken from now on."""
        subscription.reading.held = held
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

    def settle(self) -> None:
        """Draw the conclusions of what came so far; channels that are held are settled later."""
        readings = [each.reading for each in self._subscriptions.values() if each.reading.held]
        waiting = [(reading, reading.touched) for reading in readings]
        for reading in readings:
            reading.touched = {}
        super().settle()
        for reading, touched in waiting:
            touched.update(reading.touched)
            reading.touched = touched

    def ready(self) -> Ready:
        """All that follows from this turn."""
        ready = super().ready()
        for channel in [name for name in self._beginning if self._in_force(name)]:
            del self._beginning[channel]
            ready.deliveries.append(Subscribed(channel))
        return ready

    def _in_force(self, channel: str) -> bool:
        subscription = self._subscriptions[channel]
        quorum, version = subscription.reading.quorum, subscription.reading.version
        accepted = sum(1 for desk in subscription.desks.values() if desk.accepted == version)
        return subscription.fixed and accepted >= quorum.n - quorum.f
