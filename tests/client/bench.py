"""Benches for one client machine: the test speaks for the replicas, and reads what it is told.

`Writer` has a publisher, `Reader` a subscriber. Replicas are named in one string: "r1 r2 r4".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, TypeVar

from quorumcast.client.publisher import Publisher
from quorumcast.client.subscriber import Start, Subscriber
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Incarnation, Lane, Opening, Party, Stream
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    Credit,
    Head,
    Heads,
    Hello,
    Message,
    Open,
    Status,
    StatusCode,
)
from quorumcast.core.outcomes import Delivery
from quorumcast.core.records import Record, SessionState
from tests.broker.bench import LIVES, cluster
from tests.scenarios.story import CHANNEL, Story, certificate, identity

T = TypeVar("T")

ALL = "r1 r2 r3 r4"


class Driver:
    """What both benches do with their machine."""

    machine: Any

    def __init__(self, n: int, f: int, settings: dict[str, Any]) -> None:
        self.channel = Channel(CHANNEL, **{"alpha": 10, "publishers": ("*",), **settings})
        self.cluster = cluster(n, f, lab=not self.channel.confirm)
        self.all = " ".join(self.cluster.replicas)
        self.now = 0.0
        self.timer: float | None = None
        self.outcomes: list[Any] = []
        """Deliveries, gaps, acknowledgements, refusals, in their order."""

    def do(self, action: Callable[[Any], object]) -> Ready:
        """One turn with one input."""
        self.machine.at(self.now)
        action(self.machine)
        ready = self.machine.ready()
        self.timer = ready.timer
        self.outcomes += [*ready.deliveries, *ready.acknowledgements]
        return ready

    def say(self, replicas: str, *messages: Message) -> Ready:
        """Replicas say this, all in one turn."""

        def hear(machine: Any) -> None:
            for replica in replicas.split():
                for message in messages:
                    machine.step(replica, message)

        return self.do(hear)

    def link(self, replicas: str) -> Ready:
        """Links come up."""
        return self.do(lambda machine: [machine.linked(each) for each in replicas.split()])

    def unlink(self, replicas: str) -> Ready:
        """Links break."""
        return self.do(lambda machine: [machine.unlinked(each) for each in replicas.split()])

    def until(self, time: float) -> Ready:
        """The time comes; what is due before it is done when it is due."""
        whole = Ready()
        while self.timer is not None and self.timer <= time:
            self.now = max(self.now, self.timer)
            ready = self.do(lambda machine: machine.tick())
            for party, messages in ready.messages.items():
                whole.messages.setdefault(party, []).extend(messages)
            whole.records += ready.records
            whole.evidence += ready.evidence
        self.now = time
        return whole

    def told(self, kind: type[T]) -> list[T]:
        """What the user was told of one kind."""
        return [each for each in self.outcomes if isinstance(each, kind)]


class Writer(Driver):
    """Publisher `probe` and replicas that answer as the test says."""

    def __init__(
        self,
        n: int = 4,
        f: int = 1,
        *,
        journal: bool = False,
        kept: Iterable[SessionState] = (),
        **settings: Any,
    ) -> None:
        super().__init__(n, f, settings)
        self.lives = list(LIVES[:n])
        papers = certificate(self.cluster, "probe")
        nonces, sign = count(1).__next__, identity("probe").sign
        self.machine = Publisher(
            "probe", self.cluster, [self.channel], papers, nonces, sign, journal=journal
        )
        self.records: list[Record] = []
        if journal:
            self.machine.resume(kept)

    def do(self, action: Callable[[Any], object]) -> Ready:
        """One turn; its records are kept."""
        ready = super().do(action)
        self.records += ready.records
        return ready

    def hello(self, replica: Party) -> Hello:
        """What a replica shows."""
        index = self.cluster.replicas.index(replica)
        return Hello(self.lives[index], tuple(self.lives))

    def greet(self, replicas: str = ALL) -> Ready:
        """Replicas link, and show themselves."""
        self.link(replicas)
        return self.do(
            lambda machine: [machine.step(each, self.hello(each)) for each in replicas.split()]
        )

    def publish(self, text: str, lane: Lane = Lane.NORMAL) -> Ready:
        """The user publishes each letter."""
        return self.do(
            lambda machine: [machine.publish(CHANNEL, each.encode(), lane) for each in text]
        )

    def wipe(self, replica: Party) -> Ready:
        """A replica has a new life, and everybody has seen it."""
        index = self.cluster.replicas.index(replica)
        self.lives[index] = Incarnation(self.lives[index].counter + 1, 7)
        return self.do(
            lambda machine: [machine.step(each, self.hello(each)) for each in self.cluster.replicas]
        )

    def story(self, ready: Ready, to: Party = "r1") -> Story:
        """The session that a turn opened."""
        opens = [each for each in ready.messages.get(to, ()) if isinstance(each, Open)]
        message = opens[-1]
        return Story(
            self.cluster,
            message.opening,
            lane=Lane(message.stream.lane),
            signed=self.channel.signed,
        )

    def begin(self, text: str, credit: int = 100, replicas: str = ALL) -> Story:
        """Greet, publish, and give credit: the usual beginning."""
        self.greet(replicas)
        story = self.story(self.publish(text))
        self.accept(story, replicas, credit)
        return story

    def accept(self, story: Story, replicas: str = ALL, credit: int = 100) -> Ready:
        """Replicas open the stream and give credit."""
        ok = Status(story.stream, StatusCode.OK, 0)
        return self.say(replicas, ok, Credit(story.stream, credit))

    def finish(self, story: Story, text: str) -> Ready:
        """All replicas hold and confirm contents."""
        self.say(self.all, story.held_up_to(text))
        return self.say(self.all, story.confirmed(text))


class Reader(Driver):
    """Subscriber `screen` and replicas that say what the test says."""

    def __init__(
        self,
        n: int = 4,
        f: int = 1,
        *,
        start: Start = "earliest",
        patterns: tuple[str, ...] = ("*",),
        listed: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(n, f, settings)
        self.machine = Subscriber("screen", self.cluster, [self.channel])
        self.machine.subscribe(CHANNEL, patterns, start)
        if listed:
            self.link(self.all)
            self.lists(self.all)

    def lists(self, replicas: str, *heads: Head, counter: int = 0, more: bool = False) -> Ready:
        """Replicas list streams."""
        return self.say(replicas, Heads(CHANNEL, counter, heads, more))

    def subscribe(self, patterns: tuple[str, ...] = ("*",), start: Start = "earliest") -> Ready:
        """The user changes the subscription."""
        return self.do(lambda machine: machine.subscribe(CHANNEL, patterns, start))

    def story(self, publisher: Party = "probe", nonce: int = 1) -> Story:
        """A session of a publisher."""
        opening = Opening(publisher, nonce, LIVES[: len(self.cluster.replicas)])
        return Story(self.cluster, opening)

    def deliver(self, story: Story, text: str, first: int = 1) -> None:
        """Three replicas vote and send the bodies."""
        self.say("r1 r2 r3", story.held(text, first), story.bodies(text, first))

    def read(self, story: Story | None = None) -> str:
        """What was delivered, of one stream or of all."""
        return "".join(
            body.decode()
            for each in self.told(Delivery)
            if story is None or each.stream == story.stream
            for body in each.bodies
        )

    def following(self) -> dict[Stream, Any]:
        """The streams that the machine keeps at work."""
        return self.machine._subscriptions[CHANNEL].followers
