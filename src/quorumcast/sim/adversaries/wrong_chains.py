"""Wrong chains and positions: statements that claim too much, too little, or a chain nobody has."""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.core.ids import Party
from quorumcast.core.messages import (
    DIGEST_BYTES,
    ConfirmedUpTo,
    FloorAt,
    Head,
    Heads,
    HeldUpTo,
    Message,
    ReadyUpTo,
)
from quorumcast.sim.adversaries.liar import Liar

FAR = 1_000_000


class WrongChains(Liar):
    """Changes the position or the chain digest of statements, and announces heads that are not."""

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """A claim that does not hold, or the message itself."""
        kind, step = self.draws.randrange(6), self.draws.randrange(1, 40)
        noise = self.draws.randbytes(DIGEST_BYTES)
        if isinstance(message, Heads):
            wrong = self._heads(message, step)
        elif isinstance(message, HeldUpTo | ReadyUpTo | ConfirmedUpTo):
            wrong = self._claim(message, kind, step, noise)
        else:
            return [message]
        if wrong == message or not self.act(f"claims what is not so to {receiver}"):
            return [message]
        return [wrong]

    def _claim(self, message: Any, kind: int, step: int, noise: bytes) -> Message:
        replace = msgspec.structs.replace
        position: int = message.position
        if kind == 0:
            return replace(message, position=position + step)
        if kind == 1:
            return replace(message, position=max(1, position - step))
        if kind == 2:
            return replace(message, chain=noise)
        if kind == 3:
            return replace(message, position=FAR, chain=noise)
        if kind == 4 and not isinstance(message, HeldUpTo):
            return FloorAt(message.stream, position + step, noise, confirmed=step % 2 == 0)
        return message

    def _heads(self, message: Heads, step: int) -> Message:
        heads = tuple(
            Head(head.stream, head.floor, head.last + step, head.confirmed + step * (step % 2))
            for head in message.heads
        )
        return msgspec.structs.replace(message, heads=heads)
