"""What a checker is given: the trace of a run, and who was what in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import msgspec

from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Party, Stream
from quorumcast.core.outcomes import Acknowledged, Delivery
from quorumcast.sim.trace import Published, Subscribed, Trace

END = 2**62
"""A tick after all others."""


class Violation(msgspec.Struct, frozen=True):
    """A property that a run broke, and how.

    >>> str(Violation("agreement", "s1 and s2 differ"))
    'agreement: s1 and s2 differ'
    """

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


class Seen(NamedTuple):
    """One publication as a subscriber got it."""

    tick: int
    stream: Stream
    position: int
    body: bytes


class Sent(NamedTuple):
    """A correct publisher's publication, and where its acknowledgement says that it stands."""

    published: Published
    stream: Stream | None
    position: int
    tick: int
    """When it was acknowledged; without a stream it was not."""


class Asked(NamedTuple):
    """Since when a subscriber asks for a stream without a break, and from where on."""

    since: int
    first: int | None
    """The position where it has to begin; None: after some head, which only the machine knows."""
    latest: int
    """When it last asked for what comes from now on; -1: never."""


class Case:
    """A run as the checkers see it; nothing here comes from inside a machine.

    `publishers` are the correct ones, by party; `replicas` the correct ones, by node, of which
    `lost` were wiped or stopped for good (they count among the f). `live` are the lives of correct
    clients that ran to the end.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        channels: dict[str, Channel],
        *,
        replicas: tuple[str, ...],
        publishers: frozenset[Party],
        live: frozenset[str],
        lost: frozenset[str] = frozenset(),
        judged: bool = True,
        cap_bytes: int = 2**62,
        patience_ticks: int = 2**62,
        healed_tick: int = 0,
    ) -> None:
        self.trace = trace
        self.cluster = cluster
        self.channels = channels
        self.replicas = replicas
        self.publishers = publishers
        self.live = live
        self.lost = lost
        self.judged = judged
        """Whether the network healed and had time: only then is anything owed."""
        self.cap_bytes = cap_bytes
        self.patience_ticks = patience_ticks
        self.healed_tick = healed_tick
        """When the network healed: waiting times count from here."""
        self._asked: dict[tuple[str, Stream, int], Asked | None] = {}

    @property
    def liars(self) -> int:
        """How many replicas the adversary plays."""
        return len(self.cluster.replicas) - len(self.replicas)

    @cached_property
    def seen(self) -> dict[str, list[Seen]]:
        """What each life of each correct subscriber delivered, one by one, in order."""
        return {life: list(self._seen(life)) for life in self.trace.delivered}

    def _seen(self, life: str) -> Iterator[Seen]:
        for told in self.trace.delivered[life]:
            if isinstance(told.what, Delivery):
                for index, body in enumerate(told.what.bodies):
                    yield Seen(told.tick, told.what.stream, told.what.first + index, body)

    @cached_property
    def sent(self) -> list[Sent]:
        """Every publication of correct publishers with its first acknowledgement."""
        found: dict[tuple[str, str, int, int], Sent] = {}
        for each in self.trace.published:
            found[each.life, each.channel, each.lane, each.number] = Sent(each, None, 0, -1)
        for life, outcomes in self.trace.outcomes.items():
            for told in outcomes:
                if isinstance(told.what, Acknowledged):
                    self._acknowledge(found, life, told.tick, told.what)
        return list(found.values())

    def _acknowledge(
        self,
        found: dict[tuple[str, str, int, int], Sent],
        life: str,
        tick: int,
        outcome: Acknowledged,
    ) -> None:
        stream = outcome.stream
        for number in range(outcome.first, outcome.last + 1):
            key = (life, stream.channel, stream.lane, number)
            sent = found.get(key)
            if sent is not None and sent.stream is None:
                position = outcome.position - (outcome.last - number)
                found[key] = Sent(sent.published, stream, position, tick)

    # -- subscriptions -------------------------------------------------------------------------

    def subscription(self, life: str, channel: str, tick: int) -> Subscribed | None:
        """The subscription of a life to a channel that is in force at a tick."""
        force = None
        for each in self.trace.subscribed.get(life, ()):
            if each.channel == channel and each.tick <= tick:
                force = each
        return force if force is not None and force.patterns else None

    def asked(self, life: str, stream: Stream, tick: int = END) -> Asked | None:
        """How a life asks for a stream at a tick; None if it does not.

        A change that still matches goes on where it was; a stream that was not asked for in
        between may begin again.
        """
        calls = self.trace.subscribed.get(life, ())
        count = sum(1 for call in calls if call.tick <= tick)
        key = (life, stream, count)
        if key not in self._asked:
            self._asked[key] = _asked(
                [call for call in calls[:count] if call.channel == stream.channel], stream
            )
        return self._asked[key]

    def since(self, life: str, each: Seen) -> int:
        """When the asking began under which a life delivered something; -1 if it did not ask."""
        asked = self.asked(life, each.stream, each.tick)
        return -1 if asked is None else asked.since

    def got(self, life: str) -> dict[Stream, set[int]]:
        """The positions that a life delivered of streams since it asks for them."""
        got: dict[Stream, set[int]] = {}
        for each in self.seen.get(life, ()):
            asked = self.asked(life, each.stream)
            if asked is not None and each.tick >= asked.since:
                got.setdefault(each.stream, set()).add(each.position)
        return got


def _asked(calls: list[Subscribed], stream: Stream) -> Asked | None:
    unbroken: list[Subscribed] = []
    for call in calls:
        if matches(call.patterns, stream.publisher):
            unbroken.append(call)
        else:
            unbroken.clear()
    if not unbroken:
        return None
    latest = [call.tick for call in unbroken if call.start == "latest"]
    first = None if latest else max(_first(call.start, stream) for call in unbroken)
    return Asked(unbroken[0].tick, first, max(latest, default=-1))


def _first(start: str | dict[Stream, int], stream: Stream) -> int:
    return start.get(stream, 1) if isinstance(start, dict) else 1


def matches(patterns: tuple[str, ...], publisher: Party) -> bool:
    """Whether a subscription asks for a publisher.

    >>> matches(("p1", "q*"), "q7"), matches(("p1",), "p2")
    (True, False)
    """
    return any(fnmatchcase(publisher, pattern) for pattern in patterns)


Checker = Callable[[Case], list[Violation]]
