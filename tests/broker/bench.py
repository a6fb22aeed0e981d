"""A bench for one replica machine: its driver, its store, and scripted parties around it.

Replica r1, or `me`, is the machine. Peers and clients are names, for which the test speaks; what
the machine answers comes back as the `Ready` of the turn. The driver stores a turn's records and
answers its reads, at once or, with `slow`, when the test says so.
"""

from __future__ import annotations

from typing import Any

from quorumcast.broker.replica import Replica
from quorumcast.broker.shelf import Entry
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Opening, Party
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Hello, Message, Status, StatusCode, Subscribe
from quorumcast.core.records import Incarnated, Read
from quorumcast.sim.store import Store
from tests.scenarios.story import CHANNEL, OPERATOR, Story

LIVES = tuple(Incarnation(1, 100 + index) for index in range(16))
"""The first life of each replica, in their order."""


def cluster(n: int = 4, f: int = 1, *, lab: bool = False) -> Cluster:
    """Replicas r1 to rn, of which f may be faulty."""
    names = tuple(f"r{number}" for number in range(1, n + 1))
    return Cluster(b"c" * 32, 1, names, f, OPERATOR.public.sign, lab)


def add(whole: Ready, part: Ready) -> None:
    """Append a turn to those before it."""
    whole.records += part.records
    for party, messages in part.messages.items():
        whole.messages.setdefault(party, []).extend(messages)
    whole.reads += part.reads
    whole.rejections += part.rejections
    whole.evidence += part.evidence


def status(ready: Ready, to: Party = "probe") -> tuple[StatusCode, int]:
    """The one status that a turn sends to a publisher: its code and position."""
    (message,) = [each for each in ready.messages[to] if isinstance(each, Status)]
    return message.code, message.position


