"""Equivocate: one history for half of the world, another for the rest, each consistent in itself.

Votes, READY, CONFIRMED, digests and bodies to one half are about what was published, those to the
other half about forged contents with fitting digests and chains. Members of one plot tell the same
two stories to the same halves.
"""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine
from quorumcast.core.messages import AskBodies, Bodies, Message
from quorumcast.sim.adversaries.forge import Forge
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot


class Equivocate(Liar):
    """Rewrites everything for one half of its receivers."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._forge = Forge(plot, self.ledger)

    def step(self, sender: Party, message: Message) -> None:
        """Answer questions about forged bodies: the correct machine knows none."""
        if isinstance(message, AskBodies) and self.half(sender):
            count = min(len(message.digests) // 32, 64)
            forged = tuple(
                self.plot.fake(message.stream, message.first + index) for index in range(count)
            )
            if forged and self.act(f"serves forged bodies to {sender}"):
                self.also(sender, Bodies(message.stream, message.first, forged))
                return
        super().step(sender, message)

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """The other history for the other half."""
        if not self.half(receiver):
            return [message]
        other = self._forge.rewrite(message)
        if other == message or not self.act(f"tells {receiver} another story"):
            return [message]
        return [other]
