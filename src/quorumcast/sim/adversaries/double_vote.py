"""Double vote: votes for what was published, and for something else too, to the same receivers."""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine
from quorumcast.core.messages import ConfirmedUpTo, Held, HeldUpTo, Message, ReadyUpTo
from quorumcast.sim.adversaries.forge import Forge
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot


class DoubleVote(Liar):
    """Says every statement twice, once about other contents, in either order."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._forge = Forge(plot, self.ledger, every=self.draws.choice((1, 2, 3)))

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """The statement and its contradiction."""
        if not isinstance(message, Held | HeldUpTo | ReadyUpTo | ConfirmedUpTo):
            return [message]
        other = self._forge.rewrite(message)
        first = self.draws.random() < 0.5
        if other == message or not self.act(f"votes twice to {receiver}"):
            return [message]
        return [other, message] if first else [message, other]
