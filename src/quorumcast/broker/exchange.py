"""Hello and heads between replicas: who is there, and which streams somebody may have missed."""

from __future__ import annotations

from quorumcast.broadcast.context import Replicas
from quorumcast.broker.desk import Desk
from quorumcast.broker.incarnations import Incarnations
from quorumcast.core.ids import Party
from quorumcast.core.limits import HEADS_MOST_SECONDS, HEADS_SECONDS, REPEAT_SECONDS
from quorumcast.core.messages import AskHeads, AskVotes, Head, Heads


class Exchange:
    """Greets every party, and asks every peer again and again for what changed.

    Hello is repeated with backoff: a link may lose it, and nothing that a replica says counts
    with its peers and publishers before it.
    """

    def __init__(
        self, replicas: Replicas, desks: dict[str, Desk], incarnations: Incarnations
    ) -> None:
        self._replicas = replicas
        self._desks = desks
        self._incarnations = incarnations
        self._since: dict[Party, dict[str, int]] = {}
        """How far each peer with a link has listed each channel, also one that is there no more."""
        self._interval: dict[Party, float] = {}

    def linked(self, party: Party) -> None:
        """Greet, and ask a peer for all its heads; state to it again what is unfinished."""
        self._replicas.out.send(party, self._incarnations.hello())
        self._interval[party] = REPEAT_SECONDS
        self._set(party)
        if party not in self._replicas.peers:
            return
        self._ask(party)
        for desk in self._desks.values():
            for entry in desk.shelf.entries.values():
                if entry.active is not None and desk.context.repairs:
                    entry.active.teller.restated()

    def unlinked(self, party: Party) -> None:
        """The party has to be greeted, and asked from the beginning, when it comes back."""
        self._interval.pop(party, None)
        self._replicas.agenda.cancel((party, "exchange"))
        self._since.pop(party, None)

    def greet(self) -> None:
        """An incarnation changed: tell everybody."""
        for party in self._replicas.live:
            self._replicas.out.send(party, self._incarnations.hello())

    def tick(self, party: Party) -> None:
        """Greet and ask again, less often while nothing changes."""
        if party not in self._replicas.live:
            return
        self._replicas.out.send(party, self._incarnations.hello())
        if party in self._replicas.peers:
            self._ask(party)
        self._interval[party] = min(2 * self._interval[party], HEADS_MOST_SECONDS)
        self._set(party)

    def _set(self, party: Party) -> None:
        time = self._replicas.now + self._interval[party]
        self._replicas.agenda.set((party, "exchange"), time)

    def _ask(self, peer: Party) -> None:
        listed = self._since.setdefault(peer, {})
        for name, desk in self._desks.items():
            if desk.context.repairs:
                if desk.shelf.hearsay.missed.pop(peer, 0) is None:
                    listed.pop(name, None)
                    self._interval[peer] = min(self._interval[peer], HEADS_SECONDS / 2)
                self._replicas.out.send(peer, AskHeads(name, listed.get(name, 0)))

    def learned(self) -> None:
        """There are channels that were not asked about yet."""
        for party in self._replicas.peers:
            if party in self._replicas.live:
                self._ask(party)

    def heads(self, desk: Desk, sender: Party, message: Heads) -> None:
        """A peer's streams: look after those of which this replica has less."""
        if not desk.context.repairs or not self._incarnations.greeted(sender):
            return
        listed = self._since.setdefault(sender, {})
        before = listed.get(message.channel, 0)
        listed[message.channel] = max(message.counter, before)
        for head in message.heads:
            if head.stream.channel == message.channel:
                self._compare(desk, sender, head)
        if message.more and message.counter > before:
            self._replicas.out.send(sender, AskHeads(message.channel, listed[message.channel]))
        if message.heads and self._interval.get(sender, 0.0) > HEADS_SECONDS:
            self._interval[sender] = HEADS_SECONDS
            self._set(sender)

    def _compare(self, desk: Desk, sender: Party, head: Head) -> None:
        last = max(head.last, head.confirmed)
        entry = desk.shelf.entries.get(head.stream)
        if last == 0 or (
            entry is not None and entry.head >= last and entry.confirmed.seq >= head.confirmed
        ):
            return
        settled = head.confirmed >= head.last
        entry = desk.shelf.heard_of(head.stream, sender, settled=settled)
        if entry is None:
            return
        if entry.active is None:
            desk.shelf.load(entry, sender, Heads(desk.channel.name, 0, (head,), False))
            return
        entry.active.tally.heard(sender, last)
        entry.active.touch()
        first = entry.confirmed.seq + 1
        self._replicas.out.send(sender, AskVotes(head.stream, first))
