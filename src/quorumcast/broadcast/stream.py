"""One stream at one replica: votes, READY, CONFIRMED. The engine of `ab`, `bracha` and `plain`.

Upon publications from the publisher, or bodies that f+1 HELD make adoptable:
  vote for them in order, once per id; store body and vote; then state HELD.
Upon HELD with one digest from Q replicas at every position up to p, or READY from f+1 that cover p:
  state READY up to p, whatever this replica voted.
Upon READY from 2f+1 that cover p, or HELD from Q+f at every position, or CONFIRMED from f+1:
  p is confirmed; once the bodies are here, they stand in their slots, and CONFIRMED is stated.

On a crash channel one word is enough, f+1 holders confirm, and nobody states READY.

Deviations from Bracha (1987) and from the history broadcasts of Freeman's AB with BRB:
- statements are cumulative over a stream, not one instance per message; a chain digest names
  the content, so one READY speaks for all positions below it;
- HELD plays ECHO: it is also the vote that subscribers count, and the acknowledgement;
- READY carries no content and does not depend on the own vote; bodies are fetched from holders;
- HELD from Q+f confirms at once: Q of them are correct, so nothing else can ever gather Q.
"""

from __future__ import annotations

from collections import deque

from quorumcast.auth.digests import Digester
from quorumcast.broadcast.context import Context
from quorumcast.broadcast.notes import Fresh, Said
from quorumcast.broadcast.path import Path, consecutive
from quorumcast.broadcast.pledges import Pledges
from quorumcast.broadcast.repair import Repair
from quorumcast.broadcast.restoring import restore
from quorumcast.broadcast.tally import Tally
from quorumcast.broadcast.telling import Teller
from quorumcast.core.evidence import Weight
from quorumcast.core.ids import Opening, Party, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Installed,
    MadeReady,
    Opened,
    StreamState,
    Tainted,
)


