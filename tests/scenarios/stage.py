"""A stage for real machines: a clock, a store per replica, a network that the scenario directs.

A scenario reads like the schedule of its rule. Correct parties are machines; a Byzantine one is
a name without a machine, for which the scenario speaks:

    stage = Stage(alpha=4)                       # r1, r2, r3 are machines, r4 is scripted
    one = stage.opens("P")                       # P, scripted, opens a session everywhere
    stage.say("P", "r1 r2", one.publish("A"))
    stage.say("P", "r3", one.publish("B"))
    stage.say("r4", "S1", one.held("A"))
    stage.run(5.0)

Nothing is drawn at random: equal scenarios run alike. Parties are given as names in one string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from quorumcast.broker.replica import Replica
from quorumcast.client.publisher import Publisher
from quorumcast.client.subscriber import Start, Subscriber
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import Hello, Message, Open
from quorumcast.core.records import Incarnated, SessionState
from quorumcast.sim.store import Store
from tests.scenarios.guard import Guard
from tests.scenarios.looking import Looking
from tests.scenarios.rules import ANY, Rules
from tests.scenarios.story import CHANNEL, OPERATOR, Story, certificate, identity, opening

LATENCY = 0.001
FLUSH_STEPS = 50_000
STILL_STEPS = 10_000
"""Things that may happen at one time: a timer in the past would ring for ever."""

Reply = Callable[[Party, Message], Iterable[Message]]


class Stage(Rules, Looking):
    """Parties, links, time. `n` replicas r1, r2, ...; those in `scripted` have no machine."""

    def __init__(
        self,
        n: int = 4,
        f: int = 1,
        *,
        scripted: str = "r4",
        channels: tuple[Channel, ...] = (),
        **settings: Any,
    ) -> None:
        Rules.__init__(self)
        Looking.__init__(self)
        replicas = tuple(f"r{number}" for number in range(1, n + 1))
        self.channels = channels or (Channel(CHANNEL, publishers=("*",), **settings),)
        lab = any(not channel.confirm for channel in self.channels)
        self.cluster = Cluster(b"c" * 32, 1, replicas, f, OPERATOR.public.sign, lab)
        self.now = 0.0
        self.replies: dict[Party, Reply] = {}
        self.machines: dict[Party, Machine] = {}
        self.guard = Guard()
        self.born: dict[Party, float] = {}
        """When a wiped replica's present life began."""
        self._names: dict[Party, None] = {}
        self._down: set[Party] = set()
        self._lives: dict[Party, Incarnation] = {}
        self._links: dict[frozenset[Party], int] = {}
        self._timers: dict[Party, float] = {}
        self._frames: list[tuple[float, int, int, Party, Party, list[Message]]] = []
        self._count = 0
        self._nonces = count(1000)
        for index, name in enumerate(replicas):
            self._lives[name] = Incarnation(1, 100 + index)
            self._names[name] = None
            if name not in scripted.split():
                self._raise(name)
        for name in replicas:
            self._connect(name)
        self.flush()

    # -- parties -------------------------------------------------------------------------------

    def _raise(self, name: Party) -> None:
        """Start a replica's machine on its store."""
        store = self.stores.get(name)
        if store is None:
            store = self.stores[name] = Store(self.cluster.id)
            store.life = Incarnated(((self._lives[name], self.now),), ())
        assert store.life is not None
        machine = Replica(name, self.cluster, self.channels, store.life)
        self.machines[name] = machine
        machine.at(self.now)
        machine.start()
        self._turn(name)

    def _connect(self, name: Party) -> None:
        """Link a party with everybody it speaks to."""
        is_replica = name in self.cluster.replicas
        for other in self._names:
            reachable = is_replica or other in self.cluster.replicas
            if other != name and reachable and other not in self._down:
                self.link(name, other)

    def replica(self, name: Party) -> Replica:
        """The machine of a correct replica."""
        machine = self.machines[name]
        assert isinstance(machine, Replica)
        return machine

    def client(self, name: Party) -> None:
        """A scripted client: a Byzantine publisher or subscriber."""
        if name not in self._names:
            self._names[name] = None
            self._connect(name)
            self.flush()

    def publisher(self, name: Party, journal: list[SessionState] | None = None) -> Publisher:
        """A correct publisher; with a journal, it first finishes the sessions kept there."""
        papers = certificate(self.cluster, name)
        entropy, sign = self._nonces.__next__, identity(name).sign
        machine = Publisher(
            name,
            self.cluster,
            self.channels,
            papers,
            entropy,
            sign,
            journal=journal is not None,
        )
        machine.at(self.now)
        if journal is not None:
            machine.resume(journal)
        self._enter(name, machine)
        return machine

    def subscriber(
        self,
        name: Party,
        start: Start = "earliest",
        patterns: tuple[str, ...] = ("*",),
        channel: str = CHANNEL,
    ) -> Subscriber:
        """A correct subscriber, subscribed."""
        machine = Subscriber(name, self.cluster, self.channels)
        machine.at(self.now)
        machine.subscribe(channel, patterns, start)
        self._enter(name, machine)
        return machine

    def _enter(self, name: Party, machine: Machine) -> None:
        self._names[name] = None
        self._down.discard(name)
        self.machines[name] = machine
        self._connect(name)
        self.flush()

    def stop(self, name: Party) -> None:
        """A party is gone; what was on its way to and from it is lost."""
        self.machines.pop(name, None)
        self._timers.pop(name, None)
        self._down.add(name)
        for pair in [pair for pair in self._links if name in pair]:
            self.unlink(*pair)

    def start(self, name: Party) -> None:
        """A replica comes back with what its store has."""
        self._down.discard(name)
        self._raise(name)
        self._connect(name)
        self.flush()

    def restart(self, name: Party) -> None:
        """A replica crashes and comes back at once."""
        self.stop(name)
        self.start(name)

    def wipe(self, name: Party) -> None:
        """A replica loses its disk and begins a new life; a scripted one has just the life."""
        self._lives[name] = self._later(name)
        if name in self.machines or name in self._down:
            self.stop(name)
            self.stores.pop(name, None)
            self.born[name] = self.now
            self.start(name)

    def damage(self, name: Party, story: Story, position: int) -> None:
        """A replica's disk loses one confirmed body."""
        slots = self.stores[name].streams[story.stream].slots
        slots[position] = slots[position]._replace(body=None)
        self.guard.damaged.add((name, story.stream, position))

    def rotate(self, name: Party) -> None:
        """A replica draws its next incarnation, as it does every day."""
        self._lives[name] = self._later(name)
        self._do(name, lambda machine: machine.renew(self._lives[name]))

    def life(self, name: Party) -> Incarnation:
        """A replica's present incarnation."""
        return self._lives[name]

    def _later(self, name: Party) -> Incarnation:
        counter, nonce = self._lives[name]
        return Incarnation(counter + 1, nonce + 1000)

    def opens(self, publisher: Party, nonce: int = 1, at: str = ANY, **settings: Any) -> Story:
        """A scripted publisher opens a session at these replicas."""
        self.client(publisher)
        signed = any(each.signed for each in self.channels)
        named = opening(publisher, nonce, [self._lives[each] for each in self.cluster.replicas])
        story = Story(self.cluster, named, signed=signed, **settings)
        receivers = " ".join(self.cluster.replicas) if at == ANY else at
        self.say(publisher, receivers, story.open())
        self.flush()
        return story

    def story(self, publisher: Party, session: int = -1) -> Story:
        """The stream of a correct publisher, its latest session unless another is named."""
        opened = dict.fromkeys(
            (message.opening, message.stream.channel, message.stream.lane)
            for _, sender, _, message in self.transcript
            if sender == publisher and isinstance(message, Open)
        )
        made, channel, lane = list(opened)[session]
        signed = any(each.signed for each in self.channels)
        return Story(self.cluster, made, channel=channel, lane=lane, signed=signed)

    def hello(self, name: Party) -> Hello:
        """What a scripted replica shows of itself, as a correct one would."""
        known = tuple(self._lives[each] for each in self.cluster.replicas)
        return Hello(self._lives[name], known)

    # -- links and rules -----------------------------------------------------------------------

    def link(self, one: Party, other: Party) -> None:
        """Bring a link up."""
        pair = frozenset((one, other))
        if pair in self._links:
            return
        self._count += 1
        self._links[pair] = self._count
        for me, peer in ((one, other), (other, one)):
            if me in self.machines:
                self._do(me, lambda machine, peer=peer: machine.linked(peer))
            elif me in self.cluster.replicas and me not in self._down:
                self.say(me, peer, self.hello(me))

    def unlink(self, one: Party, other: Party) -> None:
        """A link breaks; what is on its way is lost."""
        if self._links.pop(frozenset((one, other)), None) is not None:
            for me, peer in ((one, other), (other, one)):
                if me in self.machines:
                    self._do(me, lambda machine, peer=peer: machine.unlinked(peer))

    # -- talking -------------------------------------------------------------------------------

    def say(self, senders: str, receivers: str, *messages: Message) -> None:
        """Scripted parties say this; it arrives a moment later, whatever the rules."""
        for sender in senders.split():
            for receiver in receivers.split():
                if sender != receiver:
                    self.send(sender, receiver, list(messages))

    def send(self, sender: Party, receiver: Party, messages: list[Message]) -> None:
        """Put a frame on its way."""
        link = self._links.get(frozenset((sender, receiver)))
        if link is not None and messages:
            self._count += 1
            frame = (self.now + LATENCY, self._count, link, sender, receiver, messages)
            heappush(self._frames, frame)

    def answers(self, name: Party, reply: Reply) -> None:
        """A scripted party answers what it hears: `reply(sender, message)` gives messages."""
        self.replies[name] = reply

    # -- time ----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Let everything on its way arrive, and what follows from it, with timers in between."""
        steps = 0
        while self._frames:
            self._next(self._frames[0][0])
            steps += 1
            assert steps < FLUSH_STEPS, "the machines talk without end"

    def run(self, seconds: float) -> None:
        """Let this much time pass."""
        end = self.now + seconds
        steps, last = 0, self.now
        while self._next(end):
            steps, last = (steps + 1 if self.now == last else 0), self.now
            assert steps < STILL_STEPS, f"time stands still at {self.now}"
        self.now = end

    def _next(self, end: float) -> bool:
        """The next thing that happens up to `end`: a frame arrives or a timer rings."""
        frame_at = self._frames[0][0] if self._frames else end + 1.0
        name = min(self._timers, key=lambda each: self._timers[each], default=None)
        timer_at = self._timers[name] if name is not None else end + 1.0
        if min(frame_at, timer_at) > end:
            return False
        if frame_at <= timer_at:
            _, _, link, sender, receiver, messages = heappop(self._frames)
            self.now = max(self.now, frame_at)
            if self._links.get(frozenset((sender, receiver))) == link:
                self._arrive(sender, receiver, messages)
        else:
            assert name is not None
            self.now = max(self.now, timer_at)
            self._do(name, lambda machine: machine.tick())
        return True

    def _arrive(self, sender: Party, receiver: Party, messages: list[Message]) -> None:
        if receiver in self.machines:
            self._do(receiver, lambda machine: [machine.step(sender, each) for each in messages])
            return
        self.heard_by.setdefault(receiver, []).extend((sender, each) for each in messages)
        reply = self.replies.get(receiver)
        if reply is not None:
            for message in messages:
                self.send(receiver, sender, list(reply(sender, message)))

    def _do(self, name: Party, action: Callable[[Any], object]) -> None:
        machine = self.machines[name]
        machine.at(self.now)
        action(machine)
        self._turn(name)

    def _turn(self, name: Party) -> None:
        """What follows from a turn: store, send, read, deliver, in this order."""
        machine = self.machines[name]
        pending = True
        while pending:
            ready = machine.ready()
            self._carry_out(name, ready)
            for request in ready.reads:
                machine.at(self.now)
                machine.loaded(request, self.stores[name].read(request))
            pending = bool(ready.reads)
            if ready.timer is None:
                self._timers.pop(name, None)
            else:
                self._timers[name] = ready.timer

    def _carry_out(self, name: Party, ready: Ready) -> None:
        store = self.stores.get(name)
        if store is not None:
            self.guard.recording(name, self._lives[name].counter, store, ready.records)
            store.apply(ready.records)
        for receiver, messages in ready.messages.items():
            for message in messages:
                if store is not None:
                    self.guard.stating(name, store, message)
                self.transcript.append((self.now, name, receiver, message))
            self.send(name, receiver, self.ruled(name, receiver, messages))
        for outcome in (*ready.deliveries, *ready.acknowledgements):
            self.guard.delivering(name, outcome)
            self.outcomes.setdefault(name, []).append(outcome)
        self.evidence.setdefault(name, []).extend(ready.evidence)
        self.rejections.setdefault(name, []).extend(ready.rejections)

    # -- clients -------------------------------------------------------------------------------

    def publish(
        self, name: Party, text: str, channel: str = CHANNEL, lane: Lane = Lane.NORMAL
    ) -> None:
        """A correct publisher publishes each letter."""

        def add(machine: Publisher) -> None:
            for letter in text:
                machine.publish(channel, letter.encode(), lane)

        self._do(name, add)

    def resubscribe(self, name: Party, patterns: str, start: Start = "latest") -> None:
        """A correct subscriber changes what it asks for."""
        chosen = tuple(patterns.split())
        self._do(name, lambda machine: machine.subscribe(CHANNEL, chosen, start))
