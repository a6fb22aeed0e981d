"""Small mutations: one field, or the delivery time, of a correct message changed, now and then.

After ByzzFuzz: a replica that is correct but for a few small changes in a few turns finds faults
that loud liars do not.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from quorumcast.core.ids import Incarnation, Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import DIGEST_BYTES, Message
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

CHANCE = 0.12


class Mutate(Liar):
    """Changes one field of a message, says it twice, or keeps it for a later turn."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._later: deque[tuple[float, Party, Message]] = deque()

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """Perhaps a slightly different message."""
        if self.draws.random() >= CHANCE:
            return [message]
        way, pause = self.draws.randrange(10), self.draws.uniform(0.01, 3.0)
        fields = message.__struct_fields__
        name = fields[self.draws.randrange(len(fields))]
        changed = self._changed(name, getattr(message, name))
        if way == 0 and len(self._later) < 1000:
            if self.act(f"delays {type(message).__name__} to {receiver}"):
                self._later.append((self.now + pause, receiver, message))
                return []
        elif changed is not None and self.act(f"changes {name} of {type(message).__name__}"):
            return [msgspec.structs.replace(message, **{name: changed})]
        return [message]

    def twist(self, ready: Ready) -> Ready:
        """Mutate, and say what was kept for later."""
        ready = super().twist(ready)
        for _ in range(len(self._later)):
            due, receiver, message = self._later.popleft()
            if due <= self.now:
                self.also(receiver, message)
            else:
                self._later.append((due, receiver, message))
        if self._later:
            return self.sooner(ready, min(due for due, _, _ in self._later))
        return ready

    def _changed(self, name: str, value: Any) -> Any:
        """A value of the same kind that is a little different; None where there is none."""
        step = self.draws.choice((-2, -1, 1, 2, 30))
        byte = self.draws.randrange(256)
        if isinstance(value, bool):
            return not value
        if type(value) is int:
            return max(0, value + step)
        if isinstance(value, Stream):
            known = list(self.ledger.streams) or [value]
            return known[byte % len(known)]
        if isinstance(value, Incarnation):
            return Incarnation(max(0, value.counter + step), value.nonce)
        if name in ("digests", "signatures") and isinstance(value, bytes) and value:
            size = DIGEST_BYTES if name == "digests" else 2 * DIGEST_BYTES
            return _other_run(value, size, byte)
        if name == "chain" and isinstance(value, bytes):
            return bytes((value[0] ^ (byte or 1), *value[1:]))
        if name == "bodies" and value:
            return (*value[:-1], value[-1] + b"!")
        return None


def _other_run(run: bytes, size: int, byte: int) -> bytes:
    """A run of items with the last one dropped, doubled, or changed."""
    if byte % 3 == 0 and len(run) > size:
        return run[:-size]
    if byte % 3 == 1:
        return run + run[-size:]
    return run[:-1] + bytes((run[-1] ^ (byte or 1),))
