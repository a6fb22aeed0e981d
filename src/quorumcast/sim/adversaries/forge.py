"""Helpers for lies that hold together: other contents with the digests and chains that fit them."""

from __future__ import annotations

import msgspec

from quorumcast.auth.digests import chains_after
from quorumcast.core.ids import Stream
from quorumcast.core.messages import (
    DIGEST_BYTES,
    Bodies,
    ConfirmedUpTo,
    Digests,
    Held,
    HeldUpTo,
    Message,
    ReadyUpTo,
)
from quorumcast.sim.adversaries.plot import Ledger, Plot

POSITIONS = 20_000
"""How far into a stream lies are kept consistent."""


class Forge:
    """A second history of every stream, the same for all members of the plot.

    From `since` on each position holds the plot's fake content instead of what was published.
    """

    def __init__(self, plot: Plot, ledger: Ledger, every: int = 1) -> None:
        self._plot = plot
        self._ledger = ledger
        self._every = every

    def lies_at(self, position: int) -> bool:
        """Whether the second history differs at a position."""
        return position % self._every == 0

    def body(self, stream: Stream, position: int) -> bytes | None:
        """The content of the second history, or None where it does not differ."""
        return self._plot.fake(stream, position) if self.lies_at(position) else None

    def digest(self, stream: Stream, position: int) -> bytes:
        """The digest at a position of the second history; zeros where nothing is known."""
        body = self.body(stream, position)
        if body is not None:
            return self._ledger.digester(stream).digest(position, body)
        known = self._ledger.digests(stream)
        return known[position - 1] if position <= len(known) else bytes(DIGEST_BYTES)

    def run(self, stream: Stream, first: int, count: int) -> bytes:
        """Digests of consecutive positions of the second history."""
        return b"".join([self.digest(stream, first + index) for index in range(count)])

    def chain(self, stream: Stream, position: int) -> bytes:
        """c(position) of the second history."""
        if position < 1 or position > POSITIONS:
            return bytes(DIGEST_BYTES)
        origin = self._ledger.digester(stream).origin
        return chains_after(origin, self.run(stream, 1, position))[-1]

    def rewrite(self, message: Message) -> Message:
        """A statement about the first history, made about the second."""
        replace = msgspec.structs.replace
        if isinstance(message, Held | Digests):
            count = len(message.digests) // DIGEST_BYTES
            return replace(message, digests=self.run(message.stream, message.first, count))
        if isinstance(message, ReadyUpTo | ConfirmedUpTo | HeldUpTo):
            return replace(message, chain=self.chain(message.stream, message.position))
        if isinstance(message, Bodies):
            bodies = [
                self.body(message.stream, message.first + index) or body
                for index, body in enumerate(message.bodies)
            ]
            return replace(message, bodies=tuple(bodies))
        return message
