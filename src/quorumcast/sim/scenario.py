"""What a run is to be: protocol, sizes, adversary, weather, seed. Everything else follows."""

from __future__ import annotations

from typing import Literal

import msgspec

from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.quorum import Quorum
from quorumcast.sim.checkers.promises import PROMISES

Protocol = Literal["ab", "bracha", "plain"]

PROTOCOLS: tuple[Protocol, ...] = ("ab", "bracha", "plain")

CHANNELS = ("alerts", "metrics")
"""Two channels, so that what is said of one can be repeated in the other."""


class Scenario(msgspec.Struct, frozen=True):
    """One run, up to its last detail, together with its seed.

    >>> Scenario(protocol="bracha", seed=7).check().liars
    0
    >>> Scenario(replicas=3).check()
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: 3 replicas cannot tolerate 1 Byzantine faults: ...
    """

    protocol: Protocol = "ab"
    replicas: int = 4
    faults: int = 1
    publishers: int = 2
    subscribers: int = 3
    confirm: int | Literal[False] = 10
    """α, or False: replicas tell each other nothing and repair nothing."""
    adversary: str = "none"
    byzantine: int | None = None
    """How many Byzantine replicas (or clients, where the adversary is one); f if None."""
    byzantine_publisher: bool = False
    loss: float = 0.1
    seed: int = 0
    publications: int = 40
    """Of each correct publisher."""
    crashes: bool = True
    signed: bool = False
    faulty_ticks: int = 6_000
    """How long the faulty phase lasts; then the network heals."""
    healing_ticks: int = 120_000
    """Within which everything owed has to arrive after it."""

    @property
    def liars(self) -> int:
        """How many parties the adversary plays."""
        if self.adversary == "none":
            return 0
        return self.faults if self.byzantine is None else self.byzantine

    @property
    def replica_names(self) -> tuple[str, ...]:
        """r1 to rn; which of them are Byzantine is drawn from the seed."""
        return tuple(f"r{number}" for number in range(1, self.replicas + 1))

    @property
    def publisher_names(self) -> tuple[str, ...]:
        """The correct publishers."""
        return tuple(f"p{number}" for number in range(1, self.publishers + 1))

    @property
    def subscriber_names(self) -> tuple[str, ...]:
        """The correct subscribers."""
        return tuple(f"s{number}" for number in range(1, self.subscribers + 1))

    def channels(self) -> list[Channel]:
        """The channels of the cluster, which anybody may use."""
        alpha = 10 if self.confirm is False else self.confirm
        return [
            Channel(
                name,
                protocol=self.protocol,
                confirm=self.confirm is not False,
                alpha=alpha,
                publishers=("p*", "q*"),
                signed=self.signed,
            )
            for name in CHANNELS
        ]

    def check(self) -> Scenario:
        """Return the scenario, or raise `ConfigError` that says what cannot be and what can."""
        if self.protocol not in PROTOCOLS:
            raise ConfigError(
                f"there is no protocol {self.protocol}; there are: {', '.join(PROTOCOLS)}"
            )
        self._check_confirm()
        if self.protocol == "plain":
            Quorum.crash(self.replicas, self.faults)
        else:
            Quorum.byzantine(self.replicas, self.faults)
        for name, least in (("publishers", 1), ("subscribers", 1), ("publications", 1)):
            value: int = getattr(self, name)
            if value < least:
                raise ConfigError(f"{value} {name}: use {least} or more")
        if not 0.0 <= self.loss <= 0.9:
            raise ConfigError(
                f"loss = {self.loss:g} is out of range: use 0 (nothing) to 0.9 (nine of ten)"
            )
        if self.byzantine is not None and not 0 <= self.byzantine <= self.replicas:
            raise ConfigError(
                f"{self.byzantine} Byzantine replicas of {self.replicas}: "
                f"use 0 to {self.replicas}; the protocol tolerates {self.faults}"
            )
        return self

    def _check_confirm(self) -> None:
        confirm = self.confirm is not False
        if (self.protocol, confirm) not in PROMISES:
            raise ConfigError(
                f"{self.protocol} delivers on confirmation alone: use --confirm with a number, "
                "or --protocol ab with --confirm false"
            )
        if confirm and not 1 <= self.confirm <= 32_768:
            raise ConfigError(f"confirm = {self.confirm}: use 1 to 32768, or false")