class ReplicaStream:
    """The state of one stream at one replica, and the rules that change it.

    Invariants: `path` holds this replica's votes above its base, which is the confirmed position
    (on channels without the 2α limit it may be above it); the bodies of all positions on it are
    stored. `ready` is what this replica stated; its digests are on `truth`, or on `path` where
    `truth` is None.
    """

    def __init__(self, context: Context, stream: Stream) -> None:
        self.context = context
        self.stream = stream
        self.digester = Digester(context.cluster.id, stream)
        zero = Position(0, self.digester.origin)
        self.opening: Opening | None = None
        self.certificate = b""
        self.sign_key = b""
        self.recorded = False
        """Whether the store knows the stream."""
        self.abstains = True
        """The session names no valid incarnation: no new vote, all else goes on."""
        self.tainted = False
        self.closed = False
        self.floor = zero
        self.floor_confirmed = True
        self.confirmed = zero
        self.ready = zero
        self.truth: Path | None = None
        self.path = Path(zero)
        self.pledges = Pledges()
        self.signatures = bytearray()
        """The publisher's signatures of the votes on the path, on signed channels."""
        self.sizes: deque[int] = deque()
        """Sizes of the bodies above the confirmed position, as far as they count in flight."""
        self.in_flight = 0
        self.tally = Tally(self.path, context.channel.window)
        self.fresh: Fresh | None = None
        self.teller = Teller(self)
        self.repair = Repair(self)
        self.accusations: dict[tuple[Weight, frozenset[Party]], int] = {}
        """How much evidence was reported, by weight and whom it names."""
        self.active_at = 0.0  # when this replica last voted or confirmed here
        self.released = 0  # bytes of bodies that were confirmed and that retention has to count
        self.shown: tuple[int, int] = (0, 0)  # READY and CONFIRMED as subscribers were last told
        self.said = Said(0)

    # -- life ----------------------------------------------------------------------------------

    @property
    def head(self) -> int:
        """The end of the gap-free prefix of votes with bodies present."""
        return self.path.end

    @property
    def limit(self) -> int:
        """The highest position that may be voted for now: 2α beyond the confirmed one."""
        reach = self.context.channel.window
        return (self.confirmed.seq if self.context.limited else self.head) + reach

    @property
    def votes_here(self) -> bool:
        """Whether this replica may cast new votes in this stream."""
        return not (self.abstains or self.closed or self.opening is None)

    def open(self, opening: Opening, certificate: bytes, sign_key: bytes) -> None:
        """The stream's opening is known and checked."""
        self.opening, self.certificate, self.sign_key = opening, certificate, sign_key
        # Where nobody lies, a lost vote cannot become a second one for other content.
        self.abstains = self.context.channel.byzantine and not self.context.replicas.may_vote(
            opening
        )

    def restore(self, state: StreamState, sign_key: bytes) -> None:
        """Take over what the store has: votes, READY and CONFIRMED count, as before."""
        restore(self, state, sign_key)
        self._bound()
        self._grown()
        self.teller.restored()
        self.touch()

    def touch(self) -> None:
        """Settle this stream at the end of the turn."""
        self.context.touched[self] = None

    def _recording(self) -> None:
        if not self.recorded:
            assert self.opening is not None, "a stream is stored with its opening"
            self.recorded = True
            self.context.out.record(Opened(self.stream, self.opening, self.certificate))

    # -- votes ---------------------------------------------------------------------------------

    def vote(self, digests: bytes, bodies: list[bytes], signatures: bytes) -> None:
        """Cast the next votes: one per id, in order, stored before they are stated.

        What contradicts a vote whose body is gone is not taken, nor what comes after it.
        """
        assert self.votes_here, "no vote without a right to it"
        first = self.head + 1
        assert first > self.floor.seq, "no vote at or below a floor"
        count = self.pledges.agree(first, digests)
        digests, bodies, signatures = digests[: count * D], bodies[:count], signatures[: count * S]
        if not bodies:
            return
        self.pledges.settle(first + len(bodies) - 1)
        self._recording()
        self.path.extend(digests)
        self.signatures += signatures
        self.context.out.record(
            Accepted(self.stream, first, digests, tuple(bodies), bytes(signatures))
        )
        sizes = list(map(len, bodies))
        self.sizes.extend(sizes)
        self.in_flight += sum(sizes)
        self.teller.voted(sum(sizes))
        if self.fresh is None:
            self.fresh = Fresh(first)
        self.fresh.digests += digests
        self.fresh.bodies += bodies
        self.fresh.signatures += signatures
        self.active_at = self.context.now
        self.touch()

    def taint(self) -> None:
        """f+1 votes contradict mine: its publisher lies, and is not listened to any more."""
        if not self.tainted and self.recorded:
            self.tainted = True
            self.context.out.record(Tainted(self.stream))

    # -- statements of peers -------------------------------------------------------------------

    def held(self, sender: Party, first: int, digests: bytes) -> int | None:
        """HELD from a peer; returns the position at which it contradicts itself, if any."""
        clash = self.tally.held(sender, first, digests)
        if first + len(digests) // D - 1 <= self.confirmed.seq:
            self.teller.answer(sender)
        self.touch()
        return clash

    def ready_at(self, sender: Party, statement: Position) -> Position | None:
        """READY from a peer; returns an earlier one that names the position differently."""
        if statement.seq <= self.confirmed.seq:
            self.teller.answer(sender)
        self.touch()
        clash = self.tally.ready_at(sender, statement)
        self.repair.stated(sender)
        return clash

    def confirmed_at(self, sender: Party, statement: Position) -> Position | None:
        """CONFIRMED from a peer; returns an earlier one that names the position differently."""
        self.teller.claimed_by(sender, statement.seq)
        if statement.seq < self.confirmed.seq:
            self.teller.answer(sender)
        self.repair.floors.word(sender, statement)
        self.touch()
        clash = self.tally.confirmed_at(sender, statement)
        self.repair.stated(sender)
        return clash

    def forget(self, peer: Party) -> None:
        """A peer's new incarnation cancels what it stated; all is stated to it again."""
        self.tally.forget(peer)
        self.teller.forget(peer)
        self.repair.forget(peer)
        self.touch()

    # -- the end of a turn ---------------------------------------------------------------------

    def settle(self) -> Fresh | None:
        """Draw the conclusions of a turn; returns what subscribers are to be sent."""
        fresh, self.fresh = self.fresh, None
        if fresh is not None:
            self._grown()
        if self.context.repairs:
            self._conclude()
            self.teller.tell()
            self.repair.consider()
        else:
            self._bound()
        return fresh

    def _grown(self) -> None:
        self.tally.match[self.context.me] = self.path.end
        self.tally.grown()
        if self.truth is not None and self.path.chain(self.truth.end) == self.truth.tip.chain:
            self.truth = None

    def _conclude(self) -> None:
        """The rules, counted on the path of own votes."""
        tally, quorum = self.tally, self.context.quorum
        if quorum.model == "byzantine" and self.truth is None:
            upto = max(tally.held_by(quorum.votes), tally.ready.by(quorum.one_correct))
            if upto > self.ready.seq:
                self.make_ready(self.path, upto)
        confirmed = max(
            tally.ready.by(quorum.ready),
            tally.held_by(quorum.certain),
            tally.held_by(quorum.holders),
            tally.confirmed.by(quorum.one_correct),
        )
        if confirmed > max(self.confirmed.seq, self.path.base.seq):
            self._confirm(confirmed)
        if not self.context.limited:
            self._bound()

    def make_ready(self, path: Path, upto: int) -> None:
        """State READY for a path; its digests are stored where they are not this replica's."""
        chain = path.chain(upto)
        assert chain is not None and upto > self.ready.seq, "READY only grows"
        if self.opening is None:
            return  # nothing is stated about a stream whose opening could not be served
        self._recording()
        first = path.base.seq + 1
        self.ready = Position(upto, chain)
        digests = b""
        if self.path.chain(upto) != chain:
            self.truth = path.upto(upto)
            digests = bytes(self.truth.digests)
        self.context.out.record(MadeReady(self.stream, upto, chain, first, digests))
        self.tally.ready.state(self.path, self.context.me, self.ready)

    def _confirm(self, position: int) -> None:
        """Confirm up to a position on the own path, whose bodies are all here."""
        chain = self.path.chain(position)
        assert chain is not None and self.opening is not None
        self._recording()
        self.context.out.record(Confirmed(self.stream, position, chain))
        self.confirmed = Position(position, chain)
        self.active_at = self.context.now
        if not self.floor_confirmed and position >= self.floor.seq:
            # What went by age has been confirmed since: the floor carries c from now on.
            there = self.path.chain(self.floor.seq)
            assert there is not None, "what went by age is on the path until it is confirmed"
            self.floor, self.floor_confirmed = Position(self.floor.seq, there), True
            self.context.out.record(Floored(self.stream, *self.floor, confirmed=True))
        self._advance(position)
        self._trim_ready(self.confirmed)

    def _trim_ready(self, at: Position) -> None:
        """READY goes on above what is confirmed, and its digests there are still owed."""
        truth = self.truth
        if truth is not None and truth.end > at.seq and truth.chain(at.seq) == at.chain:
            truth.trim(at.seq)
        else:
            self.truth = None
        if self.ready.seq <= at.seq:
            self.ready = at

    def install(self, truth: Path, found: dict[int, tuple[bytes, bytes, bytes]]) -> None:
        """Confirm contents that are not all this replica's votes.

        `found` has the bodies of the positions where `truth` is not what stands here. They take
        the slots; votes above stay as they are.
        """
        assert self.opening is not None
        self._recording()
        for first, last in consecutive(sorted(found)):
            bodies = tuple(found[position][0] for position in range(first, last + 1))
            signatures = b"".join(found[position][1] for position in range(first, last + 1))
            digests = truth.run(first, last)
            self.context.out.record(Installed(self.stream, first, digests, bodies, signatures))
        later = b""
        if self.path.end > truth.end:
            later = self.path.run(truth.end + 1, self.path.end)
        path = truth.upto(truth.end)
        if later:
            path.extend(later)
        if self.context.channel.signed:
            keep = max(0, self.path.end - truth.end) * S
            self.signatures = bytearray((truth.end - truth.base.seq) * S) + (
                self.signatures[-keep:] if keep else b""
            )
        missing = truth.end - truth.base.seq - len(self.sizes)
        self.sizes.extend([0] * max(0, missing))
        for position, (body, _, _) in found.items():
            self.in_flight += len(body) - self.sizes[position - truth.base.seq - 1]
            self.sizes[position - truth.base.seq - 1] = len(body)
        self.path = path
        self.pledges.settle(path.end)
        self.tally.replaced(path)
        self._confirm(truth.end)
        self._grown()
        self.touch()

    def take_floor(self, floor: Position) -> None:
        """Take as confirmed, and as dropped, what f+1 replicas name so; votes above it stay."""
        assert floor.seq > self.confirmed.seq and self.opening is not None
        self._recording()
        self.context.out.record(Confirmed(self.stream, *floor))
        self.context.out.record(Floored(self.stream, *floor, confirmed=True))
        if floor.seq > self.path.base.seq:
            later = b""
            if self.path.end > floor.seq:
                later = self.path.run(floor.seq + 1, self.path.end)
            self._advance(min(floor.seq, self.path.end))
            self.path = Path(floor, later)
            self.pledges.settle(self.path.end)
            self.tally.replaced(self.path)
        self.confirmed = floor
        if floor.seq >= self.floor.seq:
            self.floor, self.floor_confirmed = floor, True
        self._trim_ready(floor)
        self._grown()
        self.touch()

    def cut(self, floor: Position, *, confirmed: bool) -> None:
        """Retention drops bodies up to here; where they are unconfirmed, the stream is closed."""
        assert floor.seq > self.floor.seq
        out = self.context.out
        if not confirmed and not self.closed:
            self.closed = True
            out.record(Closed(self.stream))
        out.record(Floored(self.stream, *floor, confirmed=confirmed))
        self.floor, self.floor_confirmed = floor, confirmed
        self.touch()

    def _advance(self, position: int) -> None:
        """Move the base of the path up."""
        count = position - self.path.base.seq
        if count <= 0:
            return
        self.path.trim(position)
        self.tally.trimmed()
        del self.signatures[: count * S]
        for _ in range(min(count, len(self.sizes))):
            size = self.sizes.popleft()
            self.in_flight -= size
            self.released += size

    def _bound(self) -> None:
        """Without the 2α limit, memory is bounded by keeping the last positions only."""
        if not self.context.limited:
            keep = self.context.channel.window if self.context.repairs else 0
            self._advance(self.path.end - keep)

    @property
    def settled(self) -> bool:
        """Whether there is nothing left to do here until somebody speaks."""
        return (
            (self.confirmed.seq == self.head or not self.context.repairs)
            and self.truth is None
            and not self.pledges.any
            and self.fresh is None
            and self.repair.idle
            and self.teller.idle
        )

    @property
    def stuck(self) -> bool:
        """Whether all was said often enough, and nobody can help; a faulty publisher does that."""
        return self.fresh is None and self.teller.exhausted and self.repair.exhausted
