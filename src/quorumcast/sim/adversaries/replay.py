"""Replay: says again, as its own, what was said before, elsewhere, by others.

Old statements come back late; statements of one stream are made about another stream, channel,
session or lane; what a peer stated is repeated as one's own.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from quorumcast.core.ids import Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Digests,
    Held,
    HeldUpTo,
    Message,
    ReadyUpTo,
    Status,
)
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

KEPT = 512
"""Messages remembered; the newest push out the oldest."""

REPLAYED = (Held, HeldUpTo, ReadyUpTo, ConfirmedUpTo, Digests, Bodies, Status)


class Replay(Liar):
    """Adds old messages, as they were or about another stream, to what its machine says."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._kept: deque[Message] = deque(maxlen=KEPT)

    def step(self, sender: Party, message: Message) -> None:
        """Remember what others say."""
        if isinstance(message, REPLAYED):
            self._kept.append(message)
        super().step(sender, message)

    def twist(self, ready: Ready) -> Ready:
        """Repeat something old to everybody who is spoken to in this turn."""
        for messages in ready.messages.values():
            self._kept.extend(m for m in messages[:4] if isinstance(m, REPLAYED))
        streams = list(self.ledger.streams)
        for receiver in list(ready.messages):
            if not self._kept or self.draws.random() > 0.7:
                continue
            old = self._kept[self.draws.randrange(len(self._kept))]
            moved = self._move(old, streams)
            if self.act(f"replays {type(old).__name__} to {receiver}"):
                ready.messages[receiver] = [*ready.messages[receiver], moved]
        return ready

    def _move(self, message: Any, streams: list[Stream]) -> Message:
        kind = self.draws.randrange(5)
        stream: Stream = message.stream
        pick = streams[self.draws.randrange(len(streams))] if streams else stream
        if kind == 0:
            return message
        if kind == 1:
            other = pick
        elif kind == 2:
            other = stream._replace(channel="metrics" if stream.channel == "alerts" else "alerts")
        elif kind == 3:
            other = stream._replace(session=pick.session)
        else:
            other = stream._replace(lane=type(stream.lane)(1 - stream.lane))
        return msgspec.structs.replace(message, stream=other)
