"""Twins: two correct replicas with one identity, each of which talks to its own part of the world.

After Bano et al., Twins: BFT Systems Made Robust (2021). Neither twin lies; together they
equivocate, forget and contradict themselves as one faulty replica would, without a line of code
for any lie. Time passes in rounds. In each round everybody else is drawn to one of the two twins,
and nothing passes between a twin and the other one's part. In some rounds the wall stands between
the two parts as well, as in the paper: until the network heals, for that is the network's fault and
the rest is the twins' own.

Every round is a deed, so that a shrinker can leave rounds out: there, both twins talk to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from quorumcast.core.ids import Party
from quorumcast.sim.adversaries.plot import Plot
from quorumcast.sim.world import World

TWIN = "'"
"""What a twin's node is named after its party."""

ROUND_TICKS = 400
"""How long a round lasts: long enough for a vote to travel, too short for most to be confirmed."""

WALLED = 0.3
"""How often the two parts are kept apart from each other, too."""


class Round(NamedTuple):
    """Who talks to which twins for a while; several pairs of twins share their two parts.

    >>> str(Round(2, ("r4",), ("p1", "r1"), ("r2", "s1"), walled=False))
    "round 2: p1, r1 talk to r4; r2, s1 to r4'"
    """

    number: int
    parties: tuple[Party, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    walled: bool

    @property
    def twins(self) -> tuple[str, ...]:
        """The nodes of the second part that have a party's name twice."""
        return tuple(party + TWIN for party in self.parties)

    def __str__(self) -> str:
        first, second = (", ".join(part) or "nobody" for part in (self.first, self.second))
        wall = "; the two parts not to each other" if self.walled else ""
        return (
            f"round {self.number}: {first} talk to {', '.join(self.parties)}; "
            f"{second} to {', '.join(self.twins)}{wall}"
        )

    def cuts(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Pairs of groups between which nothing passes, either way."""
        cuts = [(self.parties, (*self.twins, *self.second)), (self.twins, self.first)]
        return [*cuts, (self.first, self.second)] if self.walled else cuts


def draw_round(
    draws: Random,
    number: int,
    parties: tuple[Party, ...],
    others: list[str],
    *,
    walls: bool = True,
) -> Round:
    """A round drawn from a source of randomness; without `walls` only the twins are cut off.

    >>> drawn = draw_round(Random(1), 1, ("r4",), ["p1", "r1", "r2"])
    >>> sorted(drawn.first + drawn.second)
    ['p1', 'r1', 'r2']
    """
    sides = [draws.random() < 0.5 for _ in others]
    walled = draws.random() < WALLED
    first = tuple(name for name, side in zip(others, sides, strict=True) if side)
    second = tuple(name for name, side in zip(others, sides, strict=True) if not side)
    return Round(number, parties, first, second, walled and walls)


class Rounds:
    """Lets rounds follow each other in a world, as long as it runs."""

    def __init__(
        self, world: World, plot: Plot, parties: tuple[Party, ...], healed_tick: int
    ) -> None:
        self._world = world
        self._plot = plot
        self._parties = parties
        self._healed_tick = healed_tick
        self._draws = plot.draws(parties[0], "rounds")
        self._standing: Round | None = None
        self._number = 0
        plot.side = self._side

    def _side(self, name: str) -> int:
        return 1 if self._standing is not None and name in self._standing.second else 0

    def start(self) -> None:
        """Begin the first round with the first tick."""
        self._world.at(self._world.now + 1, self._next)

    def _next(self) -> None:
        world = self._world
        if self._standing is not None:
            self._change(self._standing, world.network.join)
            self._standing = None
        self._number += 1
        others = [node.name for node in world.nodes.values() if node.party not in self._parties]
        walls = world.now + ROUND_TICKS <= self._healed_tick
        drawn = draw_round(self._draws, self._number, self._parties, others, walls=walls)
        if self._plot.act(", ".join(self._parties), str(drawn)):
            self._change(drawn, world.network.cut)
            self._standing = drawn
        world.at(world.now + ROUND_TICKS, self._next)

    def _change(self, what: Round, change: Callable[[Iterable[str], Iterable[str]], None]) -> None:
        for one, other in what.cuts():
            change(one, other)
            change(other, one)
