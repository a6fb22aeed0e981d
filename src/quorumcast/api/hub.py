"""What a client's publishers and subscriptions share: one machine, its driver, its links.

`Links` is all that is asked of the transport: it keeps a link to every replica, tells the driver
when they come and go, and says why one cannot be had.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

import msgspec

from quorumcast.api.batching import Gathering
from quorumcast.api.errors import Closed, NoQuorum, no_quorum, not_subscribed, refusal
from quorumcast.api.feed import Feed
from quorumcast.auth.greetings import Verdict
from quorumcast.auth.handshake import Denied
from quorumcast.client.party import ClientParty, Reached
from quorumcast.client.reader import Subscribed
from quorumcast.client.subscription import Start
from quorumcast.core import outcomes
from quorumcast.core.errors import AuthError, ConfigError, QuorumcastError
from quorumcast.core.ids import Cluster, Lane, Party, Stream
from quorumcast.core.quorum import Quorum
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.driver import Driver

Learn: TypeAlias = Callable[[tuple[ChannelSettings, ...]], None]
"""Told of the operator's channels when there are newer ones."""

CHANNELS_SECONDS = 2.0
"""How long a client that starts waits for newer channels than those of its file."""

REFUSED_SECONDS = 1.0
"""How long a refusal answers for the replicas: who publishes in a loop need not ask them each time.
Then they are asked again: some may have learnt of a right a little later than this client."""


class Links(Protocol):
    """Links to all replicas of a cluster, made again when they break."""

    def start(self, driver: Driver, changed: Callable[[], None], learn: Learn) -> None:
        """Bring links up, and tell the driver of them.

        Call `changed` whenever one cannot be had, or `outdated` may be another; and `learn` when
        the operator changed the channels.
        """
        ...

    @property
    def outdated(self) -> bool:
        """Whether f+1 replicas know newer channels: then they are on their way."""
        ...

    def failures(self) -> Mapping[Party, Exception]:
        """Why there is no link to a replica now, where that is known."""
        ...

    async def close(self) -> None:
        """Hand out what was sent, then end all links."""
        ...


class Card(msgspec.Struct, frozen=True):
    """Who a client is, and what it knows of its cluster."""

    name: Party
    cluster: Cluster
    certificate: bytes
    sign: Callable[[bytes], bytes]
    channels: tuple[ChannelSettings, ...]


