"""Confirmed floors of peers, and when a replica takes one over as its own.

A replica that cannot get the bodies below takes as confirmed, and as dropped, a floor that f+1
replicas state with one chain digest. Of different floors it takes the (f+1)-th highest: a correct
replica has dropped everything up to there, and those whose floor is lower can name c for it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from quorumcast.broadcast.tally import kth
from quorumcast.core.ids import Party, Position
from quorumcast.core.messages import AskConfirmed

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream


class Floors:
    """What the peers of one stream dropped, and what they say stood there."""

    def __init__(self, stream: ReplicaStream) -> None:
        self._stream = stream
        self._floors: dict[Party, Position] = {}
        self._words: dict[Party, Position] = {}
        """What peers state CONFIRMED for exactly the position that could become the floor here."""

    @property
    def known(self) -> bool:
        """Whether any peer named a floor."""
        return bool(self._floors)

    @property
    def _candidate(self) -> int:
        positions = (floor.seq for floor in self._floors.values())
        return kth(positions, self._stream.context.quorum.one_correct)

    def floor(self, peer: Party, position: Position) -> None:
        """A peer dropped what is confirmed up to here."""
        if peer not in self._floors or position.seq > self._floors[peer].seq:
            self._floors[peer] = position
        self.word(peer, position)

    def word(self, peer: Party, statement: Position) -> None:
        """CONFIRMED from a peer, perhaps for the position that could become the floor here."""
        if self._floors and statement.seq == self._candidate:
            self._words[peer] = statement

    def forget(self, peer: Party) -> None:
        """What a peer said is void."""
        self._floors.pop(peer, None)
        self._words.pop(peer, None)

    def take(self) -> bool:
        """Take the floor over, if f+1 name it alike; else ask for their word on it."""
        stream = self._stream
        candidate = self._candidate
        if candidate <= stream.confirmed.seq:
            return False
        if stream.context.quorum.model == "crash" and candidate <= stream.head:
            return False  # nobody lies: what is here is what they dropped
        said = {
            peer: word
            for words in (self._floors, self._words)  # a floor is its author's word as well
            for peer, word in words.items()
            if word.seq == candidate
        }
        for word, count in Counter(said.values()).items():
            if count >= stream.context.quorum.one_correct:
                stream.take_floor(word)
                return True
        stream.context.to_peers(AskConfirmed(stream.stream, candidate))
        return False
