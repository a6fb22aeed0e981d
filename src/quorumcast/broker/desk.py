"""One channel at a replica: its streams and everything that is done with them."""

from __future__ import annotations

from quorumcast.broadcast.context import Context, Replicas
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.admission import Admission
from quorumcast.broker.rates import Bucket
from quorumcast.broker.retention import Retention
from quorumcast.broker.serving import Reads, Serving
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.broker.statements import Statements
from quorumcast.broker.subscriptions import Subscriptions
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Lane, Party
from quorumcast.core.records import StreamState


class Desk:
    """What a replica keeps for one channel."""

    def __init__(
        self, replicas: Replicas, channel: Channel, reads: Reads, bucket: Bucket
    ) -> None:
        self.channel = channel
        self.context = Context(replicas, channel)
        self.shelf = Shelf(self.context)
        self.admission = Admission(self.context, self.shelf)
        self.statements = Statements(self.context, self.shelf)
        self.serving = Serving(self.shelf, reads, bucket)
        self.subscriptions = Subscriptions(self.shelf, self.serving, reads)
        self.retention = Retention(self.shelf)

    def restore(self, state: StreamState) -> None:
        """A stream that the store has; those with something left to say are put to work."""
        entry = self.shelf.restore(state)
        self.retention.restored(entry)
        unfinished = max(state.head, state.ready.seq) > state.confirmed.seq
        if unfinished and self.context.repairs:
            self.shelf.wake(entry)

    def settle(self) -> None:
        """Draw the conclusions of a turn in every stream that it touched, urgent lanes first."""
        touched = self.context.touched
        while touched:
            streams = sorted(touched, key=lambda active: active.stream.lane != Lane.URGENT)
            touched.clear()
            for active in streams:
                entry = self.shelf.entries.get(active.stream)
                if entry is not None and entry.active is active:
                    self._settle(entry, active)

    def _settle(self, entry: Entry, active: ReplicaStream) -> None:
        before = entry.confirmed
        fresh = active.settle()
        shown = (active.ready.seq, active.confirmed.seq)
        told, active.shown = shown != active.shown, shown
        self.retention.note(entry, active, before)
        self.shelf.update(entry)
        if fresh is not None or told:
            self.subscriptions.push(entry, active, fresh, told and self.context.repairs)
        self.admission.count(active)
        self.admission.acknowledge(active)

    def unlinked(self, party: Party) -> None:
        """A party's link is gone."""
        self.subscriptions.unlinked(party)
        self.admission.unlinked(party)
