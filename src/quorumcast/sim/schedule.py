"""Which faults happen when: an explicit list of decisions, drawn from the seed.

Because the list is explicit, a failing run can be shrunk by leaving decisions out, and what is left
can be read. Every decision says in one line what it does.
"""

from __future__ import annotations

from random import Random
from typing import Literal, TypeAlias

import msgspec

from quorumcast.core.ids import Lane, Party
from quorumcast.sim.draws import derive
from quorumcast.sim.scenario import CHANNELS, Scenario

Fate: TypeAlias = Literal["kept", "tail lost", "wiped", "bodies lost"]
"""What a crash does to a disk; bodies are lost where only votes and positions are kept on it."""


class _Decision(msgspec.Struct, frozen=True):
    """Something that the schedule decides, at a tick."""

    tick: int


class Publish(_Decision, frozen=True):
    """A publisher's user publishes `count` bodies at once."""

    party: Party
    channel: str
    lane: Lane
    count: int
    size: int

    def __str__(self) -> str:
        return f"{self.party} publishes {self.count} on {self.channel} ({self.lane.name.lower()})"


class Resubscribe(_Decision, frozen=True):
    """A subscriber's user changes a subscription, or, without patterns, ends it."""

    party: Party
    channel: str
    patterns: tuple[str, ...]
    start: str

    def __str__(self) -> str:
        if not self.patterns:
            return f"{self.party} unsubscribes from {self.channel}"
        patterns = ", ".join(self.patterns)
        return f"{self.party} subscribes to {patterns} on {self.channel}, {self.start}"


class Crash(_Decision, frozen=True):
    """A process stops: now, or at its next write, before or after it; and perhaps comes back."""

    node: str
    back: int | None
    """When it runs again; None: never."""
    how: Literal["now", "before", "after"] = "now"
    disk: Fate = "kept"

    def __str__(self) -> str:
        when = {"now": "", "before": " before its next write", "after": " after its next write"}
        back = "for good" if self.back is None else f"until {self.back / 1000:g} s"
        disk = "" if self.disk == "kept" else f", disk {self.disk}"
        return f"{self.node} crashes{when[self.how]} {back}{disk}"


class Cut(_Decision, frozen=True):
    """Nothing passes from some nodes to others, until a tick; `flap` renews the links then."""

    until: int
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    both: bool
    flap: bool

    def __str__(self) -> str:
        arrow = "and" if self.both else "to"
        return (
            f"nothing passes from {', '.join(self.senders)} {arrow} {', '.join(self.receivers)} "
            f"until {self.until / 1000:g} s"
        )


class Storm(_Decision, frozen=True):
    """The network loses and strays more, until a tick."""

    until: int
    loss: float
    stray: float

    def __str__(self) -> str:
        return f"the network loses {self.loss:.0%} until {self.until / 1000:g} s"


Decision: TypeAlias = Publish | Resubscribe | Crash | Cut | Storm


def draw(scenario: Scenario, faulty: tuple[str, ...] = ()) -> list[Decision]:
    """The schedule of a scenario; `faulty` are the nodes that the adversary plays.

    >>> draw(Scenario(seed=1)) == draw(Scenario(seed=1))
    True
    """
    decisions: list[Decision] = []
    for name in scenario.publisher_names:
        decisions += _publications(scenario, name)
    decisions += _subscriptions(scenario)
    decisions += _storms(scenario)
    if scenario.crashes:
        decisions += _replica_crashes(scenario, faulty)
        decisions += _client_crashes(scenario)
    decisions += _cuts(scenario)
    return sorted(decisions, key=lambda decision: decision.tick)


def _publications(scenario: Scenario, party: Party) -> list[Decision]:
    draws = derive(scenario.seed, "publications", party)
    decisions: list[Decision] = []
    left = scenario.publications
    while left > 0:
        count = min(left, draws.choice((1, 1, 2, 3, 5, 8)))
        left -= count
        tick = draws.randrange(20, scenario.faulty_ticks)
        channel = CHANNELS[0] if draws.random() < 0.8 else CHANNELS[1]
        lane = Lane.URGENT if draws.random() < 0.15 else Lane.NORMAL
        size = draws.choice((0, 20, 56, 56, 56, 200, 1500))
        decisions.append(Publish(tick, party, channel, lane, count, size))
    return decisions


