"""One stream at a subscriber: what its replicas say, and what may be delivered of it.

Upon Q equal votes at every position up to p (`ab`, and f+1 on `plain`), or a confirmation of p
(f+1 CONFIRMED, 2f+1 READY or Q+f HELD, with the chain digest computed here):
  deliver up to p, in order, bodies whose digest was recomputed.
Upon heads or statements beyond what is here, or a body that is missing: pull from all replicas.
Upon n-f floors above what was delivered: a gap; go on at the (n-f)-th highest floor plus one.

The path that the tally follows is a guess at the content: the digests that at least f+1 replicas
vote for, or, where only confirmations speak, those of the bodies that came. A wrong guess links no
confirmation; then the full count looks at all other paths.
"""

from __future__ import annotations

from quorumcast.auth.digests import Digester
from quorumcast.broadcast.path import Path, common_digests
from quorumcast.broadcast.tally import Tally
from quorumcast.broadcast.weigh import agreed
from quorumcast.client.anchor import Anchor
from quorumcast.client.copies import Copies
from quorumcast.client.pulling import Pulling
from quorumcast.client.reading import Reading
from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.ids import Party, Position, Stream
from quorumcast.core.limits import (
    COPIES_STREAM_BYTES,
    EVIDENCE_PER_STREAM,
)
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Held,
    Message,
    ReadyUpTo,
)
from quorumcast.core.outcomes import Delivery, Gap

CANDIDATE_BYTES = 64 * 1024
"""Bodies kept for a stream that fewer than f+1 replicas announced."""


