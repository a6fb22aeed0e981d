"""Who stated what about a stream, and how far that agrees with a path of contents.

Senders are counted, never messages. Per sender there is one run of HELD digests, and of READY and
of CONFIRMED the highest and the lowest that is not yet linked to the path; all of them lie within
`window` positions above the base, so that a stream's memory is bounded whatever its senders
say. A position further on is remembered as a number only (`ahead`): it makes the owner ask.

The tally follows one path, its owner's: a replica's own votes, or what a subscriber takes to be
the content. For every sender it keeps, on that path, how far the sender's votes agree with it
(`match`), and how far its READY and its CONFIRMED cover it. These only grow while the path grows,
so that an input costs what is new in it. Where statements do not lie on the path, the owner looks
at all the paths there are (`weigh`).
"""

from __future__ import annotations

from collections.abc import Iterable

from quorumcast.broadcast.path import Path, common_digests
from quorumcast.core.ids import Party, Position
from quorumcast.core.messages import DIGEST_BYTES as D


def kth(values: Iterable[int], k: int) -> int:
    """The k-th largest value, or 0 where there are fewer than k.

    >>> kth([5, 9, 7], 2), kth([5], 2)
    (7, 0)
    """
    ordered = sorted(values, reverse=True)
    return ordered[k - 1] if len(ordered) >= k else 0


class Run:
    """One sender's votes at consecutive positions; its first digest at a position counts.

    >>> run = Run(1, b"a" * 32)
    >>> run.merge(1, b"a" * 32 + b"b" * 32), run.end
    (None, 2)
    >>> run.merge(2, b"c" * 32)
    2
    """

    __slots__ = ("digests", "first")

    def __init__(self, first: int, digests: bytes) -> None:
        self.first = first
        self.digests = bytearray(digests)

    @property
    def end(self) -> int:
        """The last position of the run."""
        return self.first + len(self.digests) // D - 1

    def digest(self, position: int) -> bytes | None:
        """The vote at a position, or None."""
        index = position - self.first
        if index < 0 or index * D >= len(self.digests):
            return None
        return bytes(self.digests[index * D : index * D + D])

    def merge(self, first: int, digests: bytes) -> int | None:
        """Take in another run of the same sender.

        Returns the position of the first contradiction, if there is one; what was there first
        stays. A run that leaves a hole is not taken, unless it begins lower: that is the one
        that its sender repeats from its confirmed position.
        """
        if first > self.end + 1:
            return None
        if first + len(digests) // D < self.first:
            self.first, self.digests = first, bytearray(digests)
            return None
        if first < self.first:
            lower = (self.first - first) * D
            self.digests[:0] = digests[:lower]
            digests, self.first, first = digests[lower:], first, self.first
        known = bytes(self.digests[(first - self.first) * D :])
        shared = min(len(known), len(digests)) // D
        same = common_digests(known, digests)
        if same < shared:
            return first + same
        self.digests += digests[shared * D :]
        return None

    def trim(self, position: int) -> None:
        """Forget what is at or below `position`."""
        count = position + 1 - self.first
        if count > 0:
            del self.digests[: count * D]
            self.first = position + 1


