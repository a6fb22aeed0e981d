"""Partial: correct to some, silent to others; the choice changes now and then."""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

PHASE_SECONDS = 2.0


class Partial(Liar):
    """Draws, for each phase and receiver, whether it is spoken to."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._shunned: dict[tuple[int, Party], bool] = {}

    def _shuns(self, receiver: Party) -> bool:
        key = (int(self.now / PHASE_SECONDS), receiver)
        if key not in self._shunned:
            self._shunned[key] = self.plot.draws(self.me, str(key[0]), receiver).random() < 0.5
        return self._shunned[key]

    def twist(self, ready: Ready) -> Ready:
        """Forget the messages to those who are shunned now."""
        ready.messages = {
            receiver: messages
            for receiver, messages in ready.messages.items()
            if not (self._shuns(receiver) and self.act(f"says nothing to {receiver}"))
        }
        return ready