class Hub:
    """One client on one event loop."""

    def __init__(self, card: Card, links: Links, timeout_seconds: float) -> None:
        self.card = card
        self.me = card.name
        self.loop = asyncio.get_running_loop()
        self.timeout_seconds = timeout_seconds
        self.settings = {each.name: each for each in card.channels}
        self._known = dict(self.settings)
        """These, and those that there were before."""
        self.evidence: list[Any] = []
        """What shows that somebody is at fault, as far as this client saw it; the latest."""
        self.closed = False
        self.denied: AuthError | None = None
        """Why nothing can be asked any more: the name was revoked."""
        self._links = links
        self._party = ClientParty(
            card.name,
            card.cluster,
            [each.channel for each in card.channels],
            card.certificate,
            lambda: secrets.randbits(64),
            card.sign,
        )
        self._driver = Driver(self._party, loop=self.loop)
        self._driver.on_delivery = self._delivered
        self._driver.on_outcome = self._settled
        self._driver.on_evidence = self._accused
        self._reached: frozenset[Party] = frozenset()
        self._reach_news = asyncio.Event()
        self._gatherings: dict[tuple[str, Lane], list[Gathering]] = {}
        self._refused: dict[tuple[str, Lane], tuple[QuorumcastError, float]] = {}
        """Why a lane was refused, and until when nobody asks again."""
        self._feeds: dict[str, Feed] = {}
        self._begun: dict[str, asyncio.Event] = {}
        self._progress: list[Callable[[], None]] = []

    # -- links ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect; returns when enough replicas for any channel have answered."""
        self._links.start(self._driver, self._links_changed, self.learn)
        cluster = self.card.cluster
        need = len(cluster.replicas) - cluster.faults
        try:
            async with asyncio.timeout(self.timeout_seconds):
                while len(self._reached) < need:
                    self._reach_news.clear()
                    await self._reach_news.wait()
                    self._check_denied()
        except TimeoutError:
            raise self.no_quorum("cannot connect", need) from None
        with suppress(
            TimeoutError
        ):  # a file may be older than the channels: go on with what it has
            async with asyncio.timeout(min(CHANNELS_SECONDS, self.timeout_seconds)):
                while self._links.outdated:
                    self._reach_news.clear()
                    await self._reach_news.wait()

    def _links_changed(self) -> None:
        self._reach_news.set()
        revoked = [
            error
            for error in self._links.failures().values()
            if isinstance(error, Denied) and error.verdict == Verdict.REVOKED
        ]
        # f+1 include a correct one. A revocation is for ever: nothing is to be waited for.
        if len(revoked) > self.card.cluster.faults and self.denied is None and not self.closed:
            self.denied = AuthError(
                f"the name {self.me} was revoked: ask the operator for a new identity"
            )
            self._fail(self.denied)

    def _fail(self, error: QuorumcastError) -> None:
        """Everything that waits ends with this."""
        feeds, self._feeds = self._feeds, {}
        for feed in feeds.values():
            feed.end(error)
        for begun in self._begun.values():
            begun.set()
        self._begun.clear()
        for gatherings in self._gatherings.values():
            for gathering in gatherings:
                gathering.fail_all(error)
        self._tell_progress()

    def _check_denied(self) -> None:
        """f+1 replicas that do not let us in include a correct one: no time will change it."""
        failures = self._links.failures().values()
        denied = [error for error in failures if isinstance(error, AuthError)]
        if len(denied) > self.card.cluster.faults:
            raise AuthError(str(denied[0])) from denied[0]

    def learn(self, settings: Iterable[ChannelSettings]) -> None:
        """The operator changed the channels: these are their settings from now on."""
        settings = tuple(settings)
        for each in settings:
            for lane in Lane:  # what was refused may be allowed now
                self._refused.pop((each.name, lane), None)
        self._driver.call(self._party.learn, [each.channel for each in settings])
        self.settings = {each.name: each for each in settings}
        self._known |= self.settings
        self._reach_news.set()

    def channel(self, name: str) -> ChannelSettings:
        """A channel's settings, or `ConfigError` with the channels that exist."""
        found = self.settings.get(name)
        if found is None:
            known = ", ".join(sorted(self.settings)) or "none"
            raise ConfigError(f"there is no channel {name}; there are: {known}")
        return found

    def no_quorum(self, what: str, need: int, channel: str | None = None) -> NoQuorum:
        """The error for a time that passed in vain."""
        reasons = {name: str(error) for name, error in self._links.failures().items()}
        if channel is not None:
            reasons.update(self._party.obstacles(channel))
        return no_quorum(what, need, self.card.cluster.replicas, self._reached, reasons)

    def quorum(self, channel: str) -> Quorum:
        """The thresholds of a channel."""
        return self._known[channel].channel.quorum(self.card.cluster)

    async def patience(
        self, channel: str, seconds: float | None, waiting: Awaitable[None], what: str
    ) -> None:
        """Wait for something on a channel, or raise `NoQuorum` when the time is over."""
        try:
            async with asyncio.timeout(self.timeout_seconds if seconds is None else seconds):
                await waiting
        except TimeoutError:
            raise self.no_quorum(what, self.quorum(channel).votes, channel) from None

    async def close(self) -> None:
        """Say what is left to say, and end all links."""
        if self.closed:
            return
        self.closed = True
        for feed in self._feeds.values():
            feed.end(self.over())
        self._fail(
            Closed(
                f"the client {self.me} was closed before this was acknowledged: its outcome is "
                "unknown; flush before you close"
            )
        )
        self._driver.stop()
        await self._links.close()

    @property
    def ended(self) -> bool:
        """Whether nothing can be asked of this client any more."""
        return self.closed or self.denied is not None

    def over(self) -> QuorumcastError:
        """The error for what is asked of a client after its end."""
        if self.denied is not None:
            return AuthError(str(self.denied))
        return Closed(f"the client {self.me} is closed: connect again")

    # -- publishing ----------------------------------------------------------------------------

    def join(self, channel: str, lane: Lane, gathering: Gathering) -> None:
        """A publisher's lane wants to hear what becomes of its publications."""
        self._gatherings.setdefault((channel, lane), []).append(gathering)

    def leave(self, channel: str, lane: Lane, gathering: Gathering) -> None:
        """It does not any more."""
        self._gatherings[channel, lane].remove(gathering)

    def publish(self, channel: str, body: bytes, lane: Lane) -> outcomes.Ticket:
        """Publish a body, unless the lane was refused just now."""
        if self.ended:
            raise self.over()
        refused = self._refused.get((channel, lane))
        if refused is not None:
            error, until = refused
            if self.loop.time() < until:
                raise error.with_traceback(None)
            del self._refused[channel, lane]
        return self._driver.call(self._party.publish, channel, body, lane)

    def on_progress(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call this whenever publications were settled; returns how to stop that."""
        self._progress.append(callback)
        return lambda: self._progress.remove(callback)

    def _tell_progress(self) -> None:
        for callback in list(self._progress):
            callback()

    def _settled(self, outcome: object) -> None:
        """What became of publications, or of links."""
        match outcome:
            case Reached(replicas):
                self._reached = replicas
                self._reach_news.set()
                return
            case outcomes.Acknowledged():
                stream = outcome.stream
                for gathering in self._lane(stream.channel, stream.lane):
                    gathering.acknowledged(outcome)
            case outcomes.OutcomeUnknown(channel, lane, first, last):
                error = NoQuorum(
                    f"{channel}: the session ended before this was acknowledged: its outcome is "
                    "unknown; look whether it is there before you publish it again"
                )
                for gathering in self._lane(channel, lane):
                    gathering.failed(first, last, error)
            case outcomes.Refused(channel, lane, reason, first, last):
                error = refusal(reason, self.me, f"publish on {channel}")
                self._refused[channel, lane] = (error, self.loop.time() + REFUSED_SECONDS)
                for gathering in self._lane(channel, lane):
                    gathering.refused(first, last, error)
            case _:
                raise AssertionError(f"an outcome that no client knows: {outcome}")
        self._tell_progress()

    def _lane(self, channel: str, lane: Lane) -> list[Gathering]:
        return list(self._gatherings.get((channel, Lane(lane)), ()))

    # -- subscribing ---------------------------------------------------------------------------

    def subscribe(self, channel: str, feed: Feed, patterns: tuple[str, ...], start: Start) -> None:
        """Begin a subscription; a client has one for each channel."""
        if self.ended:
            raise self.over()
        if channel in self._feeds:
            raise ConfigError(
                f"this client subscribes to {channel} already: close that subscription first "
                "(async with closes it), or use another identity for a second one"
            )
        blocks = feed.policy.overflow == "block"
        subscribe = partial(self._party.subscribe, blocks=blocks)
        self._driver.call(subscribe, channel, patterns, start)
        self._feeds[channel] = feed
        self._begun[channel] = asyncio.Event()

    def unsubscribe(self, channel: str, feed: Feed) -> None:
        """End a subscription."""
        if self._feeds.get(channel) is feed:
            del self._feeds[channel]
            self._begun.pop(channel).set()
            if not self.closed:
                self._driver.call(self._party.unsubscribe, channel)

    async def begun(self, channel: str) -> None:
        """Wait until a subscription is in force, or over."""
        begun = self._begun.get(channel)
        if begun is not None:
            await begun.wait()

    def starts(self, channel: str) -> Mapping[Stream, int] | None:
        """Where the streams of a subscription began; None while that is not decided."""
        return self._party.starts(channel)

    def hold(self, channel: str) -> None:
        """Let a channel's subscription fall behind."""
        if not self.closed:
            self._driver.call(self._party.hold, channel)

    def release(self, channel: str) -> None:
        """Let it catch up."""
        if not self.closed:
            self._driver.call(self._party.release, channel)

    def _delivered(self, delivery: object) -> None:
        match delivery:
            case outcomes.Delivery():
                feed = self._feeds.get(delivery.stream.channel)
                if feed is not None:
                    feed.deliver(delivery)
            case outcomes.Gap():
                feed = self._feeds.get(delivery.stream.channel)
                if feed is not None:
                    feed.gap(delivery)
            case Subscribed(channel):
                if channel in self._begun:
                    self._begun[channel].set()
            case outcomes.SubscriptionRefused(channel, reason):
                feed = self._feeds.pop(channel, None)
                if feed is not None:
                    feed.end(not_subscribed(reason, self.me, channel))
                    self._begun.pop(channel).set()
            case _:
                raise AssertionError(f"a delivery that no client knows: {delivery}")

    def _accused(self, evidence: object) -> None:
        self.evidence.append(evidence)
        del self.evidence[:-EVIDENCE]


EVIDENCE = 256
"""Pieces of evidence that a client remembers: a liar repeats itself."""