class Cover:
    """The cumulative statements of one kind, and how far each sender's cover the path.

    >>> path = Path(Position(0, bytes(32)), b"a" * 32)
    >>> cover = Cover()
    >>> cover.state(path, "r2", path.tip), cover.by(1)
    (None, 1)
    """

    __slots__ = ("high", "low", "on")

    def __init__(self) -> None:
        self.high: dict[Party, Position] = {}
        self.low: dict[Party, Position] = {}
        self.on: dict[Party, int] = {}

    def state(self, path: Path, sender: Party, statement: Position) -> Position | None:
        """Take a statement in; returns an earlier one with which it is not on one chain."""
        old = self.high.get(sender)
        if old is not None and old.seq == statement.seq:
            return old if old.chain != statement.chain else None
        here, low = path.chain(statement.seq), self.low.get(sender)
        covered = self.on.get(sender, 0)
        if here != statement.chain and here is not None and statement.seq <= covered:
            return Position(covered, path.chain(covered) or b"")
        if old is None or statement.seq > old.seq:
            self.high[sender] = statement
        if here == statement.chain:
            self.cover(sender, statement.seq)
            if low is not None and low.seq < statement.seq:
                return low if path.chain(low.seq) not in (low.chain, None) else None
        elif low is None or statement.seq < low.seq:
            self.low[sender] = statement
        return None

    def parted(self, path: Path, sender: Party, named: Path) -> tuple[Position, Position] | None:
        """Two statements of a sender that are not on one chain, now that it named digests."""
        covered = self.on.get(sender, 0)
        if covered <= path.base.seq or named.base != path.base:
            return None
        chain = path.chain(covered)
        if chain is None or path.common(named) >= min(covered, named.end):
            return None
        return Position(covered, chain), named.tip

    def cover(self, sender: Party, position: int) -> None:
        """The sender's statements cover the path up to `position`."""
        if position > self.on.get(sender, 0):
            self.on[sender] = position

    def link(self, path: Path) -> None:
        """The path has grown: see which statements lie on it now."""
        for sender, statement in list(self.low.items()):
            if path.chain(statement.seq) == statement.chain:
                self.cover(sender, statement.seq)
                del self.low[sender]
        for sender, statement in self.high.items():
            if statement.seq > self.on.get(sender, 0) and (
                path.chain(statement.seq) == statement.chain
            ):
                self.cover(sender, statement.seq)
                self.low.pop(sender, None)

    def trim(self, base: int) -> None:
        """Forget statements at or below the base."""
        for kept in (self.high, self.low):
            for sender in [s for s, statement in kept.items() if statement.seq <= base]:
                del kept[sender]

    def shrink(self, position: int) -> None:
        """What was covered above `position` lay on a path that is no longer followed."""
        for sender in self.on:
            self.on[sender] = min(self.on[sender], position)

    def forget(self, sender: Party) -> None:
        """The sender's statements are void."""
        for kept in (self.high, self.low, self.on):
            kept.pop(sender, None)

    def by(self, count: int) -> int:
        """The position that the statements of `count` senders cover on the path."""
        return kth(self.on.values(), count)


