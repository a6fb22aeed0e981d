"""One vote per id: no correct replica ever stores votes for two contents of one id.

Within an incarnation, on every path and over restarts. Votes are cast in order and above the
floor, their digests are those of the bodies stored with them. Where replicas may lie, a vote is
cast only in a session that names this incarnation, and, where they confirm, at most 2α beyond the
own confirmed position.
"""

from __future__ import annotations

from collections.abc import Iterator

from quorumcast.auth.digests import Digester
from quorumcast.core.ids import Incarnation, Opening, Stream
from quorumcast.core.messages import DIGEST_BYTES
from quorumcast.core.records import Accepted, Confirmed, Floored, Incarnated, Installed, Opened
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.trace import Stored

RULE = "votes"


def check(case: Case) -> list[Violation]:
    """Follow the records of every correct replica."""
    digesters: dict[Stream, Digester] = {}
    return [
        Violation(RULE, fault)
        for replica in case.replicas
        for fault in _Voter(case, replica, digesters).faults()
    ]


class _Voter:
    """What one replica's records say so far, by stream."""

    def __init__(self, case: Case, replica: str, digesters: dict[Stream, Digester]) -> None:
        self._case = case
        self._replica = replica
        self._index = case.cluster.replicas.index(replica)
        self._digesters = digesters
        self._votes: dict[tuple[Incarnation, Stream, int], bytes] = {}
        self._valid: dict[Incarnation, None] = {}
        self._forget()

    def _forget(self) -> None:
        self._openings: dict[Stream, Opening] = {}
        self._ends: dict[Stream, int] = {}
        self._confirmed: dict[Stream, int] = {}
        self._floors: dict[Stream, int] = {}

    def faults(self) -> Iterator[str]:
        """Everything that is wrong with this replica's votes."""
        for each in self._case.trace.stored.get(self._replica, ()):
            match each.record:
                case None:
                    self._forget()
                case Incarnated(valid, _):
                    self._valid = {incarnation: None for incarnation, _ in valid}
                case Opened(stream, opening, _):
                    self._openings[stream] = opening
                case Installed(stream, first, _, bodies, _):
                    self._reach(self._ends, stream, first + len(bodies) - 1)
                case Confirmed(stream, position, _):
                    self._reach(self._confirmed, stream, position)
                case Floored(stream, position, _, confirmed):
                    self._reach(self._floors, stream, position)
                    self._reach(self._ends, stream, position)
                    if confirmed:
                        self._reach(self._confirmed, stream, position)
                case Accepted():
                    yield from self._vote(each, each.record)
                    last = each.record.first + len(each.record.bodies) - 1
                    self._reach(self._ends, each.record.stream, last)
                case _:
                    pass

    def _reach(self, positions: dict[Stream, int], stream: Stream, position: int) -> None:
        positions[stream] = max(position, positions.get(stream, 0))

    def _vote(self, each: Stored, record: Accepted) -> Iterator[str]:
        stream, first = record.stream, record.first
        who, where = self._replica, f"position {first} of {stream}"
        last = first + len(record.bodies) - 1
        channel = self._case.channels[stream.channel]
        digester = self._digesters.setdefault(stream, Digester(self._case.cluster.id, stream))
        if digester.digests(first, record.bodies) != record.digests:
            yield f"{who} voted for digests that are not of its bodies, from {where}"
        if first > self._ends.get(stream, 0) + 1:
            yield f"{who} voted for {where} out of order, after {self._ends.get(stream, 0)}"
        if first <= self._floors.get(stream, 0):
            yield f"{who} voted for {where}, which is not above its floor"
        if channel.byzantine and not self._is_named(each, stream):
            yield f"{who} voted for {where}, whose session does not name its incarnation"
        limit = self._confirmed.get(stream, 0) + channel.window
        if channel.byzantine and channel.confirm and last > limit:
            yield f"{who} voted for position {last} of {stream}, beyond 2α, which is {limit}"
        for index in range(len(record.bodies)):
            digest = record.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
            key = (each.incarnation, stream, first + index)
            if self._votes.setdefault(key, digest) != digest:
                yield f"{who} voted for two contents at position {first + index} of {stream}"

    def _is_named(self, each: Stored, stream: Stream) -> bool:
        opening = self._openings.get(stream)
        named = () if opening is None else opening.incarnations[self._index : self._index + 1]
        return any(one == each.incarnation or one in self._valid for one in named)
