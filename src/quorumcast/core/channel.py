"""A channel's settings, as machines need them; reading them from a file is the runtime's work."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster, Party
from quorumcast.core.limits import RUN_POSITIONS
from quorumcast.core.quorum import Quorum


class Retention(msgspec.Struct, frozen=True):
    """How much of a stream's confirmed past a replica keeps, and how long any of it.

    >>> Retention(events=10).events
    10
    """

    events: int = 1_000_000
    age_seconds: float = 86_400.0
    bytes: int = 2**30


class Channel(msgspec.Struct, frozen=True):
    """One channel: protection, protocol, who may use it, how it confirms and forgets.

    >>> Channel("alerts", publishers=("probe-*",)).admits_publisher("probe-7")
    True
    """

    name: str
    protocol: Literal["ab", "bracha", "plain"] = "ab"
    confirm: bool = True
    alpha: int = 1000
    """Publications of a stream between two exchanges of HELD on `ab`; twice as many may be
    unconfirmed on any Byzantine channel."""
    within_seconds: float = 0.25
    """How long the oldest unconfirmed position may wait for the exchange."""
    deliver: Literal["safe", "first"] = "safe"
    publishers: tuple[str, ...] = ()
    subscribers: tuple[str, ...] = ("*",)
    trusted_subscribers: tuple[str, ...] = ()
    """Who may let the publishers wait for it."""
    max_publishers: int = 0
    max_subscribers: int = 0
    signed: bool = False
    retention: Retention = Retention()

    @property
    def byzantine(self) -> bool:
        """Whether replicas may lie on this channel."""
        return self.protocol != "plain"

    @property
    def window(self) -> int:
        """2α: how far votes may go beyond the confirmed position."""
        return 2 * self.alpha

    def quorum(self, cluster: Cluster) -> Quorum:
        """The thresholds of this channel in that cluster.

        >>> cluster = Cluster(bytes(32), 1, ("a", "b", "c", "d"), 1, bytes(32))
        >>> Channel("alerts").quorum(cluster).votes
        3
        """
        n, f = len(cluster.replicas), cluster.faults
        if self.byzantine:
            return Quorum.byzantine(n, f)
        return Quorum.crash(n, f, first=self.deliver == "first")

    def check(self, cluster: Cluster) -> Channel:
        """Return the channel, or raise `ConfigError` that names what cannot work and what would.

        >>> cluster = Cluster(bytes(32), 1, ("a", "b", "c", "d"), 1, bytes(32))
        >>> Channel("alerts", confirm=False).check(cluster)
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: channel alerts: confirm = false loses ...
        """
        self.quorum(cluster)
        if not 1 <= self.window <= RUN_POSITIONS:
            raise ConfigError(
                f"channel {self.name}: confirm.every = {self.alpha} is out of range: "
                f"use 1 to {RUN_POSITIONS // 2}"
            )
        if not self.confirm and not cluster.lab:
            raise ConfigError(
                f"channel {self.name}: confirm = false loses publications that a faulty replica "
                "withholds; it is for lab clusters only (lab = true)"
            )
        if not self.confirm and self.protocol == "bracha":
            raise ConfigError(
                f"channel {self.name}: bracha delivers on confirmation alone; use protocol = "
                '"ab" with confirm = false, or leave confirm on'
            )
        return self

    def fixed_fault(self, later: Channel) -> str | None:
        """The setting of a later version that cannot change while the channel exists, if one does.

        Votes that are cast keep the meaning that they had: protocol, thresholds and signatures are
        theirs. α is too: it says which statements a tally counts, and how far two subscribers of a
        lying publisher may differ, which parties with two values of it would not agree on.

        >>> one = Channel("alerts")
        >>> one.fixed_fault(Channel("alerts", publishers=("p",), within_seconds=1.0)) is None
        True
        >>> one.fixed_fault(Channel("alerts", protocol="bracha"))
        'protocol'
        """
        for key in ("protocol", "confirm", "alpha", "deliver", "signed"):
            if getattr(self, key) != getattr(later, key):
                return key
        return None

    def admits_publisher(self, name: Party) -> bool:
        """Whether a certified name may publish here."""
        return any(fnmatchcase(name, pattern) for pattern in self.publishers)

    def admits_subscriber(self, name: Party) -> bool:
        """Whether a certified name may subscribe here."""
        return any(fnmatchcase(name, pattern) for pattern in self.subscribers)

    def trusts_subscriber(self, name: Party) -> bool:
        """Whether a certified name may stop this channel's publishers while it reads.

        >>> Channel("alerts", trusted_subscribers=("audit",)).trusts_subscriber("screen")
        False
        """
        return any(fnmatchcase(name, pattern) for pattern in self.trusted_subscribers)
