"""Silent: takes everything in and never says a word."""

from __future__ import annotations

from quorumcast.core.machine import Ready
from quorumcast.sim.adversaries.liar import Liar


class Silent(Liar):
    """Drops all that its correct machine would say."""

    def twist(self, ready: Ready) -> Ready:
        """Forget the turn's messages."""
        ready.messages = {
            receiver: messages
            for receiver, messages in ready.messages.items()
            if not self.act(f"says nothing to {receiver}")
        }
        return ready
