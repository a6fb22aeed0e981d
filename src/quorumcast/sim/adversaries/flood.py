"""Flood: as many streams, ids, statements and questions as fit, for as long as the run lasts.

As a replica: statements about streams that nobody opened, heads of thousands of them, questions
without end. As a publisher: a new session with every turn, publications far ahead and twice, and
whatever credit allows. Each turn's flood has a bound, so that the run ends.
"""

from __future__ import annotations

from quorumcast.core.ids import Incarnation, Lane, Opening, Party, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskVotes,
    ConfirmedUpTo,
    Credit,
    Follow,
    Head,
    Heads,
    Held,
    Hello,
    Message,
    Open,
    Publish,
    ReadyUpTo,
    Subscribe,
)
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

PER_TURN = 40
"""Messages that one turn adds."""

IN_ALL = 3_000
"""Messages that one flooder adds in a run."""

PAUSE_SECONDS = 0.02


class Flood(Liar):
    """Adds made-up messages to every turn, and makes turns of its own."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._left = IN_ALL
        self._next = 0.0
        self._count = 0
        self._shown: dict[Party, Incarnation] = {}

    def step(self, sender: Party, message: Message) -> None:
        """Learn the incarnations: a session that names others is refused at once."""
        if isinstance(message, Hello):
            self._shown[sender] = message.incarnation
        super().step(sender, message)

    def twist(self, ready: Ready) -> Ready:
        """Let the correct machine speak, and drown it."""
        if self.now < self._next or self._left <= 0 or not self.live:
            return self.sooner(ready, self._next) if self._left > 0 and self.live else ready
        self._next = self.now + PAUSE_SECONDS
        receivers = sorted(self.live)
        receiver = receivers[self.draws.randrange(len(receivers))]
        if self.act(f"floods {receiver}"):
            for _ in range(PER_TURN):
                self._left -= 1
                for message in self._made_up(receiver):
                    self.also(receiver, message)
        return self.sooner(ready, self._next)

    def _made_up(self, receiver: Party) -> list[Message]:
        self._count += 1
        if not self.is_replica(self.me):
            return self._as_client()
        stream = self._stream(f"p{self._count % 3}")
        digests = self.draws.randbytes(32 * 20)
        chain = digests[:32]
        kind = self._count % 9
        heads = tuple(Head(self._stream("p1"), 0, 9, 9) for _ in range(8))
        made_up: list[Message] = [
            Held(stream, 1, digests),
            ReadyUpTo(stream, 7, chain),
            ConfirmedUpTo(stream, 7, chain),
            Heads(stream.channel, 10**9 + self._count, heads, True),
            AskHeads(stream.channel, 0),
            AskVotes(self._known(stream), 1),
            AskBodies(self._known(stream), 1, digests),
            AskDigests(self._known(stream), 1, 50_000),
            AskOpening(self._known(stream)),
        ]
        return [made_up[kind]]

    def _as_client(self) -> list[Message]:
        kind = self._count % 6
        lane = Lane(self._count % 2)
        if kind < 3:
            opening = Opening(self.me, self.draws.getrandbits(64), self._incarnations())
            session = self.plot.session(opening)
            stream = Stream("alerts", self.me, session, lane)
            certificate = self.plot.certificates.get(self.me, b"")
            body = b"flood %d" % self._count
            return [
                Open(stream, opening, certificate),
                Publish(stream, 1, (body,) * 8),
                Publish(stream, 100 * self._count, (body,)),
            ]
        stream = self._stream(self.me)
        made_up: list[Message] = [
            Subscribe("alerts", self._count, ("*",) * 64, 0, 10**6),
            AskConfirmed(stream, self._count),
            Credit(stream, 10**9),
            Follow(stream, self._count, 1, 10**9),
        ]
        return [made_up[self._count % 4]]

    def _incarnations(self) -> tuple[Incarnation, ...]:
        nobody = Incarnation(0, 0)
        return tuple(self._shown.get(replica, nobody) for replica in self.plot.cluster.replicas)

    def _stream(self, publisher: Party) -> Stream:
        channel = "alerts" if self._count % 2 else "metrics"
        return Stream(channel, publisher, self.draws.randbytes(32), Lane(self._count % 2))

    def _known(self, otherwise: Stream) -> Stream:
        streams = list(self.ledger.streams)
        return streams[self._count % len(streams)] if streams else otherwise
