"""How a replica catches up: it weighs what does not fit, asks, fetches, adopts, installs.

Upon a peer that speaks of positions which this replica does not hold:
  ask for its votes; adopt, in order, what f+1 peers hold equally (one correct replica took it
  from the publisher), or what carries the publisher's signature on a signed channel.
Upon statements that do not lie on the path of own votes:
  weigh all paths; ask the authors of READY and CONFIRMED for the digests under them.
Upon a confirmed path: fetch the bodies that differ from what stands here, and install them.

Adoption never waits for the limits on what a publisher may send directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.auth.signatures import verify_publication
from quorumcast.broadcast.contradictions import Contradictions
from quorumcast.broadcast.floors import Floors
from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Run
from quorumcast.broadcast.weigh import Weigher, agreed
from quorumcast.core.ids import Party, Position
from quorumcast.core.limits import READ_POSITIONS, REPEAT_MOST_SECONDS
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskOpening,
    AskVotes,
    Message,
)

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream

PATIENCE_SECONDS = 0.05
"""How long something may not fit before it is looked into: mostly it is on its way."""

FRUITLESS_SECONDS = 0.5
"""When the pauses between fruitless attempts to fetch have grown to this, floors are believed."""


class Repair:
    """The repair of one stream at one replica."""

    def __init__(self, stream: ReplicaStream) -> None:
        self._stream = stream
        self._interval = PATIENCE_SECONDS
        self._mark: tuple[int, int] | None = None
        self._certified: Path | None = None
        self._asked: dict[Party, Path] = {}
        """Paths that peers named when asked, which end in what they stated."""
        self._questions: dict[Party, Position] = {}
        self._wanted: dict[int, bytes] = {}
        self._found: dict[int, tuple[bytes, bytes, bytes]] = {}
        """Bodies that were asked for, with signature and digest."""
        self.floors = Floors(stream)
        self._contradictions = Contradictions(stream)
        self._turn = 0
        """Whom to ask next: a peer that does not answer is passed over."""
        self._catching_up = False
        """Whether a window was just installed and there is more: then nothing waits."""

    @property
    def idle(self) -> bool:
        """Whether this replica knows of nothing that it lacks."""
        stream = self._stream
        behind = stream.tally.heard_by(stream.context.quorum.one_correct) > stream.head
        return self._certified is None and not behind and not stream.pledges.any

    @property
    def exhausted(self) -> bool:
        """Whether repeated attempts brought nothing."""
        return self._interval >= REPEAT_MOST_SECONDS or self.idle

    def forget(self, peer: Party) -> None:
        """What a peer said is void."""
        self._asked.pop(peer, None)
        self._questions.pop(peer, None)
        self.floors.forget(peer)

    # -- when ----------------------------------------------------------------------------------

    def consider(self) -> None:
        """At the end of a turn: look into what does not fit, if it stays so for a while."""
        stream, context = self._stream, self._stream.context
        key = (stream, "repair")
        words = len(stream.tally.confirmed.high)
        if self._catching_up and words >= context.quorum.one_correct:
            self._catching_up = False
            self.run()
        lacks = stream.truth is not None or stream.pledges.any
        if self._certified is not None or lacks or stream.tally.puzzling():
            if self._mark is None:
                self._mark = (stream.confirmed.seq, stream.head)
                context.agenda.soon(key, context.now + self._interval)
        elif self._mark is not None:
            self._mark, self._interval = None, PATIENCE_SECONDS
            context.agenda.cancel(key)

    def tick(self) -> None:
        """The patience is over; progress in the meantime renews it."""
        stream = self._stream
        mark, self._mark = self._mark, None
        if mark is not None and stream.confirmed.seq > mark[0]:
            self._interval = PATIENCE_SECONDS
        elif mark is not None and stream.head > mark[1] and not self._conflict():
            self._interval = PATIENCE_SECONDS
        else:
            self._interval = min(2 * self._interval, REPEAT_MOST_SECONDS)
            self.run()
        stream.touch()

    def _conflict(self) -> bool:
        tally, head = self._stream.tally, self._stream.head
        base = tally.path.base.seq
        return any(
            max(tally.match.get(sender, 0), base) < min(run.end, head)
            for sender, run in tally.runs.items()
        )

    # -- what ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Weigh, ask, fetch."""
        stream = self._stream
        if stream.opening is None:
            self._ask_opening()
            return
        self._drop_stale()
        if stream.context.quorum.model == "byzantine":
            self._weigh()
            self._contradictions.look()
        self._ask_votes()
        self._want()
        self._use()
        self._fetch()
        if self._interval >= FRUITLESS_SECONDS and self.floors.take():
            self._certified = None
            self._wanted.clear()

    def _drop_stale(self) -> None:
        base = self._stream.path.base
        self._asked = {peer: path for peer, path in self._asked.items() if path.base == base}
        certified = self._certified
        if certified is not None and certified.base != base:
            if certified.end > base.seq and certified.chain(base.seq) == base.chain:
                certified.trim(base.seq)
            else:
                self._certified = None

    def _weigh(self) -> None:
        stream = self._stream
        others = list(self._asked.values())
        if stream.truth is not None:
            others.insert(0, stream.truth)
        weigher = Weigher(stream.tally, stream.context.quorum, stream.path, others)
        ready, confirmed, unlinked = weigher.weigh()
        if ready.end > stream.ready.seq and ready.chain(stream.ready.seq) == stream.ready.chain:
            stream.make_ready(ready, ready.end)
        if confirmed.end > max(stream.confirmed.seq, stream.path.base.seq):
            self._certified = confirmed
        base = stream.path.base.seq
        for peer, statement in unlinked.items():
            if peer != stream.context.me:
                self._questions[peer] = statement
                self._send(peer, AskDigests(stream.stream, base + 1, statement.seq))

    # -- asking --------------------------------------------------------------------------------

    def _send(self, peer: Party, message: Message) -> None:
        if peer in self._stream.context.replicas.live:
            self._stream.context.out.send(peer, message)

    def _ask_opening(self) -> None:
        stream = self._stream
        for peer in stream.tally.ahead:
            self._send(peer, AskOpening(stream.stream))

    def _ask_votes(self) -> None:
        """Ask those who are ahead for what they state above what is known of them."""
        stream = self._stream
        base, window = stream.path.base.seq, stream.tally.window
        for peer, ahead in sorted(stream.tally.ahead.items()):
            if ahead <= base:
                continue
            run = stream.tally.runs.get(peer)
            known = base
            if run is not None and run.digests and run.first <= base + 1:
                known = run.end
            if ahead > max(known, stream.tally.match.get(peer, 0)):
                self._send(peer, AskVotes(stream.stream, known + 1))
            if ahead > base + window and peer not in stream.tally.confirmed.high:
                self._send(peer, AskConfirmed(stream.stream, base + window))

    def inquire(self) -> None:
        """Ask everybody what they state here: this replica may have missed it."""
        stream = self._stream
        stream.context.to_peers(AskVotes(stream.stream, stream.confirmed.seq + 1))

    def digests(self, peer: Party, first: int, digests: bytes) -> None:
        """A peer's answer about the digests under its statement; the chain proves it."""
        stream = self._stream
        statement = self._questions.pop(peer, None)
        base = stream.path.base
        if statement is None or first != base.seq + 1:
            return
        if len(digests) // D != statement.seq - base.seq:
            return
        path = Path(base, digests)
        if path.tip != statement:
            return
        self._asked[peer] = path
        self._contradictions.compare(peer, path)
        if stream.tally.confirmed.high.get(peer) == statement:  # also its HELD
            run = stream.tally.runs.get(peer)
            above = b""
            if run is not None and run.first <= path.end + 1 <= run.end:
                above = bytes(run.digests[(path.end + 1 - run.first) * D :])
            stream.tally.runs[peer] = Run(base.seq + 1, digests + above)
            stream.tally.grown()
        self.run()
        stream.touch()

    def stated(self, peer: Party) -> None:
        """A peer that had named digests makes another statement."""
        if peer in self._asked:
            self._contradictions.compare(peer, self._asked[peer])

    # -- fetching ------------------------------------------------------------------------------

    def _want(self) -> None:
        """Which bodies are wanted next: those of a confirmed path, else what can be adopted."""
        stream = self._stream
        self._wanted.clear()
        certified = self._certified
        if certified is not None:
            for position in range(certified.base.seq + 1, certified.end + 1):
                digest = certified.digest(position)
                if digest is not None and stream.path.digest(position) != digest:
                    self._wanted[position] = digest
        elif stream.votes_here:
            first = stream.head + 1
            digests = self._adoptable(first)
            count = min(len(digests) // D, max(0, stream.limit - stream.head), READ_POSITIONS)
            for index in range(count):
                self._wanted[first + index] = digests[index * D : index * D + D]
        self._found = {
            position: found
            for position, found in self._found.items()
            if self._wanted.get(position) == found[2]
        }

    def _adoptable(self, first: int) -> bytes:
        stream, context = self._stream, self._stream.context
        if pledged := stream.pledges.after(first):
            return pledged
        truth = stream.truth
        if truth is not None and truth.end >= first:
            return truth.run(first, truth.end)
        need = 1 if context.channel.signed else context.quorum.one_correct
        return agreed(stream.tally, None, need, first)

    def _fetch(self) -> None:
        """Ask one holder for the next missing run of bodies; another one the next time."""
        stream, context = self._stream, self._stream.context
        missing = [position for position in self._wanted if position not in self._found]
        if not missing:
            return
        first = missing[0]
        digests: list[bytes] = []
        for position in range(first, first + READ_POSITIONS):
            if position not in self._wanted or position in self._found:
                break
            digests.append(self._wanted[position])
        holders = [
            peer
            for peer in context.peers
            if stream.tally.ahead.get(peer, 0) >= first and peer in context.replicas.live
        ]
        publisher = stream.stream.publisher
        if publisher in context.replicas.live:
            holders.append(publisher)
        if holders:
            self._turn += 1
            holder = holders[self._turn % len(holders)]
            context.out.send(holder, AskBodies(stream.stream, first, b"".join(digests)))

    def bodies(self, sender: Party, first: int, bodies: tuple[bytes, ...], signed: bytes) -> None:
        """Bodies that were asked for; whoever sends them, the digest decides."""
        stream = self._stream
        taken = 0
        for index, body in enumerate(bodies):
            position = first + index
            wanted = self._wanted.get(position)
            if wanted is None or position in self._found:
                continue
            if stream.digester.digest(position, body) != wanted:
                stream.context.out.reject(sender, f"body at {position} is not the one asked for")
                break
            signature = b""
            if stream.context.channel.signed:
                signature = signed[index * S : index * S + S]
            if not self._signature_serves(position, wanted, signature):
                stream.context.out.reject(sender, f"body at {position} without valid signature")
                break
            self._found[position] = (body, signature, wanted)
            taken += 1
        if taken:
            self._interval = PATIENCE_SECONDS
            self._use()
            self._want()
            self._fetch()
            stream.touch()

    def _signature_serves(self, position: int, digest: bytes, signature: bytes) -> bool:
        stream, context = self._stream, self._stream.context
        if not context.channel.signed:
            return True
        return verify_publication(
            stream.sign_key, context.cluster.id, stream.stream, position, digest, signature
        )

    def _use(self) -> None:
        """Install what is confirmed once it is whole; vote for what can be adopted, in order."""
        stream = self._stream
        certified = self._certified
        if certified is not None:
            if certified.base == stream.path.base and len(self._found) == len(self._wanted):
                self._certified = None
                found, self._found = self._found, {}
                self._wanted.clear()
                stream.install(certified, found)
                self._catching_up = not self.idle
                if self._catching_up:
                    self._ask_votes()
            return
        digests: list[bytes] = []
        bodies: list[bytes] = []
        signatures: list[bytes] = []
        position = stream.head + 1
        while stream.votes_here and position in self._found and position <= stream.limit:
            body, signature, digest = self._found.pop(position)
            del self._wanted[position]
            digests.append(digest)
            bodies.append(body)
            signatures.append(signature)
            position += 1
        if digests:
            stream.vote(b"".join(digests), bodies, b"".join(signatures))
