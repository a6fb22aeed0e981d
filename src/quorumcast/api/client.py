"""The client: `connect` to a cluster with a key file, then publish and subscribe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from quorumcast.api.batching import Batching
from quorumcast.api.dialled import DialledLinks
from quorumcast.api.feed import Policy
from quorumcast.api.hub import Card, Hub, Links
from quorumcast.api.publishing import Publisher
from quorumcast.api.subscribing import Callback, From, Subscription, check_block
from quorumcast.core.errors import ConfigError
from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Party
from quorumcast.runtime.channels import (
    ON_GAP,
    OVERFLOWS,
    ChannelSettings,
    Overflow,
    pattern_fault,
)
from quorumcast.runtime.keyfiles import ClientFile, load_client

TIMEOUT_SECONDS = 10.0
"""How long a client waits for enough replicas, where nothing else is said."""


class AsyncClient:
    """One identity at one cluster, whatever the number of its replicas; made by `connect`."""

    def __init__(self, card: Card, links: Links, timeout: float = TIMEOUT_SECONDS) -> None:
        self.name: Party = card.name
        """The name under which this client publishes."""
        self._card = card
        self._links = links
        self._timeout_seconds = timeout
        self._hub: Hub | None = None
        self._publishers: list[Publisher] = []
        self._subscriptions: list[Subscription] = []

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> Self:
        """Connect, unless `async with` does; raises `NoQuorum` where too few replicas answer."""
        if self._hub is not None:
            raise ConfigError("this client was started already: connect again for another one")
        hub = self._hub = Hub(self._card, self._links, self._timeout_seconds)
        try:
            await hub.start()
        except BaseException:
            await hub.close()
            raise
        return self

    async def flush(self) -> None:
        """Wait until everything that was sent is acknowledged; raises the first failure."""
        for publisher in self._publishers:
            await publisher.flush()

    async def close(self) -> None:
        """End all subscriptions and links; what was not acknowledged has an unknown outcome."""
        for subscription in self._subscriptions:
            await subscription.close()
        if self._hub is not None:
            await self._hub.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                await self.flush()
        finally:
            await self.close()

    # -- channels ------------------------------------------------------------------------------

    @property
    def channels(self) -> tuple[ChannelSettings, ...]:
        """The channels that this client knows of, with their settings."""
        return self._card.channels if self._hub is None else tuple(self._hub.settings.values())

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What this client saw that shows somebody's fault; the latest."""
        return tuple(self._running().evidence)

    def _running(self) -> Hub:
        if self._hub is None:
            raise ConfigError('this client is not connected: use "async with connect(...)"')
        return self._hub

    async def publisher(
        self,
        channel: str,
        *,
        linger_ms: float = 0.0,
        batch_bytes: int = Batching().batch_bytes,
        batch_events: int = Batching().batch_events,
        buffer_bytes: int = Batching().buffer_bytes,
        timeout: float | None = None,  # noqa: ASYNC109  how long this publisher waits later on
    ) -> Publisher:
        """A publisher on a channel; `ConfigError` lists the channels where there is none."""
        hub = self._running()
        if hub.ended:
            raise hub.over()
        batching = Batching(linger_ms, batch_bytes, batch_events, buffer_bytes)
        publisher = Publisher(hub, channel, batching, timeout)
        self._publishers.append(publisher)
        return publisher

    def subscribe(
        self,
        channel: str,
        *,
        from_: From = "latest",
        publishers: str | Sequence[str] = ("*",),
        on_event: Callback | None = None,
        queue_events: int | None = None,
        queue_bytes: int | None = None,
        overflow: Overflow | None = None,
        on_gap: Literal["fail", "continue"] | None = None,
    ) -> Subscription:
        """Events of a channel, of publishers whose names match one of these patterns, or this one.

        What is not said here is as the channel's settings have it; where those say "block", who is
        not trusted with that lags.
        """
        hub = self._running()
        settings = hub.channel(channel)
        policy = Policy.of(settings)
        patterns = _patterns(publishers)
        _check("overflow", overflow, OVERFLOWS)
        _check("on_gap", on_gap, ON_GAP)
        if queue_events is not None:
            if queue_events < 1:
                raise ConfigError(f"queue_events = {queue_events} is out of range: use 1 or more")
            policy = policy._replace(events=queue_events)
        if queue_bytes is not None:
            if queue_bytes < 1:
                raise ConfigError(f"queue_bytes = {queue_bytes} is out of range: use 1 or more")
            policy = policy._replace(bytes=queue_bytes)
        if overflow is not None:
            policy = policy._replace(overflow=overflow)
            check_block(hub, channel, policy)
        elif policy.overflow == "block" and not settings.channel.trusts_subscriber(hub.me):
            policy = policy._replace(overflow="lag")
        if on_gap is not None:
            policy = policy._replace(fail_on_gap=on_gap == "fail")
        subscription = Subscription(
            hub, channel, from_=from_, publishers=patterns, policy=policy, on_event=on_event
        )
        self._subscriptions = [each for each in self._subscriptions if not each.closed]
        self._subscriptions.append(subscription)
        return subscription


def _patterns(publishers: str | Sequence[str]) -> tuple[str, ...]:
    patterns = (publishers,) if isinstance(publishers, str) else tuple(publishers)
    if not patterns:
        raise ConfigError('publishers = () is nobody: use names or patterns, such as ("probe-*",)')
    for pattern in patterns:
        if (fault := pattern_fault(pattern)) is not None:
            raise ConfigError(f"publishers: {pattern!r} {fault}")
    return patterns


def _check(what: str, value: str | None, options: Sequence[str]) -> None:
    if value is not None and value not in options:
        several = ", ".join(f'"{each}"' for each in options)
        raise ConfigError(f"{what} = {value!r} is not known: use {several}")


def card_of(client: ClientFile) -> Card:
    """What a client's file says of who it is."""
    return Card(
        name=client.name,
        cluster=client.manifest.cluster(),
        certificate=client.certificate,
        sign=client.identity.sign,
        channels=client.settings,
    )


def connect(file: str | Path, *, timeout: float = TIMEOUT_SECONDS) -> AsyncClient:
    """A client with the identity of a key file; use it with `async with`.

    `timeout` is how long to wait for enough replicas, in seconds: now, and wherever nothing else
    is said.
    """
    client = load_client(Path(file))
    return AsyncClient(card_of(client), DialledLinks(client), timeout)
