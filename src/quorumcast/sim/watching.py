"""Who looks at a world from outside, and what it tells of a machine that failed."""

from __future__ import annotations

from typing import Protocol

from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Message
from quorumcast.sim.network import TICKS_PER_SECOND
from quorumcast.sim.node import Node

OUR_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a machine raises when it is wrong; no peer may be able to make it do so."""


class MachineError(QuorumcastError):
    """A machine raised an exception: a bug of ours, whatever its peers sent.

    >>> raise MachineError("r1", 5, ValueError("x"))
    Traceback (most recent call last):
    ...
    quorumcast.sim.watching.MachineError: r1 failed at 0.005 s: ValueError: x
    """

    def __init__(self, party: Party, tick: int, error: Exception) -> None:
        super().__init__(
            f"{party} failed at {tick / TICKS_PER_SECOND:.3f} s: {type(error).__name__}: {error}"
        )
        self.party = party
        self.tick = tick
        self.error = error

    def __reduce__(self) -> tuple[type[MachineError], tuple[Party, int, Exception]]:
        """How it travels between processes: an exception alone would pass on its text."""
        return MachineError, (self.party, self.tick, self.error)


class Watcher(Protocol):
    """Who may look at every message and record, for a transcript."""

    def sent(
        self, tick: int, sender: str, receiver: str, messages: list[Message], arrival: int | None
    ) -> None:
        """Messages left, to arrive at a tick or never."""
        ...

    def turned(self, tick: int, node: Node, ready: Ready) -> None:
        """A turn stored and told something."""
        ...

    def noted(self, tick: int, text: str) -> None:
        """Something happened to the world."""
        ...
