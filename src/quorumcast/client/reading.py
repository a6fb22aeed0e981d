"""What the followers of one channel at a subscriber share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.broadcast.tally import kth
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Party, Stream
from quorumcast.core.limits import LISTED_STREAMS, SUBSCRIBER_WINDOW
from quorumcast.core.machine import Agenda, Out
from quorumcast.core.messages import Head, Message

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
        self._first_listings: dict[Party, None] = {}
        self._first_floors: dict[Stream, dict[Party, int]] = {}
        """What replicas had dropped of streams when they listed theirs for the first time."""
        self.touched: dict[Follower, None] = {}
        self.copies: dict[Party, int] = {}
        """Bytes of bodies that each replica sent and that are not delivered yet."""

    def first_listed(self, replica: Party, head: Head) -> None:
        """A replica lists a stream, in its first listing or later."""
        if head.floor == 0 or replica in self._first_listings:
            return
        if head.stream in self._first_floors or len(self._first_floors) < LISTED_STREAMS:
            self._first_floors.setdefault(head.stream, {}).setdefault(replica, head.floor)

    def first_listing_ends(self, replica: Party) -> None:
        """A replica has listed all its streams."""
        self._first_listings[replica] = None

    def gone_at_first(self, stream: Stream, last: int) -> bool:
        """Whether positions up to here were gone when replicas listed their streams first."""
        floors = self._first_floors.get(stream, {}).values()
        return len(floors) >= self.quorum.floors and kth(floors, self.quorum.floors) >= last

    def to_replicas(self, message: Message) -> None:
        """Say this to every replica with a link."""
        for replica in self.live:
            self.out.send(replica, message)