class Follower:
    """Follows one stream from `start`; `base` is where its chain is known, at or below that."""

    def __init__(self, reading: Reading, stream: Stream, start: int, base: Position | None) -> None:
        self.reading = reading
        self.stream = stream
        self.digester = Digester(reading.cluster.id, stream)
        self.start = start
        self.delivered = start - 1
        self.announcers: dict[Party, None] = {}
        self.ended = False
        zero = Position(0, self.digester.origin)
        known = base if base is not None else (zero if start == 1 else None)
        if known is None and not reading.chained:
            known = Position(start - 1, bytes(32))
        self.tally = Tally(Path(known or zero), reading.window)
        self.anchor = Anchor(self, anchored=known is not None)
        self.copies = Copies(reading.copies)
        self._hashed: dict[Party, tuple[int, bytes]] = {}
        """The digests of the bodies that a replica sent from a position on, as last computed."""
        self._settled = self.tally.path.base.seq
        """Everything up to here is known to be confirmed."""
        self.pulling = Pulling(self)
        self._through = self.delivered + reading.window
        self._accusations: dict[Party, int] = {}

    # -- what replicas say ---------------------------------------------------------------------

    @property
    def believed(self) -> bool:
        """Whether f+1 replicas announced the stream: then it exists."""
        return len(self.announcers) >= self.reading.quorum.one_correct

    def announce(self, replica: Party, position: int) -> None:
        """A replica speaks of this stream."""
        self.announcers[replica] = None
        self.tally.heard(replica, position)
        self.touch()

    def touch(self) -> None:
        """Settle this stream at the end of the turn."""
        self.reading.touched[self] = None

    def held(self, replica: Party, message: Held) -> None:
        """A replica's votes."""
        count = len(message.digests) // D
        if self.reading.channel.signed and len(message.signatures) != count * S:
            self.accuse(replica, f"{replica} votes without signatures", None, message)
            return
        self.announce(replica, message.first + len(message.digests) // D - 1)
        if not self.anchor.anchored:
            return
        clash = self.tally.held(replica, message.first, message.digests)
        if clash is not None:
            before = Held(message.stream, clash, self.tally.runs[replica].digest(clash) or b"")
            at = (clash - message.first) * D
            after = Held(message.stream, clash, message.digests[at : at + D])
            self.accuse(replica, f"{replica} voted twice at position {clash}", before, after)

    def ready(self, replica: Party, message: ReadyUpTo) -> None:
        """A replica's READY."""
        self.announce(replica, message.position)
        if self.anchor.anchored:
            earlier = self.tally.ready_at(replica, Position(message.position, message.chain))
            if earlier is not None:
                reason = f"{replica} is READY for two contents up to {message.position}"
                self.accuse(replica, reason, ReadyUpTo(self.stream, *earlier), message)
            else:
                self.pulling.stated(replica)

    def confirmed(self, replica: Party, message: ConfirmedUpTo) -> None:
        """A replica's CONFIRMED."""
        statement = Position(message.position, message.chain)
        self.announce(replica, message.position)
        self.anchor.word(replica, statement)
        if self.anchor.anchored:
            earlier = self.tally.confirmed_at(replica, statement)
            if earlier is not None:
                reason = f"{replica} confirms two contents up to {message.position}"
                self.accuse(replica, reason, ConfirmedUpTo(self.stream, *earlier), message)
            else:
                self.pulling.stated(replica)

    def floor(self, replica: Party, message: FloorAt) -> None:
        """A replica dropped everything up to here."""
        self.announce(replica, message.position)
        self.anchor.floor(replica, message)
        if message.confirmed:
            said = ConfirmedUpTo(self.stream, message.position, message.chain)
            self.confirmed(replica, said)

    def digests(self, replica: Party, message: Digests) -> None:
        """The digests under a statement; its chain proves them."""
        self.anchor.digests(replica, message)
        self.pulling.digests(replica, message)

    def take_bodies(self, replica: Party, message: Bodies) -> None:
        """Bodies, which are believed only when their digest is voted for or confirmed."""
        first, bodies = message.first, message.bodies
        self.announce(replica, first + len(bodies) - 1)
        most = COPIES_STREAM_BYTES if self.believed else CANDIDATE_BYTES
        skip = max(0, self.delivered + 1 - first)
        bodies = bodies[skip : max(skip, self.delivered + self.reading.window + 1 - first)]
        first += skip
        for position in self.copies.add_run(replica, first, bodies, most):
            body = bodies[position - first]
            if self._wanted(position, body):
                self.copies.keep(replica, position, body)

    def _wanted(self, position: int, body: bytes) -> bool:
        """Whether a body is just the one that is to be delivered next."""
        if position != self.delivered + 1 or position > self.deliverable():
            return False
        return self.digester.digest(position, body) == self.tally.path.digest(position)

    def close(self) -> None:
        """Nothing more is kept for this stream."""
        self.copies.clear()
        self._hashed.clear()

    def accuse(self, replica: Party, reason: str, first: Message | None, second: Message) -> None:
        """Report that a replica lies, unless its like was reported often enough."""
        count = self._accusations.get(replica, 0)
        if count < EVIDENCE_PER_STREAM:
            self._accusations[replica] = count + 1
            self.reading.out.accuse(
                Evidence(Weight.LOCAL, frozenset({replica}), reason, self.stream, first, second)
            )

    def forget(self, replica: Party) -> None:
        """What a replica said is dropped, because it announces too much."""
        self.announcers.pop(replica, None)
        self.tally.forget(replica)

    # -- the end of a turn ---------------------------------------------------------------------

    def settle(self) -> None:
        """Deliver what may be delivered; see to what is missing."""
        if not self.believed or self.ended:
            return
        if self.anchor.settle():
            self._extend()
            self._deliver(self.deliverable())
        self.pulling.consider()

    def _extend(self) -> None:
        """Follow the votes of f+1 replicas, or the bodies where there are no votes."""
        path, tally = self.tally.path, self.tally
        need = self.reading.quorum.one_correct
        before = path.end
        base = path.base.seq
        tails = sorted(
            (
                bytes(run.digests[(before + 1 - run.first) * D :])
                for run in tally.runs.values()
                if run.first <= before + 1 <= run.end
            ),
            key=len,
            reverse=True,
        )
        if len(tails) >= need:
            tail = tails[need - 1]
            if sum(1 for each in tails if each.startswith(tail)) >= need:
                path.extend(tail)
            else:
                path.extend(agreed(tally, None, need, before + 1))
        self._follow_bodies(base + tally.window)
        if path.end > before:
            tally.grown()

    def _follow_bodies(self, last: int) -> None:
        """Follow the bodies that came, up to where somebody votes."""
        path, runs = self.tally.path, self.tally.runs.values()
        while (first := path.end + 1) <= last:
            voted = min([run.first for run in runs if run.end >= first], default=last + 1)
            found = self.copies.likely(first, min(last, voted - 1)) if first < voted else None
            if found is None:
                return
            replica, bodies = found
            digests = self.digester.digests(first, bodies)
            self._hashed[replica] = (first, digests)
            path.extend(digests)

    def deliverable(self) -> int:
        """Up to where the path may be delivered."""
        tally, quorum = self.tally, self.reading.quorum
        confirmed = self._confirmed_upto()
        if self.reading.channel.protocol == "bracha":
            return confirmed
        return max(confirmed, tally.held_by(quorum.votes))

    def _confirmed_upto(self) -> int:
        if not self.reading.chained:
            return 0
        tally, quorum = self.tally, self.reading.quorum
        upto = max(tally.confirmed.by(quorum.one_correct), tally.ready.by(quorum.ready))
        if tally.path.base.seq <= max(upto, self._settled):
            # Votes count position by position: where one below is not confirmed, neither is this.
            upto = max(upto, tally.held_by(quorum.certain))
        self._settled = max(self._settled, upto)
        return upto

    def _deliver(self, upto: int) -> None:
        first = position = self.delivered + 1
        bodies: list[bytes] = []
        path = self.tally.path
        end = min(upto, path.end)
        while position <= end and (found := self._checked(position, end)):
            bodies += found
            position += len(found)
        if bodies:
            last = first + len(bodies) - 1
            confirmed = self._confirmed_upto() >= last
            votes = self.tally.voters(last)
            self.reading.out.deliver(Delivery(self.stream, first, tuple(bodies), votes, confirmed))
            self._move(last)
            self.pulling.progress()
        elif upto > path.base.seq and path.base.seq < self.delivered:
            self._rebase(min(upto, self.delivered, path.end))

    def _move(self, last: int) -> None:
        """Everything up to here was delivered, or lies before the start."""
        self.copies.drop(last)
        self.delivered = last
        self._rebase(last)
        window = self.reading.window
        if self.delivered + window - self._through >= window // 2:
            self._through = self.delivered + window
            self.reading.to_replicas(Credit(self.stream, self._through))

    def _rebase(self, position: int) -> None:
        if position > self.tally.path.base.seq:
            self.tally.path.trim(position)
            self.tally.trimmed()
            self.pulling.rebased()

    def _checked(self, position: int, last: int) -> list[bytes]:
        """Bodies from a position on that have the digests of the path; false ones are dropped."""
        path = self.tally.path
        for replica, bodies in self.copies.runs(position, last):
            found = self._digests(replica, position, bodies)
            good = common_digests(found, path.run(position, position + len(bodies) - 1))
            if good:
                return bodies[:good]
            self.copies.remove(replica, position)
            self._hashed.pop(replica, None)
            run = self.tally.runs.get(replica)
            if run is None or run.digest(position) != found[:D]:
                # A correct replica sends what it voted for, though its publisher may have lied.
                self.reading.out.reject(replica, f"a false body at position {position}")
        return []

    def _digests(self, replica: Party, first: int, bodies: list[bytes]) -> bytes:
        """The digests of bodies that a replica sent; each body is hashed once."""
        start, known = self._hashed.get(replica, (0, b""))
        at = (first - start) * D
        if at >= 0 and at + len(bodies) * D <= len(known):
            return known[at : at + len(bodies) * D]
        digests = self.digester.digests(first, bodies)
        self._hashed[replica] = (first, digests)
        return digests

    def resume(self, base: Position, gap: Gap | None) -> None:
        """Go on from a confirmed position: the start's, or one after a gap."""
        if gap is not None:
            self.reading.out.deliver(gap)
            self.ended = gap.ended
            self._move_over(max(gap.last, self.delivered))
        self.tally = Tally(Path(base), self.reading.window)
        self._settled = base.seq
        for replica in self.announcers:
            self.tally.heard(replica, base.seq)
        self.pulling.rebased()
        if not self.ended:
            self.follow()

    def _move_over(self, last: int) -> None:
        self.copies.drop(last)
        self.delivered = last
        self._through = last + self.reading.window

    # -- asking --------------------------------------------------------------------------------

    @property
    def behind(self) -> bool:
        """Whether f+1 replicas spoke of more than was delivered."""
        return self.tally.heard_by(self.reading.quorum.one_correct) > self.delivered

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do until somebody speaks."""
        return self.ended or (
            not self.behind and self.anchor.anchored and self.tally.path.base.seq == self.delivered
        )

    def follow(self) -> None:
        """Ask every replica for all from the next position on."""
        for replica in self.reading.live:
            self.follow_at(replica)

    def follow_at(self, replica: Party) -> None:
        """Ask one replica for all from the next position on; while it is held, to pause there."""
        reading = self.reading
        if self.anchor.anchored and not self.ended:
            first = min(self.tally.path.base.seq, self.delivered) + 1
            if reading.held:
                first = self.delivered + 1
            reading.out.send(replica, Follow(self.stream, reading.version, first, self.credit))

    @property
    def credit(self) -> int:
        """Up to where replicas may send."""
        return self.delivered if self.reading.held else self._through

    def reminded(self, replica: Party, message: Follow) -> None:
        """A replica lets the publisher wait: has it less credit of this subscriber than it gave?"""
        self.announce(replica, message.first - 1)
        if message.version == self.reading.version and message.through < self.credit:
            self.follow_at(replica)
