"""A node: one process with its machine, clock and disk, and its ends of links."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from quorumcast.core.ids import Incarnation, Party
from quorumcast.core.machine import Machine
from quorumcast.sim.clocks import Clock
from quorumcast.sim.disk import Disk
from quorumcast.wire.link import Opener, Sealer

WINDOW = 1024
"""Frames by which one may overtake another and still be taken."""


class Pipe:
    """One direction of one link: seals at one end, opens at the other."""

    __slots__ = ("draws", "opener", "party", "receiver", "sealer", "sender")

    def __init__(self, sender: Node, receiver: Node, key: bytes, draws: Random) -> None:
        self.sender = sender
        self.receiver = receiver
        self.party = sender.party
        self.sealer = Sealer(key)
        self.opener = Opener(key, window=WINDOW)
        self.draws = draws


class Node:
    """A party's process: its machine while it runs, its clock, its disk if it is a replica."""

    def __init__(
        self,
        name: str,
        party: Party,
        clock: Clock,
        boot: Callable[[Node], Machine],
        disk: Disk | None,
    ) -> None:
        self.name = name
        self.party = party
        self.clock = clock
        self.boot = boot
        self.disk = disk
        self.machine: Machine | None = None
        self.correct = True
        """Whether the checkers hold this node to its promises."""
        self.boots = 0
        self.out: dict[Party, tuple[Pipe, ...]] = {}
        self.into: dict[str, Pipe] = {}
        self.ring: float | None = None
        """When the machine's timer rings, on its own clock."""
        self.wake: int | None = None
        """The earliest tick at which this node is woken for it."""
        self.doom: str | None = None
        """Crash at the next write: `before` it, or `after` it and before anything leaves."""
        self.incarnation = Incarnation(0, 0)

    @property
    def life(self) -> str:
        """The name of this run of the process."""
        return self.name if self.boots <= 1 else f"{self.name}#{self.boots}"

    @property
    def up(self) -> bool:
        """Whether the process runs."""
        return self.machine is not None
