"""The full count, for streams in which statements do not all lie on the owner's path.

The owner's tally counts cheaply against one path. This module looks at every path there is and
counts per position, as the rules are written. It is what decides when a publisher or a replica
lies; it costs a pass over the window and runs at a limited rate.

Paths that may be the true one: the owner's own, its READY path, those that senders' runs make,
the one that `votes` replicas agree on position by position (it may follow no single run: votes
AAB, ABA, BAA), and those that a replica named when asked, where they end in what it stated.

A statement (position, c) is linked by any path that has c there. It covers another path up to where
the two paths part.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Cover, Tally, kth
from quorumcast.core.ids import Party, Position
from quorumcast.core.quorum import Quorum


class Weighed(NamedTuple):
    """What the statements at hand amount to.

    `unlinked` are statements of which the digests are not known: their authors can be asked.
    """

    ready: Path
    confirmed: Path
    unlinked: dict[Party, Position]


def agreed(tally: Tally, own: Path | None, need: int, start: int) -> bytes:
    """The digests from `start` on for which at least `need` senders voted, position by position.

    >>> tally = Tally(Path(Position(0, bytes(32))), 20)
    >>> for replica, vote in (("r1", b"a"), ("r2", b"a"), ("r3", b"b")):
    ...     _ = tally.held(replica, 1, vote * 32)
    >>> agreed(tally, None, 2, 1) == b"a" * 32
    True
    """
    found: list[bytes] = []
    position = start
    while True:
        counts: Counter[bytes] = Counter()
        for run in tally.runs.values():
            if (digest := run.digest(position)) is not None:
                counts[digest] += 1
        if own is not None and (mine := own.digest(position)) is not None:
            counts[mine] += 1
        if not counts:
            break
        digest, count = max(counts.items(), key=lambda each: (each[1], each[0]))
        if count < need:
            break
        found.append(digest)
        position += 1
    return b"".join(found)


class Weigher:
    """One full count over a tally.

    `own` is the path of the owner's votes, or None for a subscriber, which has none.
    """

    def __init__(self, tally: Tally, quorum: Quorum, own: Path | None, others: list[Path]) -> None:
        self.tally = tally
        self.quorum = quorum
        self.own = own
        self.paths = self._paths(others)
        self.links = {
            id(cover): {sender: self._linking(cover, sender) for sender in cover.high}
            for cover in (tally.ready, tally.confirmed)
        }

    def _paths(self, others: list[Path]) -> list[Path]:
        base = self.tally.path.base
        paths = [self.tally.path, *(path for path in others if path.base == base)]
        runs = [agreed(self.tally, self.own, self.quorum.votes, base.seq + 1)]
        runs += [
            bytes(run.digests) for run in self.tally.runs.values() if run.first == base.seq + 1
        ]
        for digests in dict.fromkeys(runs):
            if digests and not any(path.digests.startswith(digests) for path in paths):
                paths.append(Path(base, digests))
        return paths

    def _linking(self, cover: Cover, sender: Party) -> tuple[Position, Path] | None:
        """The sender's highest statement that lies on some path, with that path."""
        for statement in (cover.high.get(sender), cover.low.get(sender)):
            if statement is not None:
                for path in self.paths:
                    if path.chain(statement.seq) == statement.chain:
                        return statement, path
        return None

    def _covered(self, cover: Cover, path: Path) -> dict[Party, int]:
        """How far each sender's statements of this kind cover a path."""
        shared = path.common(self.tally.path)
        covered = {sender: min(at, shared) for sender, at in cover.on.items()}
        for sender, link in self.links[id(cover)].items():
            if link is not None:
                statement, on = link
                at = min(statement.seq, path.common(on) if on is not path else path.end)
                covered[sender] = max(covered.get(sender, 0), at)
        return covered

    def _held(self, path: Path, confirmed: dict[Party, int]) -> tuple[int, int]:
        """How far `votes` and `certain` senders voted for a path, position by position."""
        quorate = certain = path.base.seq
        on_quorate = on_certain = True
        senders = sorted(set(self.tally.runs) | set(confirmed))
        for position in range(path.base.seq + 1, path.end + 1):
            digest = path.digest(position)
            count = 0
            for sender in senders:
                run = self.tally.runs.get(sender)
                if confirmed.get(sender, 0) >= position or (
                    run is not None and run.digest(position) == digest
                ):
                    count += 1
            if self.own is not None and self.own.digest(position) == digest:
                count += 1
            on_quorate = on_quorate and count >= self.quorum.votes
            on_certain = on_certain and count >= self.quorum.certain
            quorate = position if on_quorate else quorate
            certain = position if on_certain else certain
            if not on_quorate:
                break
        return quorate, certain

    def weigh(self) -> Weighed:
        """Count on every path; the best of each kind wins."""
        quorum, base = self.quorum, self.tally.path.base.seq
        ready, ready_end = self.tally.path, base
        settled, settled_end = self.tally.path, base
        for path in self.paths:
            confirmed = self._covered(self.tally.confirmed, path)
            readied = self._covered(self.tally.ready, path)
            for sender, at in confirmed.items():
                readied[sender] = max(readied.get(sender, 0), at)
            quorate, certain = self._held(path, confirmed)
            may_ready = max(quorate, kth(readied.values(), quorum.one_correct))
            may_confirm = max(
                certain,
                kth(readied.values(), quorum.ready),
                kth(confirmed.values(), quorum.one_correct),
            )
            if may_ready > ready_end:
                ready, ready_end = path, may_ready
            if may_confirm > settled_end:
                settled, settled_end = path, may_confirm
        return Weighed(ready.upto(ready_end), settled.upto(settled_end), self._unlinked())

    def _unlinked(self) -> dict[Party, Position]:
        unlinked: dict[Party, Position] = {}
        for cover in (self.tally.ready, self.tally.confirmed):
            for sender, link in self.links[id(cover)].items():
                if link is None or link[0].seq < cover.high[sender].seq:
                    unlinked[sender] = cover.high[sender]
        return unlinked
