"""The operator's visits to replicas, wherever they run: to hand a charter on, to ask for reports.

Whoever has the operator's key certifies a fresh key under the operator's own name, connects to the
replicas that are meant, all at once and for a short time, and is gone again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable

from quorumcast.auth.handshake import Credentials
from quorumcast.auth.identity import Identity
from quorumcast.auth.names import OPERATOR
from quorumcast.core.ids import Party
from quorumcast.core.messages import ASIDE, AskReport, Message, Report
from quorumcast.runtime.addresses import parse_address
from quorumcast.runtime.around import Outbound
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Dialling, pinned
from quorumcast.runtime.keyfiles import Seeds
from quorumcast.runtime.settings import ClusterFile
from quorumcast.runtime.steward import Steward

HAND_ON_SECONDS = 2.0
"""How long a change waits for replicas of other hosts; who is away learns it from the others."""

REPORT_SECONDS = 1.0
"""How long `status` waits for them."""


_BOUNDS = Bounds(close_seconds=0.2)
"""Whoever is slow to take leave is not waited for."""


class _Visit:
    """Links to some replicas; what they say goes to `heard`, and `ended` wakes who waits."""

    def __init__(self, cluster: ClusterFile, operator: Identity) -> None:
        self.changed = asyncio.Event()
        self.on_linked: Callable[[Outbound], None] = lambda link: None
        self.on_unlinked: Callable[[Outbound], None] = lambda link: None
        self.on_message: Callable[[Outbound, Message], None] = lambda link, message: None
        self._cluster = cluster
        identity = Seeds.drawn(os.urandom).identity()
        certificate = cluster.manifest.certify(operator, OPERATOR, identity.public)
        self._me = Credentials(OPERATOR, identity, cluster.manifest, certificate)

    def linked(self, link: Outbound) -> None:
        """A replica is reached."""
        self.on_linked(link)

    def unlinked(self, link: Outbound) -> None:
        """It is gone."""
        self.on_unlinked(link)

    def received(self, link: Outbound, messages: list[Message]) -> None:
        """It says this."""
        for message in messages:
            self.on_message(link, message)
        self.changed.set()

    async def until(
        self, names: Iterable[Party], seconds: float, enough: Callable[[], bool]
    ) -> None:
        """Be linked to these replicas until it is enough, or the time is over."""
        loop, manifest = asyncio.get_running_loop(), self._cluster.manifest
        dialled = [
            Dialling(
                parse_address(self._cluster.addresses[replica.name]),
                replica.name,
                self._me,
                self,
                loop=loop,
                entropy=os.urandom,
                bounds=_BOUNDS,
                tls=pinned(replica.tls) if replica.tls else None,
            )
            for replica in manifest.replicas
            if replica.name in names
        ]
        for each in dialled:
            each.start()
        try:
            async with asyncio.timeout(seconds):
                while not enough():
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            pass
        finally:
            await asyncio.gather(*(each.close() for each in dialled))


async def hand_on(
    cluster: ClusterFile,
    operator: Identity,
    names: Iterable[Party],
    seconds: float = HAND_ON_SECONDS,
) -> frozenset[Party]:
    """Hand the cluster's charter on to replicas; returns those that say that they have it."""
    wanted = frozenset(names)
    if not wanted:
        return wanted
    visit = _Visit(cluster, operator)
    steward = Steward(
        cluster.manifest,
        cluster.charter,
        loop=asyncio.get_running_loop(),
        apply=lambda charter: None,
    )
    visit.on_linked, visit.on_unlinked = steward.linked, steward.unlinked
    have: set[Party] = set()

    def message(link: Outbound, said: Message) -> None:
        if type(said) in ASIDE:
            steward.received(link, said)
            have.update(steward.have())

    visit.on_message = message
    await visit.until(wanted, seconds, lambda: have >= wanted)
    return frozenset(have & wanted)


async def ask_reports(
    cluster: ClusterFile,
    operator: Identity,
    names: Iterable[Party],
    seconds: float = REPORT_SECONDS,
) -> dict[Party, bytes]:
    """What replicas report of themselves, of those that answer in time."""
    wanted = frozenset(names)
    reports: dict[Party, bytes] = {}
    if not wanted:
        return reports
    visit = _Visit(cluster, operator)
    visit.on_linked = lambda link: link.send([AskReport()])

    def message(link: Outbound, said: Message) -> None:
        if isinstance(said, Report):
            reports.setdefault(link.party, said.text)

    visit.on_message = message
    await visit.until(wanted, seconds, lambda: len(reports) == len(wanted))
    return reports
