"""What the Byzantine parties of a run share: who they are, what they know, what they may do.

Every lie asks `Plot.act` first. It counts the deeds, and lets a shrinker forbid some of them by
number. Draws are made before asking, so that a forbidden deed does not shift the later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from quorumcast.auth.digests import Digester, session_of
from quorumcast.auth.identity import Identity
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Opening, Party, Stream
from quorumcast.core.machine import Machine
from quorumcast.core.messages import DIGEST_BYTES
from quorumcast.core.records import Accepted, Installed, Opened, Record
from quorumcast.sim.draws import derive


class Deed(NamedTuple):
    """One lie, by its number among all that were considered."""

    number: int
    who: Party
    what: str


class Plot:
    """The knowledge and the licence that Byzantine parties share.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> plot = Plot(1, cluster, [], ("r4",))
    >>> plot.act("r4", "lies"), plot.actions
    (True, 1)
    """

    def __init__(
        self,
        seed: int,
        cluster: Cluster,
        channels: list[Channel],
        members: tuple[Party, ...],
        allowed: frozenset[int] | None = None,
    ) -> None:
        self.seed = seed
        self.cluster = cluster
        self.channels = channels
        self.members = members
        self.victims: Callable[[], dict[Party, Machine]] = dict[Party, Machine]
        """The correct machines that run now: what a state-aware adversary looks into."""
        self.rebuild: Callable[[Party], Machine] | None = None
        """A fresh machine of a member, with its old life and nothing remembered."""
        self.identities: dict[Party, Identity] = {}
        self.certificates: dict[Party, bytes] = {}
        self.allowed = allowed
        self.considered = 0
        self.deeds: list[Deed] = []
        self.actions = 0
        self.variants: dict[tuple[Stream, int], tuple[bytes, ...]] = {}
        """Contents of one id that a Byzantine publisher made, for its helpers to vote for."""
        self.side: Callable[[str], int] | None = None
        """Which of the twins a node talks to now, 0 or 1; None where there are no twins."""
        self.observer: Callable[[Party, str], None] | None = None

    def draws(self, who: Party, *names: str) -> Random:
        """A member's own source of randomness."""
        return derive(self.seed, "adversary", who, *names)

    def act(self, who: Party, what: str) -> bool:
        """Whether this deed may be done; if so, it is counted."""
        number = self.considered
        self.considered += 1
        if self.allowed is not None and number not in self.allowed:
            return False
        self.actions += 1
        if len(self.deeds) < 100_000:  # a flood is told by its number
            self.deeds.append(Deed(number, who, what))
        if self.observer is not None:
            self.observer(who, what)
        return True

    def session(self, opening: Opening) -> bytes:
        """The session of a member's opening, as its own key and the channel make it."""
        identity = self.identities.get(opening.publisher)
        signed = identity is not None and self.channels[0].signed
        key = identity.public.sign if identity is not None and signed else b""
        return session_of(self.cluster.id, self.cluster.epoch, opening, key)

    def fake(self, stream: Stream, position: int) -> bytes:
        """Other content for an id: the same one for all members, so that their lies agree."""
        variants = self.variants.get((stream, position))
        if variants is not None:
            return variants[-1]
        return b"forged/%s/%d" % (stream.publisher.encode(), position)


class Ledger:
    """What a member's own correct machine stored: digests and bodies, by stream and position."""

    def __init__(self, cluster: bytes) -> None:
        self._cluster = cluster
        self.streams: dict[Stream, list[bytes]] = {}
        self.bodies: dict[tuple[Stream, int], bytes] = {}
        self._digesters: dict[Stream, Digester] = {}

    def note(self, records: list[Record]) -> None:
        """Take over a turn's records."""
        for record in records:
            if isinstance(record, Opened):
                self.streams.setdefault(record.stream, [])
            elif isinstance(record, Accepted | Installed):
                digests = self.streams.setdefault(record.stream, [])
                for index, body in enumerate(record.bodies):
                    position = record.first + index
                    digest = record.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
                    while len(digests) < position:
                        digests.append(digest)
                    digests[position - 1] = digest
                    self.bodies[record.stream, position] = body

    def digester(self, stream: Stream) -> Digester:
        """Computes digests of a stream."""
        found = self._digesters.get(stream)
        if found is None:
            found = self._digesters[stream] = Digester(self._cluster, stream)
        return found

    def digests(self, stream: Stream) -> list[bytes]:
        """What stands at each position, from 1."""
        return self.streams.get(stream, [])
