"""Greedy learner: a subscriber that asks for everything, from the beginning, for ever."""

from __future__ import annotations

from quorumcast.core.ids import Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    Follow,
    Heads,
    Held,
    Message,
)
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

PER_TURN = 30
IN_ALL = 6_000
PAUSE_SECONDS = 0.01


class Greedy(Liar):
    """Remembers what exists, and asks every replica for all of it again and again."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._streams: dict[Stream, bytes] = {}
        self._left = IN_ALL
        self._next = 0.0

    def step(self, sender: Party, message: Message) -> None:
        """Learn which streams there are."""
        if isinstance(message, Heads):
            for head in message.heads:
                self._streams.setdefault(head.stream, b"")
        elif isinstance(message, Held):
            self._streams[message.stream] = message.digests[: 32 * 64]
        super().step(sender, message)

    def twist(self, ready: Ready) -> Ready:
        """Ask for everything once more."""
        if self._left <= 0 or not self.live or not self._streams:
            return ready
        if self.now >= self._next:
            self._next = self.now + PAUSE_SECONDS
            streams = list(self._streams)
            for receiver in sorted(self.live):
                if self.act(f"asks {receiver} for everything"):
                    for _ in range(PER_TURN):
                        self._left -= 1
                        stream = streams[self.draws.randrange(len(streams))]
                        self.also(receiver, self._question(stream))
        return self.sooner(ready, self._next)

    def _question(self, stream: Stream) -> Message:
        digests = self._streams[stream] or bytes(32)
        questions: tuple[Message, ...] = (
            AskVotes(stream, 1),
            AskBodies(stream, 1, digests),
            AskDigests(stream, 1, 60_000),
            AskConfirmed(stream, 1 + self.draws.randrange(50)),
            AskOpening(stream),
            AskHeads(stream.channel, 0),
            Follow(stream, 1, 1, 10**9),
        )
        return questions[self.draws.randrange(len(questions))]
