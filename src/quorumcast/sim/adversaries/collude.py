"""Collude: replicas that help a two-faced publisher, each side with the content that it got.

To half of the world they vote for content A, to the other half for B, wherever their publisher made
two; to everybody else's streams they are correct.
"""

from __future__ import annotations

from quorumcast.core.ids import Party, Stream
from quorumcast.core.machine import Machine
from quorumcast.core.messages import AskBodies, Bodies, Message
from quorumcast.sim.adversaries.forge import Forge
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Ledger, Plot


class OneSide(Forge):
    """The history of a stream as one half of the world was told it."""

    def __init__(self, plot: Plot, ledger: Ledger, side: int) -> None:
        super().__init__(plot, ledger)
        self._side = side

    def body(self, stream: Stream, position: int) -> bytes | None:
        """This side's content, where the publisher made two."""
        variants = self._plot.variants.get((stream, position), ())
        return variants[self._side] if len(variants) > 1 else None


class Collude(Liar):
    """Tells each half of the world the side of the story that suits it."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._sides = [OneSide(plot, self.ledger, side) for side in (0, 1)]

    def step(self, sender: Party, message: Message) -> None:
        """Serve both contents of an id."""
        if isinstance(message, AskBodies):
            side = self._sides[self.half(sender)]
            count = len(message.digests) // 32
            bodies = [side.body(message.stream, message.first + index) for index in range(count)]
            forged = tuple(body for body in bodies if body is not None)
            if forged and len(forged) == count and self.act(f"serves both sides to {sender}"):
                self.also(sender, Bodies(message.stream, message.first, forged))
                return
        super().step(sender, message)

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """The side of the story that the receiver's half was told."""
        side = self._sides[self.half(receiver)].rewrite(message)
        if side == message or not self.act(f"takes a side with {receiver}"):
            return [message]
        return [side]
