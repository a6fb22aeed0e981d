"""Where a follower's chain begins: at a start in the middle of a stream, or after a gap.

A position serves as a base when f+1 replicas state CONFIRMED for it with one chain digest. At
the start that is the highest confirmed position below it. After a gap it is the (n-f)-th highest
floor: n-f replicas have dropped everything up to there. Its chain digest may also come from one
replica whose digests link it to a position above for which f+1 speak.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quorumcast.auth.digests import chains_after
from quorumcast.broadcast.tally import kth
from quorumcast.core.ids import Party, Position
from quorumcast.core.messages import AskConfirmed, AskDigests, Digests, FloorAt
from quorumcast.core.outcomes import Gap

if TYPE_CHECKING:
    from quorumcast.client.follower import Follower


class Anchor:
    """Finds the base of a follower's path."""

    def __init__(self, follower: Follower, *, anchored: bool) -> None:
        self.anchored = anchored
        self._follower = follower
        self._floors: dict[Party, int] = {}
        self._open_floors: dict[Party, None] = {}
        """Replicas whose floor is not a confirmed one."""
        self._claims: dict[Party, int] = {}
        """How far replicas say that the stream is confirmed."""
        self._words: dict[Party, dict[int, bytes]] = {}
        """CONFIRMED for positions that may become the base: at most two per replica."""
        self._target = 0

    def claims(self, replica: Party, confirmed: int) -> None:
        """A replica's listing says how far the stream is confirmed."""
        self._claims[replica] = max(confirmed, self._claims.get(replica, 0))

    def word(self, replica: Party, statement: Position) -> None:
        """CONFIRMED from a replica."""
        self.claims(replica, statement.seq)
        if not self.anchored or self._floors:
            words = self._words.setdefault(replica, {})
            words[statement.seq] = statement.chain
            for position in sorted(words)[:-2]:
                if position != self._target:
                    del words[position]

    def floor(self, replica: Party, message: FloorAt) -> None:
        """A replica's floor."""
        if message.position >= self._floors.get(replica, 0):
            self._floors[replica] = message.position
            if message.confirmed:
                self._open_floors.pop(replica, None)
            else:
                self._open_floors[replica] = None

    # -- deciding ------------------------------------------------------------------------------

    def settle(self) -> bool:
        """Move the base where it has to be; returns whether the follower has one."""
        follower = self._follower
        gap = self._gap()
        if self.anchored and gap <= follower.delivered:
            return True
        target = gap if gap > follower.delivered else self._start()
        self._target = target
        base = self._agreed(target)
        if base is not None:
            self._resume(base, gap)
        elif gap > follower.delivered and self._is_open(gap):
            self._end(gap)
        return self.anchored

    def _gap(self) -> int:
        """The position up to which n-f replicas dropped everything."""
        return kth(self._floors.values(), self._follower.reading.quorum.floors)

    def _is_open(self, gap: int) -> bool:
        """Whether everybody who can still answer dropped it unconfirmed: nobody will name c."""
        quorum = self._follower.reading.quorum
        confirmed = kth(self._claims.values(), quorum.one_correct)
        return confirmed < gap and len(self._open_floors) >= quorum.floors

    def _start(self) -> int:
        quorum = self._follower.reading.quorum
        confirmed = kth(self._claims.values(), quorum.one_correct)
        return min(confirmed, self._follower.start - 1)

    def _agreed(self, position: int) -> Position | None:
        if position == 0:
            return Position(0, self._follower.digester.origin)
        if not self._follower.reading.chained and position > 0:
            return Position(position, bytes(32))
        chains = Counter(words[position] for words in self._words.values() if position in words)
        for chain, count in chains.items():
            if count >= self._follower.reading.quorum.one_correct:
                return Position(position, chain)
        return None

    def _resume(self, base: Position, gap: int) -> None:
        follower = self._follower
        self.anchored = True
        self._words.clear()
        note = None
        if gap > follower.delivered:
            note = self._note(gap, ended=False)
        follower.resume(base, note)

    def _end(self, gap: int) -> None:
        """What is above the last confirmed position went by age: the stream ends there."""
        follower = self._follower
        base = Position(follower.delivered, follower.digester.origin)
        follower.resume(base, self._note(gap, ended=True))

    def _note(self, gap: int, *, ended: bool) -> Gap:
        stream, first = self._follower.stream, self._follower.delivered + 1
        before = first == 1 and self._follower.reading.gone_at_first(stream, gap)
        return Gap(stream, first, gap, ended, before)

    # -- asking --------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask for CONFIRMED at the position that is to become the base."""
        follower = self._follower
        gap = self._gap()
        if self.anchored and gap <= follower.delivered:
            return
        target = self._target = gap if gap > follower.delivered else self._start()
        if target == 0:
            return
        follower.reading.to_replicas(AskConfirmed(follower.stream, target))
        for replica, words in self._words.items():  # one that knows c here and a position above
            above = [position for position in words if position > target]
            if target in words and above and self._agreed(max(above)) is not None:
                ask = AskDigests(follower.stream, target + 1, max(above))
                follower.reading.out.send(replica, ask)

    def digests(self, replica: Party, message: Digests) -> None:
        """Digests that may link one replica's word to a position for which f+1 speak."""
        target = self._target
        chain = self._words.get(replica, {}).get(target)
        if chain is None or message.first != target + 1 or not message.digests:
            return
        chains = chains_after(chain, message.digests)
        known = self._agreed(target + len(chains))
        if known is not None and known.chain == chains[-1]:
            self._resume(Position(target, chain), self._gap())
            self._follower.touch()
