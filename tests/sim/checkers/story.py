"""Traces built by hand: what users did, what replicas stored, what subscribers were handed.

`told()` is a run in which everything is right: p1 publishes three bodies, r1 to r3 store, confirm
and acknowledge them (r4 is Byzantine), s1 and s2 deliver them. A test changes one thing in it.
"""

from __future__ import annotations

from typing import Any

from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Opening, Stream
from quorumcast.core.outcomes import Acknowledged, Delivery
from quorumcast.core.records import Accepted, Confirmed, Installed, MadeReady, Opened, Record
from quorumcast.sim.checkers import Case, judge
from quorumcast.sim.trace import Published, Stored, Subscribed, Told, Trace

CHANNEL = "alerts"
LIFE = Incarnation(1, 7)

SUBSCRIBED, PUBLISHED, STORED, ACKNOWLEDGED, DELIVERED = 5, 10, 20, 25, 30
"""When each of these happens in a story, in ticks."""


class Story:
    """A trace and the parties in it; `liars` are the last replicas."""

    def __init__(self, *, n: int = 4, f: int = 1, liars: int = 1, **settings: Any) -> None:
        names = tuple(f"r{number}" for number in range(1, n + 1))
        self.cluster = Cluster(b"c" * 32, 1, names, f, bytes(32), lab=True)
        self.channels = {CHANNEL: Channel(CHANNEL, publishers=("*",), **settings)}
        self.trace = Trace()
        self.replicas = names[: n - liars]
        self.live = {"p1", "s1", "s2"}
        self.lost: set[str] = set()

    # -- names ---------------------------------------------------------------------------------

    def opening(self, publisher: str = "p1", session: int = 1) -> Opening:
        return Opening(publisher, session, (LIFE,) * len(self.cluster.replicas))

    def stream(
        self, publisher: str = "p1", session: int = 1, channel: str = CHANNEL, lane: int = 0
    ) -> Stream:
        name = session_of(self.cluster.id, 1, self.opening(publisher, session))
        return Stream(channel, publisher, name, Lane(lane))

    def chain(self, stream: Stream, bodies: list[bytes]) -> bytes:
        digester = Digester(self.cluster.id, stream)
        return chains_after(digester.origin, digester.digests(1, bodies))[-1]

    # -- users ---------------------------------------------------------------------------------

    def publish(
        self, count: int, life: str = "p1", *, tick: int = PUBLISHED, channel: str = CHANNEL
    ) -> list[bytes]:
        before = sum(1 for each in self.trace.published if each.life == life)
        numbers = range(before + 1, before + count + 1)
        bodies = [f"{life}/{number}".encode() for number in numbers]
        self.trace.published += [
            Published(tick, life, life.partition("#")[0], channel, Lane.NORMAL, number, body)
            for number, body in zip(numbers, bodies, strict=True)
        ]
        return bodies

    def subscribe(
        self,
        *lives: str,
        patterns: tuple[str, ...] = ("*",),
        start: str | dict[Stream, int] = "earliest",
        tick: int = SUBSCRIBED,
    ) -> None:
        for life in lives:
            calls = self.trace.subscribed.setdefault(life, [])
            calls.append(Subscribed(tick, CHANNEL, patterns, start))

    def hand(self, life: str, what: Any, tick: int = DELIVERED) -> None:
        self.trace.delivered.setdefault(life, []).append(Told(tick, what))

    def deliver(
        self,
        life: str,
        bodies: list[bytes],
        stream: Stream | None = None,
        *,
        first: int = 1,
        tick: int = DELIVERED,
    ) -> None:
        stream = stream or self.stream()
        self.hand(life, Delivery(stream, first, tuple(bodies), 3, False), tick)

    def outcome(self, life: str, what: Any, tick: int) -> None:
        self.trace.outcomes.setdefault(life, []).append(Told(tick, what))

    def acknowledge(
        self,
        last: int,
        *,
        first: int = 1,
        life: str = "p1",
        stream: Stream | None = None,
        tick: int = ACKNOWLEDGED,
    ) -> None:
        stream = stream or self.stream()
        self.outcome(life, Acknowledged(stream, last, first, last, 3, False), tick)

    # -- disks ---------------------------------------------------------------------------------

    def store(
        self, replica: str, *records: Record | None, tick: int = STORED, life: Incarnation = LIFE
    ) -> None:
        stored = self.trace.stored.setdefault(replica, [])
        stored += [Stored(tick, life, record) for record in records]

    def opened(self, stream: Stream, session: int = 1) -> Opened:
        return Opened(stream, self.opening(stream.publisher, session), b"")

    def accepted(self, stream: Stream, bodies: list[bytes], first: int = 1) -> Accepted:
        digests = Digester(self.cluster.id, stream).digests(first, bodies)
        return Accepted(stream, first, digests, tuple(bodies), b"")

    def installed(self, stream: Stream, bodies: list[bytes], first: int = 1) -> Installed:
        accepted = self.accepted(stream, bodies, first)
        return Installed(stream, first, accepted.digests, accepted.bodies, b"")

    def ready(self, stream: Stream, bodies: list[bytes]) -> MadeReady:
        return MadeReady(stream, len(bodies), self.chain(stream, bodies), 1, b"")

    def confirmed(self, stream: Stream, bodies: list[bytes]) -> Confirmed:
        return Confirmed(stream, len(bodies), self.chain(stream, bodies))

    def keep(
        self, bodies: list[bytes], *replicas: str, stream: Stream | None = None, session: int = 1
    ) -> None:
        """Replicas (all correct ones, if none is named) take, confirm and store the bodies."""
        stream = stream or self.stream()
        for replica in replicas or self.replicas:
            self.store(
                replica,
                self.opened(stream, session),
                self.accepted(stream, bodies),
                self.ready(stream, bodies),
                self.confirmed(stream, bodies),
            )

    # -- judgement -----------------------------------------------------------------------------

    def case(self, **settings: Any) -> Case:
        return Case(
            self.trace,
            self.cluster,
            self.channels,
            replicas=self.replicas,
            publishers=frozenset(("p1", "p2")),
            live=frozenset(self.live),
            lost=frozenset(self.lost),
            **settings,
        )

    def broken(self, **settings: Any) -> dict[str, str]:
        """The properties that a run broke, each with the first thing that was said of it."""
        found: dict[str, str] = {}
        for violation in judge(self.case(**settings)):
            found.setdefault(violation.rule, violation.text)
        return found


def told(count: int = 3, *, acknowledge: bool = True, **settings: Any) -> Story:
    """A run in which everything is right."""
    story = Story(**settings)
    story.subscribe("s1", "s2")
    bodies = story.publish(count)
    story.keep(bodies)
    if acknowledge:
        story.acknowledge(count)
    for life in ("s1", "s2"):
        story.deliver(life, bodies)
    return story
