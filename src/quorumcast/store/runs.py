"""Slots of one stream in memory: runs of consecutive positions, ascending, never overlapping.

A run has the bodies of all its positions, or of none. Runs are never changed: whatever changes
slots makes new runs. What a commit may do makes a new list too, but for appending: so one that
failed is undone by taking up the old list at its old length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S

BODY_OVERHEAD_BYTES = 100
"""What a body costs beyond its bytes: the object, its place in a run, a part of the run."""

_MERGED_POSITIONS = 256
"""Runs that lost their bodies are joined up to this: many small ones would cost more than their
digests."""


class Run:
    """Consecutive slots from `first`; `bodies` is None where they are gone.

    >>> run = Run(3, b"a" * 32 + b"b" * 32, (b"x", b"y"), b"")
    >>> run.last, run.part(4, 9).bodies
    (4, (b'y',))
    """

    __slots__ = ("bodies", "digests", "first", "last", "signatures", "size")

    def __init__(
        self, first: int, digests: bytes, bodies: tuple[bytes, ...] | None, signatures: bytes
    ) -> None:
        self.first = first
        self.last = first + len(digests) // D - 1
        self.digests = digests
        self.bodies = bodies
        self.signatures = signatures
        self.size = 0
        """The bytes that its bodies take."""
        if bodies is not None:
            self.size = sum(map(len, bodies)) + BODY_OVERHEAD_BYTES * len(bodies)

    @property
    def signed(self) -> bool | None:
        """Whether all slots have signatures; None where some have them and some have not."""
        if not self.signatures:
            return False
        return True if len(self.signatures) * D == len(self.digests) * S else None

    def part(self, first: int, last: int) -> Run:
        """The slots from `first` to `last`, as far as they are of this run."""
        if first <= self.first and last >= self.last:
            return self
        start, end = max(first, self.first) - self.first, min(last, self.last) + 1 - self.first
        bodies = self.bodies[start:end] if self.bodies is not None else None
        return Run(
            self.first + start,
            self.digests[start * D : end * D],
            bodies,
            self.signatures[start * S : end * S],
        )

    def bare(self) -> Run:
        """The same slots without bodies."""
        return Run(self.first, self.digests, None, self.signatures)


def _last(run: Run) -> int:
    return run.last


class Runs:
    """All slots of a stream that are in one condition.

    >>> runs = Runs()
    >>> runs.put(Run(1, b"a" * 96, (b"x", b"y", b"z"), b""))
    >>> runs.put(Run(2, b"b" * 32, (b"w",), b""))
    >>> [(run.first, run.last, run.bodies) for run in runs.list]
    [(1, 1, (b'x',)), (2, 2, (b'w',)), (3, 3, (b'z',))]
    """

    __slots__ = ("list", "size")

    def __init__(self) -> None:
        self.list: list[Run] = []
        self.size = 0
        """Bytes of all bodies, each with its overhead."""

    @property
    def last(self) -> int:
        """The highest position; 0 where there is none."""
        return self.list[-1].last if self.list else 0

    def put(self, run: Run) -> None:
        """Fill slots, overriding what stands there."""
        if run.first > self.last:
            self.list.append(run)
            self.size += run.size
            return
        before = [each.part(0, run.first - 1) for each in self.list if each.first < run.first]
        after = [each.part(run.last + 1, each.last) for each in self.list if each.last > run.last]
        self._become([*before, run, *after])

    def cut_below(self, position: int) -> None:
        """Empty the slots at or below a position: the usual way in which slots go."""
        runs = self.list
        if not runs or runs[0].first > position:
            return
        index = bisect_left(runs, position + 1, key=_last)
        self.size -= sum([run.size for run in runs[:index]])
        kept = runs[index:]
        if kept and kept[0].first <= position:
            self.size -= kept[0].size
            kept[0] = kept[0].part(position + 1, kept[0].last)
            self.size += kept[0].size
        self.list = kept

    def strip(self, upto: int) -> None:
        """Drop the bodies at or below a position."""
        stripped: list[Run] = []
        for run in self.list:
            if run.first <= upto and run.bodies is not None:
                stripped.append(run.part(run.first, upto).bare())
                if run.last > upto:
                    stripped.append(run.part(upto + 1, run.last))
            else:
                stripped.append(run)
        self._become(stripped)

    def reach(self, size: int) -> int:
        """The lowest position up to which the bodies take so many bytes; the last if all do not."""
        for run in self.list:
            if run.size < size:
                size -= run.size
                continue
            for position, body in enumerate(run.bodies or (), run.first):
                size -= len(body) + BODY_OVERHEAD_BYTES
                if size <= 0:
                    return position
        return self.last

    def strip_whole(self, upto: int) -> None:
        """Drop the bodies of the runs that end at or below a position; bare runs are joined.

        This is for between commits: it changes the list in place.
        """
        end = bisect_left(self.list, upto + 1, key=_last)
        start = end
        while start > 0 and self.list[start - 1].bodies is not None:
            start -= 1
        if start == end:
            return
        self.size -= sum(run.size for run in self.list[start:end])
        start = max(0, start - 1)  # the last bare run, which more may be joined to
        self.list[start:end] = _joined([run.bare() for run in self.list[start:end]])

    def _become(self, runs: list[Run]) -> None:
        self.list = runs
        self.size = sum(run.size for run in runs)

    def above(self, position: int) -> Iterator[Run]:
        """What stands above a position, a part of the first run if need be."""
        start = bisect_left(self.list, position + 1, key=_last)
        for index in range(start, len(self.list)):
            run = self.list[index]
            yield run.part(position + 1, run.last)

    def end_of(self, position: int) -> int:
        """The end of the gap-free run of slots from just above a position."""
        for run in self.above(position):
            if run.first != position + 1:
                break
            position = run.last
        return position

    def held(self, position: int, end: int) -> int:
        """Where the bodies end that are here, of the slots above a position up to `end`."""
        for run in self.above(position):
            if run.first > end:
                break
            if run.bodies is None:
                return run.first - 1
        return end

    def digests(self, first: int, last: int) -> bytes:
        """The digests from `first` to `last`, without those of empty slots."""
        return b"".join([run.digests for run in self._between(first, last)])

    def signatures(self, first: int, last: int) -> bytes:
        """The signatures of the same slots."""
        return b"".join([run.signatures for run in self._between(first, last)])

    def _between(self, first: int, last: int) -> Iterator[Run]:
        for run in self.above(first - 1):
            if run.first > last:
                break
            yield run.part(first, last)

    def clash(self, run: Run) -> int | None:
        """The first position where another digest stands than a run has."""
        if run.first > self.last:
            return None
        for mine in self._between(run.first, run.last):
            theirs = run.part(mine.first, mine.last)
            if mine.digests != theirs.digests:
                for at in range(0, len(mine.digests), D):
                    if mine.digests[at : at + D] != theirs.digests[at : at + D]:
                        return mine.first + at // D
        return None


def _joined(bare: list[Run]) -> list[Run]:
    joined: list[Run] = []
    for run in bare:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.last + 1 == run.first
            and run.last - last.first < _MERGED_POSITIONS
            and last.signed is run.signed is not None
        ):
            joined[-1] = Run(
                last.first, last.digests + run.digests, None, last.signatures + run.signatures
            )
        else:
            joined.append(run)
    return joined
