"""State-aware: looks into the correct machines and tells each the lie that it is most open to.

After LOKI and Tyr: the adversary holds references to its victims' state. To whoever lacks one vote
for some content it gives that vote, whatever it told others; to whoever lacks one READY it gives
the READY; where a victim has no vote yet, it offers contents that nobody published. Its own correct
statements are kept back, for the first word of a sender counts.
"""

from __future__ import annotations

from quorumcast.broadcast.tally import Tally
from quorumcast.core.ids import Party, Position, Stream
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import AskBodies, Bodies, ConfirmedUpTo, Held, Message, ReadyUpTo
from quorumcast.sim.adversaries.forge import Forge
from quorumcast.sim.adversaries.liar import Liar
from quorumcast.sim.adversaries.plot import Plot

KEPT_BACK = (Held, ReadyUpTo, ConfirmedUpTo)
PAUSE_SECONDS = 0.01
STREAMS = 8
"""Streams that are attacked in a turn: the latest."""


class StateAware(Liar):
    """Chooses its statements to each victim from what that victim has."""

    def __init__(self, inner: Machine, plot: Plot) -> None:
        super().__init__(inner, plot)
        self._forge = Forge(plot, self.ledger)
        self._told: dict[tuple[Party, Stream], int] = {}
        self._chains: dict[tuple[Party, Stream], Position] = {}
        self._next = 0.0
        quorum = plot.channels[0].quorum(plot.cluster)
        self._needs = (quorum.votes, quorum.one_correct, quorum.certain)
        self._ready_needs = (quorum.ready, quorum.one_correct)

    def step(self, sender: Party, message: Message) -> None:
        """Serve forged bodies to those who fell for them."""
        if isinstance(message, AskBodies):
            count = min(len(message.digests) // 32, 64)
            positions = range(message.first, message.first + count)
            forged = tuple(self.plot.fake(message.stream, position) for position in positions)
            if self._forge.run(message.stream, message.first, count) == message.digests:
                self.also(sender, Bodies(message.stream, message.first, forged))
                return
        super().step(sender, message)

    def say(self, receiver: Party, message: Message) -> list[Message]:
        """Keep back true statements: what is said instead depends on the victim."""
        return [] if isinstance(message, KEPT_BACK) else [message]

    def twist(self, ready: Ready) -> Ready:
        """Look at every victim, and say what hurts it most."""
        ready = super().twist(ready)
        if self.now >= self._next:
            self._next = self.now + PAUSE_SECONDS
            streams = list(self.ledger.streams)[-STREAMS:]
            for party, machine in self.plot.victims().items():
                if party in self.live:
                    for stream in streams:
                        tally = tally_of(machine, stream)
                        if tally is not None:
                            self._vote(party, stream, tally)
                            self._state(party, stream, tally)
        return ready

    def _vote(self, party: Party, stream: Stream, tally: Tally) -> None:
        """Give the vote that is missing for something, or one for what nobody published."""
        base = tally.path.base.seq
        position = max(self._told.get((party, stream), 0), base) + 1
        if position > base + tally.window or position > tally.path.end + 2:
            return
        counts = self._counts(tally, position)
        short = [
            digest
            for need in self._needs
            for digest, count in sorted(counts.items())
            if count == need - 1
        ]
        mine = tally.path.digest(position)
        contrary = [digest for digest in short if digest != mine]
        digest = contrary[0] if contrary else self._forge.digest(stream, position)
        if self.act(f"votes to {party} for what it lacks at {position}"):
            self.also(party, Held(stream, position, digest))
        self._told[party, stream] = position

    def _counts(self, tally: Tally, position: int) -> dict[bytes, int]:
        counts: dict[bytes, int] = {}
        votes = [run.digest(position) for run in tally.runs.values()]
        votes.append(tally.path.digest(position))
        for digest in votes:
            if digest is not None:
                counts[digest] = counts.get(digest, 0) + 1
        return counts

    def _state(self, party: Party, stream: Stream, tally: Tally) -> None:
        """READY and CONFIRMED where one more decides, for one chain here and another there."""
        for need in self._ready_needs:
            end = tally.ready.by(need - 1)
            chain = tally.path.chain(end)
            if end <= tally.path.base.seq or chain is None:
                continue
            other = self._forge.chain(stream, end)
            statement = Position(end, chain if self.half(party) else other)
            if self._chains.get((party, stream)) == statement:
                continue
            if self.act(f"is READY to {party} for what it nearly has"):
                self.also(party, ReadyUpTo(stream, *statement))
                self.also(party, ConfirmedUpTo(stream, end, other))
            self._chains[party, stream] = statement


def tally_of(machine: Machine, stream: Stream) -> Tally | None:
    """What a replica or a subscriber has counted in a stream."""
    desks = getattr(machine, "desks", {})
    if stream.channel in desks:
        active = desks[stream.channel].shelf.active(stream)
        return None if active is None else active.tally
    subscriptions = getattr(machine, "_subscriptions", {})
    if stream.channel in subscriptions:
        follower = subscriptions[stream.channel].followers.get(stream)
        return None if follower is None else follower.tally
    return None