class Tally:
    """Statements of all replicas about one stream, measured against one path.

    >>> path = Path(Position(0, bytes(32)), b"a" * 32)
    >>> tally = Tally(path, 20)
    >>> for replica in ("r1", "r2", "r3"):
    ...     _ = tally.held(replica, 1, b"a" * 32)
    >>> tally.held_by(3), tally.held_by(4)
    (1, 0)
    """

    __slots__ = ("ahead", "confirmed", "match", "path", "ready", "runs", "window")

    def __init__(self, path: Path, window: int) -> None:
        self.path = path
        self.window = window
        self.runs: dict[Party, Run] = {}
        self.match: dict[Party, int] = {}
        self.ready = Cover()
        self.confirmed = Cover()
        self.ahead: dict[Party, int] = {}
        """The highest position of which a sender said anything: its head, if it is correct."""

    # -- statements ----------------------------------------------------------------------------

    def held(self, sender: Party, first: int, digests: bytes) -> int | None:
        """HELD from a sender; returns the position at which it contradicts itself, if any."""
        base = self.path.base.seq
        last = first + len(digests) // D - 1
        self.heard(sender, last)
        if first <= base:
            digests, first = digests[(base + 1 - first) * D :], base + 1
        if last > base + self.window:
            digests = digests[: max(0, base + self.window + 1 - first) * D]
        if not digests:
            return None
        run = self.runs.get(sender)
        clash = None
        if run is None or not run.digests:
            self.runs[sender] = Run(first, digests)
        else:
            clash = run.merge(first, digests)
        self._rematch(sender)
        return clash

    def ready_at(self, sender: Party, statement: Position) -> Position | None:
        """READY from a sender; returns an earlier one that names the position differently."""
        self.heard(sender, statement.seq)
        if not self._within(statement.seq):
            return None
        return self.ready.state(self.path, sender, statement)

    def confirmed_at(self, sender: Party, statement: Position) -> Position | None:
        """CONFIRMED from a sender; returns an earlier one that names the position differently."""
        self.heard(sender, statement.seq)
        if not self._within(statement.seq):
            return None
        clash = self.confirmed.state(self.path, sender, statement)
        self._imply(sender)
        return clash

    def heard(self, sender: Party, position: int) -> None:
        """The sender spoke of this position."""
        if position > self.ahead.get(sender, 0):
            self.ahead[sender] = position

    def _within(self, position: int) -> bool:
        base = self.path.base.seq
        return base < position <= base + self.window

    def _imply(self, sender: Party) -> None:
        """CONFIRMED counts as its author's HELD and READY for everything below it."""
        position = self.confirmed.on.get(sender, 0)
        self.ready.cover(sender, position)
        if position > self.match.get(sender, 0):
            self.match[sender] = position
            self._rematch(sender)

    # -- the path ------------------------------------------------------------------------------

    def grown(self) -> None:
        """The path was extended."""
        for sender in self.runs:
            self._rematch(sender)
        self.ready.link(self.path)
        if self.confirmed.high:
            self.confirmed.link(self.path)
            for sender in self.confirmed.on:
                self._imply(sender)

    def trimmed(self) -> None:
        """The path's base moved up along it: what lies below is settled."""
        base = self.path.base.seq
        for sender, run in self.runs.items():
            run.trim(base)
            self._rematch(sender)
        self.ready.trim(base)
        self.confirmed.trim(base)

    def replaced(self, path: Path) -> None:
        """The owner follows another path now, over the same base or a higher one."""
        common = path.base.seq
        if path.base == self.path.base:
            common = path.common(self.path)
        self.path = path
        for sender in self.match:
            self.match[sender] = min(self.match[sender], common)
        self.ready.shrink(common)
        self.confirmed.shrink(common)
        self.trimmed()
        self.grown()

    def forget(self, sender: Party) -> None:
        """The sender has a new incarnation, which cancels what it stated."""
        for kept in (self.runs, self.match, self.ahead):
            kept.pop(sender, None)
        self.ready.forget(sender)
        self.confirmed.forget(sender)

    def _rematch(self, sender: Party) -> None:
        run = self.runs.get(sender)
        if run is None or not run.digests:
            return
        path = self.path
        base = path.base.seq
        at = max(self.match.get(sender, 0), base)
        if run.first > at + 1:
            return
        end = min(run.first + len(run.digests) // D - 1, base + len(path.chains))
        if end <= at:
            return
        mine = path.digests[(at - base) * D : (end - base) * D]
        theirs = run.digests[(at + 1 - run.first) * D : (end + 1 - run.first) * D]
        same = common_digests(mine, theirs)
        if same:
            self.match[sender] = at + same

    # -- counting ------------------------------------------------------------------------------

    def held_by(self, count: int) -> int:
        """The position up to which `count` senders voted as the path has it."""
        return kth(self.match.values(), count)

    def heard_by(self, count: int) -> int:
        """The count-th highest head that senders stated: with f+1, one correct has it."""
        return kth(self.ahead.values(), count)

    def voters(self, position: int) -> int:
        """How many senders' votes agree with the path up to `position`."""
        return sum(1 for at in self.match.values() if at >= position)

    def puzzling(self) -> bool:
        """Whether something was said that does not lie on the path."""
        path, base = self.path, self.path.base.seq
        for sender, run in self.runs.items():
            if run.digests and max(self.match.get(sender, 0), base) < run.end:
                return True
        if self.ready.low or self.confirmed.low:
            return True
        return any(position > path.end for position in self.ahead.values())
