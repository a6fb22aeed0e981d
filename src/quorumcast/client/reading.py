"""What the followers of one channel at a subscriber share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Party
from quorumcast.core.limits import SUBSCRIBER_WINDOW
from quorumcast.core.machine import Agenda, Out
from quorumcast.core.messages import Message

if TYPE_CHECKING:
    from quorumcast.client.follower import Follower


class Reading:
    """A channel as its followers see it: settings, thresholds, outbox, links, time."""

    def __init__(
        self,
        cluster: Cluster,
        channel: Channel,
        out: Out,
        agenda: Agenda,
        live: dict[Party, None],
    ) -> None:
        self.cluster = cluster
        self.channel = channel
        self.quorum = channel.quorum(cluster)
        self.out = out
        self.agenda = agenda
        self.live = live
        self.now = 0.0
        self.version = 0
        self.held = False
        """Whether nothing is delivered now, and replicas are given no credit."""
        self.window = SUBSCRIBER_WINDOW
        self.chained = channel.confirm and channel.byzantine
        """Whether replicas state chain digests that matter: without, votes are all there is."""
        self.touched: dict[Follower, None] = {}
        self.copies: dict[Party, int] = {}
        """Bytes of bodies that each replica sent and that are not delivered yet."""

    def to_replicas(self, message: Message) -> None:
        """Say this to every replica with a link."""
        for replica in self.live:
            self.out.send(replica, message)
