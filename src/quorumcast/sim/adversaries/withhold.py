"""Withhold: acknowledges to publishers, and keeps what they published to itself.

Freeman's malicious broker with its argument above 100: nothing reaches subscribers or peers, while
the publisher counts it among those who hold the publication.
"""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.messages import Bodies, ConfirmedUpTo, Digests, Heads, Held, Message, ReadyUpTo
from quorumcast.sim.adversaries.liar import Liar

KEPT_BACK = (Held, Bodies, Digests, Heads, ReadyUpTo, ConfirmedUpTo)


class Withhold(Liar):
    """Drops statements, bodies and heads to everybody but the stream's publisher."""

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """Keep back what others should learn."""
        if not isinstance(message, KEPT_BACK):
            return [message]
        if not isinstance(message, Heads) and receiver == message.stream.publisher:
            return [message]
        kept = self.act(f"withholds {type(message).__name__} from {receiver}")
        return [] if kept else [message]
