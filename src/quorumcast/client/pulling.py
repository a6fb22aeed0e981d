"""How a subscriber gets what is missing in a stream: it asks all replicas, with backoff.

Upon something missing for a while: look at all paths, follow a better one, ask about statements
that fit none, ask for votes, confirmations and bodies. Progress makes it patient again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.weigh import Weigher, agreed
from quorumcast.core.ids import Party, Position
from quorumcast.core.limits import READ_POSITIONS, REPEAT_MOST_SECONDS
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskVotes,
    ConfirmedUpTo,
    Digests,
    ReadyUpTo,
)

if TYPE_CHECKING:
    from quorumcast.client.follower import Follower

PATIENCE_SECONDS = 0.1
"""How long something may be missing before it is asked for: mostly it is on its way."""


class Pulling:
    """Asks for what one follower lacks."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._reading = follower.reading
        self._asked: dict[Party, Path] = {}
        """Paths that replicas named when asked, which end in what they stated."""
        self._questions: dict[Party, Position] = {}
        self._interval = PATIENCE_SECONDS
        self._mark: int | None = None
        self._turn = 0
        """Whom to ask next: a replica that does not answer is passed over."""

    def consider(self) -> None:
        """At the end of a turn: ask for what is missing, if it stays so for a while."""
        follower = self._follower
        key = (follower, "pull")
        agenda, now = self._reading.agenda, self._reading.now
        if follower.ended or (not follower.behind and follower.anchor.anchored):
            self._mark, self._interval = None, PATIENCE_SECONDS
            agenda.cancel(key)
        elif self._mark is None:
            self._mark = follower.delivered
            agenda.soon(key, now + self._interval)

    def progress(self) -> None:
        """Something was delivered."""
        self._interval = PATIENCE_SECONDS

    def rebased(self) -> None:
        """Paths that were named lie over a base that is no more."""
        self._asked.clear()

    def pull(self) -> None:
        """The patience is over; what was delivered in the meantime renews it."""
        follower = self._follower
        mark, self._mark = self._mark, None
        if self._reading.held:
            return  # nothing that is asked for would be delivered; a release begins anew
        if mark is not None and follower.delivered > mark:
            self._interval = PATIENCE_SECONDS
        else:
            self._interval = min(2 * self._interval, REPEAT_MOST_SECONDS)
            self._pull()
        follower.touch()

    def _pull(self) -> None:
        follower, reading = self._follower, self._reading
        if not follower.anchor.anchored:
            follower.anchor.ask()
            return
        if reading.chained:
            self._look_around()
        deliverable = follower.deliverable()
        if deliverable > follower.delivered:
            self._ask_bodies(deliverable)
        if not reading.channel.confirm:
            return  # no repair
        follower.anchor.ask()
        path = follower.tally.path
        reading.to_replicas(AskVotes(follower.stream, path.base.seq + 1))
        if path.end > follower.delivered:
            reading.to_replicas(AskConfirmed(follower.stream, path.end))
        if deliverable <= follower.delivered:
            follower.follow()

    def _look_around(self) -> None:
        """Count on all paths; follow a better one, and ask about statements that fit none."""
        follower, reading = self._follower, self._reading
        tally, quorum = follower.tally, reading.quorum
        weigher = Weigher(tally, quorum, None, list(self._asked.values()))
        _, confirmed, unlinked = weigher.weigh()
        best = confirmed
        if reading.channel.protocol != "bracha":
            quorate = agreed(tally, None, quorum.votes, tally.path.base.seq + 1)
            if len(quorate) // D > best.end - best.base.seq:
                best = Path(tally.path.base, quorate)
        if best.end > follower.deliverable():
            tally.replaced(best)
        base = tally.path.base.seq
        for replica, statement in unlinked.items():
            if statement.seq > base and replica in reading.live:
                self._questions[replica] = statement
                ask = AskDigests(follower.stream, base + 1, statement.seq)
                reading.out.send(replica, ask)

    def digests(self, replica: Party, message: Digests) -> None:
        """The digests under a statement, asked for; its chain proves them."""
        follower = self._follower
        statement = self._questions.pop(replica, None)
        base = follower.tally.path.base
        if statement is None or message.first != base.seq + 1:
            return
        if len(message.digests) // D == statement.seq - base.seq:
            path = Path(base, message.digests)
            if path.tip == statement:
                self._asked[replica] = path
                self._compare(replica, path)
                self._look_around()
                follower.touch()

    def stated(self, replica: Party) -> None:
        """A replica that had named digests makes another statement."""
        if replica in self._asked:
            self._compare(replica, self._asked[replica])

    def _compare(self, replica: Party, named: Path) -> None:
        """A replica named the digests under its statement: do they fit what it stated before?"""
        follower, tally = self._follower, self._follower.tally
        for cover, kind in ((tally.ready, ReadyUpTo), (tally.confirmed, ConfirmedUpTo)):
            parted = cover.parted(tally.path, replica, named)
            if parted is not None and cover.high.get(replica) == named.tip:
                first, second = (kind(follower.stream, *each) for each in parted)
                reason = f"{replica} states two chains up to position {named.end}"
                follower.accuse(replica, reason, first, second)
                return

    def _ask_bodies(self, deliverable: int) -> None:
        """Ask for the next run of bodies that are missing, and others the next time."""
        follower, reading = self._follower, self._reading
        path = follower.tally.path
        first = follower.delivered + 1
        while follower.copies.at(first):
            first += 1
        last = min(deliverable, path.end, first + READ_POSITIONS - 1)
        match = follower.tally.match
        holders = [name for name in reading.live if match.get(name, 0) >= first]
        holders = holders or list(reading.live)
        if first > last or not holders:
            return
        for _ in range(reading.cluster.faults + 1):  # one of them is correct
            self._turn += 1
            holder = holders[self._turn % len(holders)]
            reading.out.send(holder, AskBodies(follower.stream, first, path.run(first, last)))