def _subscriptions(scenario: Scenario) -> list[Decision]:
    """The first subscriber has everything from the beginning, others come and go."""
    names = scenario.subscriber_names
    draws = derive(scenario.seed, "subscriptions")
    everything = ("*",)
    decisions: list[Decision] = []
    for index, name in enumerate(names):
        patterns = everything
        tick, start = 5, "earliest"
        if index >= 2:  # two for agreement and totality, the others vary
            patterns = draws.choice((everything, ("p1",), ("p1", "q*"), ("*1", "p2")))
            tick = draws.randrange(5, scenario.faulty_ticks // 2)
            start = draws.choice(("earliest", "earliest", "latest"))
        decisions.append(Resubscribe(tick, name, CHANNELS[0], patterns, start))
        if index == 0 or draws.random() < 0.5:
            decisions.append(Resubscribe(tick, name, CHANNELS[1], patterns, start))
        if index >= 2 and draws.random() < 0.5:
            decisions += _changes(draws, scenario, name, tick)
    return decisions


def _changes(draws: Random, scenario: Scenario, name: Party, tick: int) -> list[Decision]:
    first = draws.randrange(tick + 1, scenario.faulty_ticks)
    if draws.random() < 0.5:
        return [Resubscribe(first, name, CHANNELS[0], ("p*",), "earliest")]
    again = first + draws.randrange(1, 1000)
    return [
        Resubscribe(first, name, CHANNELS[0], (), ""),
        Resubscribe(again, name, CHANNELS[0], ("*",), draws.choice(("earliest", "latest"))),
    ]


def _storms(scenario: Scenario) -> list[Decision]:
    if scenario.loss == 0.0:
        return []
    draws = derive(scenario.seed, "storms")
    decisions: list[Decision] = []
    for _ in range(draws.randrange(3)):
        tick = draws.randrange(scenario.faulty_ticks)
        until = min(scenario.faulty_ticks, tick + draws.randrange(100, 2000))
        loss = min(0.9, scenario.loss * draws.choice((1, 2, 3)))
        decisions.append(Storm(tick, until, loss, draws.choice((0.02, 0.1, 0.3))))
    return decisions


def _replica_crashes(scenario: Scenario, faulty: tuple[str, ...]) -> list[Decision]:
    """Replicas that lose something count among the f; others come back with their disk."""
    draws = derive(scenario.seed, "crashes")
    decisions: list[Decision] = []
    names = [name for name in scenario.replica_names if name not in faulty]
    liars = [name for name in scenario.replica_names if name in faulty]
    budget = max(0, scenario.faults - len(liars))
    draws.shuffle(names)
    for index, name in enumerate(names):
        tick = draws.randrange(50, scenario.faulty_ticks)
        back = tick + draws.randrange(20, 1500)
        how: Literal["now", "before", "after"] = draws.choice(("now", "before", "after"))
        if index < budget:
            fate = draws.choice(("dead", "kept", "tail lost", "wiped", "bodies lost"))
            if fate == "dead":
                decisions.append(Crash(tick, name, None, how))
            else:
                decisions.append(Crash(tick, name, back, how, fate))
        elif draws.random() < 0.35:
            decisions.append(Crash(tick, name, back, how))
    return decisions


def _client_crashes(scenario: Scenario) -> list[Decision]:
    draws = derive(scenario.seed, "client crashes")
    decisions: list[Decision] = []
    for name in (*scenario.publisher_names, *scenario.subscriber_names[2:]):
        if draws.random() < 0.2:
            tick = draws.randrange(50, scenario.faulty_ticks)
            back = tick + draws.randrange(20, 1500) if draws.random() < 0.7 else None
            decisions.append(Crash(tick, name, back))
    return decisions


def _cuts(scenario: Scenario) -> list[Decision]:
    draws = derive(scenario.seed, "cuts")
    nodes = [*scenario.replica_names, *scenario.publisher_names, *scenario.subscriber_names]
    decisions: list[Decision] = []
    for _ in range(draws.randrange(4)):
        tick = draws.randrange(scenario.faulty_ticks)
        until = min(scenario.faulty_ticks, tick + draws.randrange(50, 2500))
        shuffled = draws.sample(nodes, len(nodes))
        size = draws.randrange(1, max(2, len(nodes) // 2))
        one, other = tuple(sorted(shuffled[:size])), tuple(sorted(shuffled[size:]))
        decisions.append(Cut(tick, until, one, other, draws.random() < 0.6, draws.random() < 0.5))
    return decisions
