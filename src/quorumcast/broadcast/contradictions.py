"""Statements of peers that contradict a replica's own votes, or each other, in one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.broadcast.path import Path
from quorumcast.core.evidence import Weight
from quorumcast.core.ids import Party
from quorumcast.core.messages import ConfirmedUpTo, Held, ReadyUpTo

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream


class Contradictions:
    """Looks for lies in what is known of a stream, and reports them."""

    def __init__(self, stream: ReplicaStream) -> None:
        self._stream = stream

    def look(self) -> None:
        """f+1 equal votes against mine: a correct replica got something else from the publisher."""
        stream = self._stream
        need = stream.context.quorum.one_correct
        position = stream.path.base.seq + 1
        while position <= stream.head and not stream.tainted:
            mine = stream.path.digest(position)
            against: dict[bytes, int] = {}
            for run in stream.tally.runs.values():
                digest = run.digest(position)
                if digest is not None and digest != mine:
                    against[digest] = against.get(digest, 0) + 1
            if any(count >= need for count in against.values()):
                stream.taint()
            if against:
                self._suspect(position, mine or b"")
            position += 1

    def _suspect(self, position: int, mine: bytes) -> None:
        """Somebody lies about this position: the publisher, or those who vote otherwise."""
        stream = self._stream
        for peer, run in stream.tally.runs.items():
            theirs = run.digest(position)
            if theirs is not None and theirs != mine:
                stream.context.accuse(
                    Weight.SUSPICION,
                    frozenset({peer, stream.stream.publisher}),
                    f"{peer} votes otherwise at position {position}",
                    stream,
                    Held(stream.stream, position, mine),
                    Held(stream.stream, position, theirs),
                )

    def compare(self, peer: Party, named: Path) -> None:
        """A peer named the digests under its statement: do they fit what it stated before?"""
        stream, tally = self._stream, self._stream.tally
        for cover, kind in ((tally.ready, ReadyUpTo), (tally.confirmed, ConfirmedUpTo)):
            parted = cover.parted(stream.path, peer, named)
            if parted is not None and cover.high.get(peer) == named.tip:
                stream.context.accuse(
                    Weight.LOCAL,
                    frozenset({peer}),
                    f"{peer} states two chains up to position {named.end}",
                    stream,
                    kind(stream.stream, *parted[0]),
                    kind(stream.stream, *parted[1]),
                )
                return
