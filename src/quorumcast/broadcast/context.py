"""What the streams of one channel at one replica share: settings, thresholds, the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.core.channel import Channel
from quorumcast.core.evidence import Evidence, SignedDigest, Weight
from quorumcast.core.ids import Cluster, Incarnation, Opening, Party
from quorumcast.core.limits import EARLY_BYTES, EARLY_CHANNEL_BYTES, EVIDENCE_PER_STREAM
from quorumcast.core.machine import Agenda, Out
from quorumcast.core.messages import Message
from quorumcast.core.quorum import Quorum

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream


class Replicas:
    """What a replica knows of itself and its peers, over all channels.

    `now` is the time of the turn; `valid` are this replica's incarnations in whose sessions it may
    vote.
    """

    def __init__(self, me: Party, cluster: Cluster, out: Out, agenda: Agenda) -> None:
        self.me = me
        self.cluster = cluster
        self.index = cluster.replicas.index(me)
        self.peers = tuple(name for name in cluster.replicas if name != me)
        self.out = out
        self.agenda = agenda
        self.now = 0.0
        self.live: dict[Party, int] = {}
        """Parties with a link, and the number of that link."""
        self.valid: set[Incarnation] = set()

    def may_vote(self, opening: Opening) -> bool:
        """Whether a session names a valid incarnation of this replica."""
        named = opening.incarnations
        return len(named) == len(self.cluster.replicas) and named[self.index] in self.valid


class Context:
    """A channel at a replica, as its streams see it."""

    def __init__(self, replicas: Replicas, channel: Channel) -> None:
        self.replicas = replicas
        self.me = replicas.me
        self.peers = replicas.peers
        self.out = replicas.out
        self.agenda = replicas.agenda
        self.cluster = replicas.cluster
        self.channel = channel
        self.quorum: Quorum = channel.quorum(replicas.cluster)
        self.repairs = channel.confirm
        """With `confirm = false` replicas tell each other nothing and repair nothing."""
        self.limited = channel.byzantine and channel.confirm
        """Whether votes stop 2α beyond the confirmed position."""
        self.touched: dict[ReplicaStream, None] = {}
        """Streams with something to settle at the end of the turn."""
        self.early: dict[Party, int] = {}
        """Bytes of bodies that wait for their predecessors, by publisher; none are zero."""

    @property
    def now(self) -> float:
        """The time of this turn."""
        return self.replicas.now

    def waits(self, publisher: Party, change: int) -> bool:
        """Count bytes of early bodies, if they fit into the publisher's part; less always does."""
        size = self.early.get(publisher, 0) + change
        publishers = len(self.early) + (publisher not in self.early)
        if change > 0 and size > min(EARLY_BYTES, EARLY_CHANNEL_BYTES // publishers):
            return False
        if size > 0:
            self.early[publisher] = size
        else:
            self.early.pop(publisher, None)
        return True

    def to_peers(self, message: Message) -> None:
        """Say this to every peer with a link."""
        live = self.replicas.live
        for peer in self.peers:
            if peer in live:
                self.out.send(peer, message)

    def accuse(
        self,
        weight: Weight,
        parties: frozenset[Party],
        reason: str,
        stream: ReplicaStream,
        first: Message | SignedDigest | None,
        second: Message | SignedDigest | None,
    ) -> None:
        """Report a fault in a stream, unless its like was reported often enough."""
        count = stream.accusations.get((weight, parties), 0)
        if count < EVIDENCE_PER_STREAM:
            stream.accusations[weight, parties] = count + 1
            certificate = stream.certificate if weight is Weight.PROOF else b""
            self.out.accuse(
                Evidence(weight, parties, reason, stream.stream, first, second, certificate)
            )
