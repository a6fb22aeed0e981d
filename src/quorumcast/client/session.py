"""One session of a publisher on one lane: positions, copies, acknowledgements, resends.

Upon credit for the next position from Q replicas: give it to the next publication, and send it to
every replica with credit.
Upon HELD from Q replicas with the chain digest that this publisher computes: acknowledged.
Upon CONFIRMED from f+1 replicas with that chain digest: confirmed; the bodies may go.
Until Q acknowledge, send again, with backoff; until confirmed, answer replicas that lack a body.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from quorumcast.auth.digests import Digester
from quorumcast.auth.signatures import publication_message
from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Cover, kth
from quorumcast.client.means import Means
from quorumcast.core.body import portions
from quorumcast.core.channel import Channel
from quorumcast.core.evidence import Evidence, Weight
from quorumcast.core.ids import Cluster, Opening, Party, Position, Stream
from quorumcast.core.limits import (
    EVIDENCE_PER_STREAM,
    MESSAGE_BYTES,
    READ_POSITIONS,
    REPEAT_MOST_SECONDS,
    REPEAT_SECONDS,
    TAIL_BYTES,
    TAIL_OVERHEAD_BYTES,
)
from quorumcast.core.machine import Out
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import (
    AskBodies,
    Bodies,
    ConfirmedUpTo,
    HeldUpTo,
    Message,
    Open,
    Publish,
    Release,
    Status,
    StatusCode,
)
from quorumcast.core.outcomes import Acknowledged
from quorumcast.core.records import Placed, SessionConfirmed


class Copy:
    """What a session knows of one replica."""

    __slots__ = ("answered", "credit", "held", "rejected", "sent", "top", "waits")

    def __init__(self) -> None:
        self.answered = False
        """It answered OPEN on this link."""
        self.credit = 0
        self.sent = 0
        self.top = 0
        """The highest position that was sent on this link: up to it, sending is sending again."""
        self.held = 0
        self.rejected: str | None = None
        self.waits = False
        """It has no place, or no share, for this stream now."""


class Session:
    """The publications of one session, from the first position to the last confirmed one."""

    def __init__(
        self,
        cluster: Cluster,
        channel: Channel,
        out: Out,
        opening: Opening,
        stream: Stream,
        certificate: bytes,
        sign: Callable[[bytes], bytes] | None,
        tickets: int,
        means: Means,
        *,
        journal: bool,
    ) -> None:
        self.stream = stream
        self.opening = opening
        self.tickets = tickets
        """Tickets of this lane before this session: position p is ticket `tickets` + p."""
        self._cluster = cluster
        self._channel = channel
        self._quorum = channel.quorum(cluster)
        self._out = out
        self._certificate = certificate
        self._sign = sign
        self._journal = journal
        self._means = means
        self._digester = Digester(cluster.id, stream)
        self.path = Path(Position(0, self._digester.origin))
        self._bodies: deque[bytes] = deque()
        self._signatures: deque[bytes] = deque()
        self._tail: deque[tuple[bytes, bytes]] = deque()
        """Confirmed publications right below those, each with its signature, that a replica with a
        link does not hold yet."""
        self.copies = {replica: Copy() for replica in cluster.replicas}
        self._held = Cover()
        self._confirmed = Cover()
        self.acknowledged = 0
        self.confirmed = 0
        self.closed_by: Party | None = None
        self.given_up = False
        """Whether its user was told that the rest has an unknown outcome."""
        self._accused: dict[Party, int] = {}
        self._interval = REPEAT_SECONDS
        self._progress = -1

    # -- sending -------------------------------------------------------------------------------

    @property
    def end(self) -> int:
        """The last position that was given to a publication."""
        return self.path.end

    @property
    def done(self) -> bool:
        """Whether everything in it is confirmed, or acknowledged where nothing confirms."""
        return self.confirmed == self.end

    @property
    def moved(self) -> bool:
        """Whether something was acknowledged or confirmed since it was last sent again."""
        return self.acknowledged + self.confirmed != self._progress

    @property
    def room(self) -> int:
        """How many more publications Q replicas have credit for."""
        credit = kth((copy.credit for copy in self.copies.values()), self._quorum.votes)
        return max(0, credit - self.end)

    def add(self, bodies: list[bytes]) -> None:
        """Give the next positions to publications; from now on they are sent."""
        if self._journal:
            self._out.record(Placed(self.stream, self.end + 1, tuple(bodies)))
        self._append(bodies)

    def resume(self, confirmed: Position, bodies: tuple[bytes, ...]) -> None:
        """Take up a session that a journal kept: what was not confirmed is sent again."""
        assert self.end == 0, "a session is resumed before anything else happens in it"
        zero = Position(0, self._digester.origin)
        self.path = Path(confirmed if confirmed.seq else zero)
        self.acknowledged = self.confirmed = confirmed.seq
        self._append(list(bodies))

    def _append(self, bodies: list[bytes]) -> None:
        first = self.end + 1
        digests = self._digester.digests(first, bodies)
        self.path.extend(digests)
        self._bodies.extend(bodies)
        if self._channel.signed:
            assert self._sign is not None, "a signed channel needs the publisher's key"
            for index in range(len(bodies)):
                digest = digests[index * D : index * D + D]
                message = publication_message(self._cluster.id, self.stream, first + index, digest)
                self._signatures.append(self._sign(message))

    def open(self, replica: Party) -> None:
        """Open, or open again, at a replica with a link."""
        self._out.send(replica, Open(self.stream, self.opening, self._certificate))

    def pump(self, live: dict[Party, None]) -> None:
        """Send to every replica what it has credit for and was not sent yet."""
        made: dict[tuple[int, int], list[Publish]] = {}
        base = self.path.base.seq
        for replica, copy in self.copies.items():
            there = copy.sent >= base - len(self._tail)
            first = copy.sent + 1 if there else max(copy.sent, base) + 1
            last = min(copy.credit, self.end)
            if replica not in live or last < first or not self._may_send(replica, first, last):
                continue
            if (first, last) not in made:
                made[first, last] = self._runs(first, last)
            for message in made[first, last]:
                self._out.send(replica, message)
            copy.sent = last
            copy.top = max(copy.top, last)

    def _may_send(self, replica: Party, first: int, last: int) -> bool:
        """Whether what is sent again of this is not too much."""
        again = range(first, min(last, self.copies[replica].top) + 1)
        return not again or self._means.again(replica, sum(len(self._body(at)) for at in again))

    def _runs(self, first: int, last: int) -> list[Publish]:
        """Publications of at most a chunk's bytes each."""
        bodies = [self._body(position) for position in range(first, last + 1)]
        return [
            self._publish(first + at, bodies[at:to]) for at, to in portions(bodies, MESSAGE_BYTES)
        ]

    def _publish(self, first: int, bodies: list[bytes]) -> Publish:
        return Publish(self.stream, first, tuple(bodies), self._signed(first, len(bodies)))

    def _body(self, position: int) -> bytes:
        index = position - self.path.base.seq - 1
        return self._bodies[index] if index >= 0 else self._tail[index][0]

    def _signed(self, first: int, count: int) -> bytes:
        if not self._channel.signed:
            return b""
        start = first - self.path.base.seq - 1
        return b"".join(
            self._signatures[index] if index >= 0 else self._tail[index][1]
            for index in range(start, start + count)
        )

    def repeat(self, live: dict[Party, None]) -> float | None:
        """Send again what Q replicas have not acknowledged; returns how long to wait then."""
        if self.done:
            return None
        moved = self.moved
        self._progress = self.acknowledged + self.confirmed
        self._interval = REPEAT_SECONDS if moved else min(2 * self._interval, REPEAT_MOST_SECONDS)
        for replica, copy in self.copies.items():
            if replica not in live:
                continue
            if self.acknowledged < self.end and not moved:
                copy.sent = min(copy.sent, copy.held)
            if not moved or not copy.answered:
                self.open(replica)
        self.pump(live)
        return self._interval

    def urge(self, live: dict[Party, None]) -> float:
        """Open again where there is no credit, for publications that wait."""
        for replica, copy in self.copies.items():
            if replica in live and copy.credit <= self.end:
                self.open(replica)
        self._interval = min(2 * self._interval, REPEAT_MOST_SECONDS)
        return self._interval

    def release(self, live: dict[Party, None]) -> None:
        """Give up the places that replicas keep for a session in which nothing was published."""
        for replica in live:
            self._out.send(replica, Release(self.stream))
        for copy in self.copies.values():
            copy.answered, copy.credit, copy.waits = False, 0, False

    @property
    def crowded_out(self) -> bool:
        """Whether nothing was published yet and a replica has no place for this session."""
        return self.end == 0 and any(copy.waits for copy in self.copies.values())

    def unlinked(self, replica: Party) -> None:
        """What was sent to it may be lost; it gives credit anew."""
        copy = self.copies[replica]
        copy.answered, copy.credit = False, 0
        copy.sent = copy.top = copy.held

    # -- what replicas say ---------------------------------------------------------------------

    def status(self, replica: Party, message: Status) -> str | None:
        """A replica's answer; returns the reason once f+1 reject alike."""
        copy = self.copies[replica]
        if message.code is StatusCode.OK:
            copy.answered, copy.rejected = True, None
        elif message.code is StatusCode.CLOSED:
            copy.answered = True
            copy.credit = 0
            self.closed_by = replica
        elif message.code is StatusCode.REJECTED:
            if copy.rejected is None:
                reason = f"{replica} rejects: {message.reason}"
                self._accuse(Weight.SUSPICION, replica, reason, None, message)
            copy.rejected = message.reason
            reasons = [each.rejected for each in self.copies.values()]
            if reasons.count(message.reason) >= self._quorum.one_correct:
                return message.reason
        else:  # WAIT, BLOCKED: nothing above this is taken now; credit comes when it is
            copy.answered = True
            copy.waits = message.code is StatusCode.WAIT
            copy.credit = min(copy.credit, message.position)
            tail = min(copy.sent, self.path.base.seq)  # of which nothing is sent twice
            copy.sent = min(copy.sent, max(message.position, copy.held, tail))
        return None

    def credit(self, replica: Party, through: int) -> None:
        """A replica takes positions up to here."""
        copy = self.copies[replica]
        copy.answered = True
        copy.credit = max(copy.credit, min(through, self.end + self._channel.window))

    def held(self, replica: Party, message: HeldUpTo) -> None:
        """A replica holds everything up to here, if the chain digest is ours."""
        known = message.position <= self.path.base.seq
        if not known and self._foreign(replica, message):
            return
        self._has(replica, message.position)
        if known:
            return
        self._held.state(self.path, replica, Position(message.position, message.chain))
        upto = self._held.by(self._quorum.votes)
        if upto > self.acknowledged:
            first, self.acknowledged = self.acknowledged + 1, upto
            self._report(first, upto, self._held, confirmed=False)
            if not self._channel.confirm:
                self.confirmed = upto
                self._release(upto)

    def confirm(self, replica: Party, message: ConfirmedUpTo) -> None:
        """A replica confirmed everything up to here, if the chain digest is ours."""
        known = message.position <= self.path.base.seq
        if not known and self._foreign(replica, message):
            return
        self._has(replica, message.position)
        if known:
            return
        statement = Position(message.position, message.chain)
        self._confirmed.state(self.path, replica, statement)
        self._held.cover(replica, message.position)
        upto = self._confirmed.by(self._quorum.one_correct)
        if upto > self.confirmed:
            first, self.confirmed = self.confirmed + 1, upto
            self.acknowledged = max(self.acknowledged, upto)
            self._report(first, upto, self._confirmed, confirmed=True)
            self._release(upto)

    def _has(self, replica: Party, position: int) -> None:
        """A replica need not be sent anything up to here: it says so itself."""
        copy = self.copies[replica]
        copy.held = max(copy.held, position)
        copy.sent = max(copy.sent, copy.held)
        self._shorten()

    def _release(self, upto: int) -> None:
        """Others have these bodies for whoever asks; who is a little behind is still sent them."""
        for _ in range(upto - self.path.base.seq):
            body = self._bodies.popleft()
            self._tail.append((body, self._signatures.popleft() if self._signatures else b""))
            self._means.kept += len(body) + TAIL_OVERHEAD_BYTES
        self.path.trim(upto)
        self._shorten()
        if self._journal:
            self._out.record(SessionConfirmed(self.stream, *self.path.base))

    def _shorten(self) -> None:
        """Keep of the tail what a replica with a link lacks, and not too much."""
        tail = self._tail
        if not tail:
            return
        copies = self.copies.values()
        behind = [copy.held for copy in copies if copy.answered and not copy.waits]
        lacking = self.path.base.seq - min(behind, default=self.path.base.seq)
        while tail and (len(tail) > lacking or self._means.kept > TAIL_BYTES):
            self._means.kept -= len(tail.popleft()[0]) + TAIL_OVERHEAD_BYTES

    def _foreign(self, replica: Party, message: HeldUpTo | ConfirmedUpTo) -> bool:
        """Whether a replica speaks of what this publisher never sent: then it lies."""
        if self.path.chain(message.position) == message.chain:
            return False
        reason = f"{replica} holds at position {message.position} what was not published"
        mine = HeldUpTo(self.stream, *self.path.tip)
        self._accuse(Weight.LOCAL, replica, reason, mine, message)
        return True

    def _accuse(
        self,
        weight: Weight,
        replica: Party,
        reason: str,
        first: Message | None,
        second: Message,
    ) -> None:
        count = self._accused.get(replica, 0)
        if count < EVIDENCE_PER_STREAM:
            self._accused[replica] = count + 1
            accused = frozenset({replica})
            self._out.accuse(Evidence(weight, accused, reason, self.stream, first, second))

    def _report(self, first: int, last: int, cover: Cover, *, confirmed: bool) -> None:
        replicas = sum(1 for at in cover.on.values() if at >= last)
        tickets = self.tickets
        self._out.acknowledge(
            Acknowledged(self.stream, last, tickets + first, tickets + last, replicas, confirmed)
        )

    def serve(self, replica: Party, message: AskBodies) -> None:
        """A replica lacks bodies that are not confirmed yet."""
        base = self.path.base.seq
        first = max(message.first, base + 1)
        count = len(message.digests) // D - (first - message.first)
        last = min(first + min(count, READ_POSITIONS) - 1, self.end)
        skip = (first - message.first) * D
        if (
            first > last
            or self.path.run(first, last) != (message.digests[skip : skip + (last - first + 1) * D])
        ):
            return
        run = self._runs(first, last)[0]
        if not self._means.again(replica, sum(map(len, run.bodies))):
            return
        self._out.send(replica, Bodies(self.stream, run.first, run.bodies, run.signatures))
