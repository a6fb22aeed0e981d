"""One channel at a replica: its streams and everything that is done with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quorumcast.broadcast.context import Context, Replicas
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.admission import Admission
from quorumcast.broker.arrivals import Arrivals
from quorumcast.broker.blocking import Blocking
from quorumcast.broker.clients import Clients
from quorumcast.broker.peers import Peers
from quorumcast.broker.retention import Retention
from quorumcast.broker.serving import Reads, Serving
from quorumcast.broker.shelf import Entry, Shelf
from quorumcast.broker.subscriptions import Subscriptions
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Lane, Party
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Held,
    Message,
    Open,
    OpeningOf,
    Publish,
    ReadyUpTo,
    Release,
    Subscribe,
    Unsubscribe,
)
from quorumcast.core.rates import Bucket
from quorumcast.core.records import StreamState


class Desk:
    """What a replica keeps for one channel."""

    def __init__(self, replicas: Replicas, channel: Channel, reads: Reads, bucket: Bucket) -> None:
        self.channel = channel
        self.context = Context(replicas, channel)
        self.shelf = Shelf(self.context)
        self.blocking = Blocking(self.shelf)
        self.admission = Admission(self.context, self.shelf, self.blocking)
        self.serving = Serving(self.shelf, reads, bucket)
        self.subscriptions = Subscriptions(self.shelf, self.serving, reads, self.blocking)
        self.retention = Retention(self.shelf)
        self.shelf.away = self.admission.gone
        peers = Peers(self.shelf)
        clients = Clients(self.shelf, self.admission, self.serving, self.subscriptions)
        self._of_peers: dict[type, Callable[[Party, Any], None]] = {
            Held: peers.held,
            ReadyUpTo: peers.ready,
            ConfirmedUpTo: peers.confirmed,
            FloorAt: peers.floor,
            OpeningOf: peers.opening,
            Digests: peers.digests,
        }
        self.arrivals = Arrivals(self.context.out, clients.publish)
        self._of_anybody: dict[type, Callable[[Party, Any], None]] = {
            Publish: self.arrivals.add,
            Open: clients.open,
            Release: clients.release,
            Follow: clients.follow,
            Credit: clients.credit,
            Subscribe: self.subscriptions.subscribe,
            Unsubscribe: self.subscriptions.unsubscribe,
            AskHeads: clients.ask_heads,
            AskVotes: clients.ask_votes,
            AskConfirmed: clients.ask_confirmed,
            AskDigests: clients.ask_digests,
            AskBodies: clients.ask_bodies,
            AskOpening: clients.ask_opening,
        }
        self._bodies = peers.bodies

    def step(self, sender: Party, message: Message) -> None:
        """A message about this channel; a peer has shown its incarnation."""
        kind = type(message)
        handler = self._of_anybody.get(kind)
        if handler is not None:
            handler(sender, message)
            return
        is_peer = sender in self.context.peers
        if isinstance(message, Bodies):
            if not is_peer and sender != message.stream.publisher:
                self.context.out.reject(sender, "bodies from a stranger")
            elif self.context.repairs:
                self._bodies(sender, message)
        elif kind not in self._of_peers:
            self.context.out.reject(sender, f"{kind.__name__} is not for a replica")
        elif not is_peer:
            self.context.out.reject(sender, f"{kind.__name__} from a client")
        elif self.context.repairs:
            self._of_peers[kind](sender, message)

    def restore(self, state: StreamState) -> None:
        """A stream that the store has; those with something left to say are put to work."""
        entry = self.shelf.restore(state)
        self.retention.restored(entry)
        if entry.unfinished and self.context.repairs:
            self.shelf.take_up(entry)

    def learn(self, channel: Channel) -> None:
        """The channel's settings are these from now on, for what is open as well."""
        assert self.channel.fixed_fault(channel) is None, "what is fixed was checked before"
        self.channel = self.context.channel = channel
        self.retention.learn()
        self.admission.learn()
        self.subscriptions.learn()

    def close(self) -> None:
        """There is no such channel any more: all that is open ends. The store keeps its streams."""
        self.settle()
        self.admission.end()
        self.subscriptions.end()
        for entry in list(self.shelf.entries.values()):
            if entry.active is not None:
                self.shelf.put_away(entry) if entry.stored else self.shelf.remove(entry)
        self.context.touched.clear()

    def reopen(self) -> None:
        """The channel is there again: what was left unfinished is taken up."""
        for entry in self.shelf.entries.values():
            if entry.unfinished and self.context.repairs:
                self.shelf.take_up(entry)

    def settle(self) -> None:
        """Draw the conclusions of a turn in every stream that it touched, urgent lanes first."""
        self.arrivals.flush()
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
        self.admission.acknowledge(entry, active)
        self.shelf.rest(entry)

    def unlinked(self, party: Party) -> None:
        """A party's link is gone."""
        self.subscriptions.unlinked(party)
        self.admission.unlinked(party)
        if party not in self.context.peers:
            self.shelf.gone(party)
