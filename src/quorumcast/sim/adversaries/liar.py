"""The frame of every Byzantine party: a wrapper of a correct machine that twists what it says."""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import Message
from quorumcast.core.records import Loaded, Read
from quorumcast.sim.adversaries.plot import Ledger, Plot


class Liar:
    """A correct machine inside, and lies on its way out.

    A subclass overrides `say`, which is asked for every message, or `twist`, which gets the whole
    turn. Inputs can be held back by overriding `step`.
    """

    def __init__(self, inner: Machine, plot: Plot) -> None:
        self.inner = inner
        self.me = inner.me
        self.plot = plot
        self.draws = plot.draws(self.me)
        self.ledger = Ledger(plot.cluster.id)
        self.now = 0.0
        self.live: dict[Party, None] = {}
        self._also: list[tuple[Party, Message]] = []

    def start(self) -> None:
        """Start the correct machine, if it wants to be."""
        begin = getattr(self.inner, "start", None)
        if begin is not None:
            begin()

    def at(self, now: float) -> None:
        """The time of this turn."""
        self.now = now
        self.inner.at(now)

    def linked(self, party: Party) -> None:
        """A link is up."""
        self.live[party] = None
        self.inner.linked(party)

    def unlinked(self, party: Party) -> None:
        """A link is gone."""
        self.live.pop(party, None)
        self.inner.unlinked(party)

    def step(self, sender: Party, message: Message) -> None:
        """A message from an authenticated sender."""
        self.inner.step(sender, message)

    def tick(self) -> None:
        """The timer rings."""
        self.inner.tick()

    def loaded(self, request: Read, result: Loaded) -> None:
        """The disk answers."""
        self.inner.loaded(request, result)

    def ready(self) -> Ready:
        """The correct machine's turn, twisted."""
        ready = self.inner.ready()
        self.ledger.note(ready.records)
        ready = self.twist(ready)
        for receiver, message in self._also:
            if receiver in self.live:
                ready.messages[receiver] = [*ready.messages.get(receiver, ()), message]
        self._also.clear()
        return ready

    def twist(self, ready: Ready) -> Ready:
        """Ask `say` about every message."""
        twisted: dict[Party, list[Message]] = {}
        for receiver, messages in ready.messages.items():
            said: list[Message] = []
            for message in messages:
                said += self.say(receiver, message)
            if said:
                twisted[receiver] = said
        ready.messages = twisted
        return ready

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """What is said instead of a message; the message itself, if nothing is overridden."""
        return [message]

    # -- helpers for subclasses ----------------------------------------------------------------

    def act(self, what: str) -> bool:
        """Whether a deed may be done; if so, it counts."""
        return self.plot.act(self.me, what)

    def also(self, receiver: Party, message: Message) -> None:
        """Say this too, at the end of the turn."""
        self._also.append((receiver, message))

    def is_replica(self, party: Party) -> bool:
        """Whether a party is a replica."""
        return party in self.plot.cluster.replicas

    def half(self, receiver: Party) -> bool:
        """Which half of the world a receiver belongs to: for all members of the plot the same."""
        return sum(receiver.encode()) % 2 == 1

    def sooner(self, ready: Ready, time: float) -> Ready:
        """Make sure that the machine is woken by a time."""
        ready.timer = time if ready.timer is None else min(ready.timer, time)
        return ready