class Bench:
    """One replica of n; `settings` are those of its channel, or `channels` gives several."""

    def __init__(
        self,
        n: int = 4,
        f: int = 1,
        *,
        me: Party = "r1",
        channels: tuple[Channel, ...] = (),
        link: str | None = None,
        **settings: Any,
    ) -> None:
        self.channels = channels or (
            Channel(CHANNEL, **{"alpha": 10, "publishers": ("*",), **settings}),
        )
        lab = any(not channel.confirm for channel in self.channels)
        self.cluster = cluster(n, f, lab=lab)
        self.lives = LIVES[:n]
        self.store = Store(self.cluster.id)
        self.me = me
        self.peers = " ".join(name for name in self.cluster.replicas if name != me)
        life = LIVES[self.cluster.replicas.index(me)]
        self.store.life = Incarnated(((life, 0.0),), ())
        self.now = 0.0
        self.slow = False
        self.waiting: list[Read] = []
        """Reads that a slow store has not answered."""
        self.timer: float | None = None
        self.raise_up()
        for party in (self.peers if link is None else link).split():
            self.link(party)

    def raise_up(self) -> Ready:
        """Start the machine on what its store has."""
        assert self.store.life is not None
        self.replica = Replica(self.me, self.cluster, self.channels, self.store.life)
        self.replica.at(self.now)
        self.replica.start()
        return self.turn()

    # -- parties -------------------------------------------------------------------------------

    def link(self, party: Party) -> Ready:
        """A link comes up; a peer greets at once."""
        self.replica.linked(party)
        if party in self.cluster.replicas:
            self.replica.step(party, self.hello(party))
        return self.turn()

    def unlink(self, party: Party) -> Ready:
        """A link breaks."""
        self.replica.unlinked(party)
        return self.turn()

    def hello(self, peer: Party) -> Hello:
        """What a peer shows of itself and of the others."""
        return Hello(self.lives[self.cluster.replicas.index(peer)], self.lives)

    def story(self, publisher: Party = "probe", nonce: int = 1, **how: Any) -> Story:
        """A session of a publisher that names the lives of all replicas."""
        channel = next((each for each in self.channels if each.signed), None)
        opening = Opening(publisher, nonce, self.lives)
        return Story(self.cluster, opening, signed=channel is not None, **how)

    def opens(self, publisher: Party = "probe", nonce: int = 1, **how: Any) -> Story:
        """A publisher links, if it has no link, and opens a session."""
        story = self.story(publisher, nonce, **how)
        if publisher not in self.replica.replicas.live:
            self.link(publisher)
        self.say(publisher, story.open())
        return story

    def subscribes(self, party: Party = "screen", *, window: int = 4096, begin: int = 0) -> Ready:
        """A client links and subscribes to everything."""
        self.link(party)
        return self.say(party, Subscribe(CHANNEL, 1, ("*",), begin, window))

    # -- turns ---------------------------------------------------------------------------------

    def say(self, senders: str, *messages: Message) -> Ready:
        """Parties say this, all in one turn."""
        self.replica.at(self.now)
        for sender in senders.split():
            for message in messages:
                self.replica.step(sender, message)
        return self.turn()

    def turn(self) -> Ready:
        """The end of a turn, and of those that the store's answers make."""
        whole = Ready()
        while True:
            ready = self.replica.ready()
            self.store.apply(ready.records)
            self.timer = ready.timer
            add(whole, ready)
            if self.slow:
                self.waiting += ready.reads
                return whole
            if not ready.reads:
                return whole
            for request in ready.reads:
                self.replica.at(self.now)
                self.replica.loaded(request, self.store.read(request))

    def answer(self) -> Ready:
        """A slow store answers what waits."""
        waiting, self.waiting = self.waiting, []
        for request in waiting:
            self.replica.loaded(request, self.store.read(request))
        return self.turn()

    def until(self, time: float) -> Ready:
        """The time comes; what is due before it is done when it is due."""
        whole = Ready()
        while self.timer is not None and self.timer <= time:
            self.now = max(self.now, self.timer)
            self.replica.at(self.now)
            self.replica.tick()
            add(whole, self.turn())
        self.now = time
        self.replica.at(time)
        return whole

    def restart(self, link: str = "r2 r3 r4") -> Ready:
        """The process dies and comes back with what it stored."""
        whole = self.raise_up()
        for party in link.split():
            add(whole, self.link(party))
        return whole

    # -- steps that many tests begin with ------------------------------------------------------

    def confirm(self, story: Story, text: str) -> Ready:
        """Two peers confirm contents."""
        return self.say("r2 r3", story.confirmed(text))

    def past(
        self, publisher: Party, nonce: int, text: str = "A", lane: Lane = Lane.NORMAL
    ) -> Story:
        """A session that was published, and confirmed by everybody."""
        story = self.opens(publisher, nonce, lane=lane)
        self.say(publisher, story.publish(text))
        self.say("r2 r3 r4", story.held(text))
        self.say("r2 r3 r4", story.confirmed(text))
        return story

    def shelve(self, story: Story) -> None:
        """Put a stream to rest, as if many newer ones had come."""
        entry = self.entry(story)
        assert entry is not None
        self.replica.desks[story.stream.channel].shelf.put_away(entry)

    # -- looking -------------------------------------------------------------------------------

    def entry(self, story: Story) -> Entry | None:
        """What the replica remembers of a stream."""
        desk = self.replica.desks[story.stream.channel]
        return desk.shelf.entries.get(story.stream)

    def at_work(self) -> int:
        """How many streams of the first channel are in memory."""
        shelf = self.replica.desks[self.channels[0].name].shelf
        return sum(1 for entry in shelf.entries.values() if entry.active is not None)

    def holds(self, story: Story) -> str:
        """What stands in the store's slots."""
        stored = self.store.streams.get(story.stream)
        if stored is None:
            return ""
        slots = [stored.slots[each] for each in range(stored.base.seq + 1, stored.head + 1)]
        return "".join(slot.body.decode() if slot.body is not None else "." for slot in slots)
