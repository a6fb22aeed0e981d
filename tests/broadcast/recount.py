"""The tally's rules counted anew from all statements, slowly: what the tests compare with."""

from __future__ import annotations

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.tally import Tally, kth
from quorumcast.core.ids import Position
from tests.broadcast.cast import digests


class Votes:
    """One sender's votes by position: consecutive, and the first at a position counts."""

    def __init__(self) -> None:
        self.at: dict[int, bytes] = {}

    def merge(self, first: int, run: bytes) -> int | None:
        new = {first + index: run[index * 32 : index * 32 + 32] for index in range(len(run) // 32)}
        if self.at and first > max(self.at) + 1:
            return None  # a hole above what is known: not taken
        if self.at and max(new) + 1 < min(self.at):
            self.at = new  # a hole below: what its sender repeats from its confirmed position
            return None
        for position, digest in new.items():
            if self.at.setdefault(position, digest) != digest:
                return position
        return None


class Recount:
    """Remembers every statement that lay within the window when it came."""

    def __init__(self, path: Path, window: int) -> None:
        self.path, self.window = path, window
        self.votes: dict[str, Votes] = {}
        self.ready: dict[str, list[Position]] = {}
        self.confirmed: dict[str, list[Position]] = {}

    def held(self, sender: str, first: int, run: bytes) -> int | None:
        base = self.path.base.seq
        kept = [
            (first + index, run[index * 32 : index * 32 + 32]) for index in range(len(run) // 32)
        ]
        kept = [(at, digest) for at, digest in kept if base < at <= base + self.window]
        if not kept:
            return None
        votes = self.votes.setdefault(sender, Votes())
        return votes.merge(kept[0][0], b"".join(digest for _, digest in kept))

    def state(self, kept: dict[str, list[Position]], sender: str, statement: Position) -> None:
        if 0 < statement.seq - self.path.base.seq <= self.window:
            kept.setdefault(sender, []).append(statement)

    def move(self, path: Path) -> None:
        """Another path, or the same with its base moved up."""
        self.path, base = path, path.base.seq
        for votes in self.votes.values():
            votes.at = {at: digest for at, digest in votes.at.items() if at > base}
        for kept in (self.ready, self.confirmed):
            for sender in kept:
                kept[sender] = [each for each in kept[sender] if each.seq > base]

    def forget(self, sender: str) -> None:
        for kept in (self.votes, self.ready, self.confirmed):
            kept.pop(sender, None)

    # -- counting ------------------------------------------------------------------------------

    def covered(self, kept: dict[str, list[Position]], sender: str) -> int:
        on = [at.seq for at in kept.get(sender, ()) if self.path.chain(at.seq) == at.chain]
        return max([self.path.base.seq, *on])

    def highest_covered(self, kept: dict[str, list[Position]], sender: str) -> int:
        """As `covered`, had the sender said its highest statement alone, the first of equals."""
        highest = max(kept.get(sender, ()), key=lambda each: each.seq, default=None)
        return self.covered({sender: [] if highest is None else [highest]}, sender)

    def matched(self, sender: str) -> int:
        """How far the sender's votes agree with the path; CONFIRMED stands for votes below it."""
        votes = self.votes.get(sender, Votes()).at
        confirmed = self.covered(self.confirmed, sender)
        at = self.path.base.seq
        while at < self.path.end and (
            at < confirmed or votes.get(at + 1, b"") == self.path.digest(at + 1)
        ):
            at += 1
        return at

    def readied(self, sender: str) -> int:
        return max(self.covered(self.ready, sender), self.covered(self.confirmed, sender))


class Twin:
    """A tally and its recount, told the same."""

    def __init__(self, window: int) -> None:
        base = Position(0, bytes(32))
        self.path = Path(base)
        self.tally = Tally(self.path, window)
        self.naive = Recount(self.path, window)
        self.window = window

    @property
    def base(self) -> int:
        return self.path.base.seq

    def do(self, step: tuple[str, str, int, str]) -> None:
        """One step: who (or nobody), a number, and a text of contents."""
        what, sender, number, text = step
        statement = Path(self.path.base, digests(text)).tip
        if what == "held" and text:
            first, run = max(1, self.base + number), digests(text)
            clash = self.tally.held(sender, first, run)
            assert clash == self.naive.held(sender, first, run)
        elif what == "ready":
            self.tally.ready_at(sender, statement)
            self.naive.state(self.naive.ready, sender, statement)
        elif what == "confirmed":
            self.tally.confirmed_at(sender, statement)
            self.naive.state(self.naive.confirmed, sender, statement)
        elif what == "grow":
            room = self.base + self.window - self.path.end
            self.path.extend(digests(text[:room]))
            self.tally.grown()
        elif what == "trim":
            self.path.trim(min(self.base + number, self.path.end))
            self.tally.trimmed()
            self.naive.move(self.path)
        elif what in ("replace", "floor"):
            base = self.path.base
            if what == "floor":
                base = Position(base.seq + 1 + number, b"f" * 32)
            self.path = Path(base, digests(text[: self.window]))
            self.tally.replaced(self.path)
            self.naive.move(self.path)
        elif what == "forget":
            self.tally.forget(sender)
            self.naive.forget(sender)

    def counted(self, kept: dict[str, int], senders: str) -> list[int]:
        """What the tally counts, where at or below the base is all the same."""
        return [max(self.base, kept.get(sender, 0)) for sender in senders]

    def check(self, senders: str) -> None:
        """Every count is what the rules say."""
        tally, naive = self.tally, self.naive
        matched = [naive.matched(sender) for sender in senders]
        readied = [naive.readied(sender) for sender in senders]
        confirmed = [naive.covered(naive.confirmed, sender) for sender in senders]
        assert self.counted(tally.match, senders) == matched
        assert self.counted(tally.ready.on, senders) == readied
        assert self.counted(tally.confirmed.on, senders) == confirmed
        for count in range(1, len(senders) + 2):
            assert max(self.base, tally.held_by(count)) == max(self.base, kth(matched, count))
        for position in range(self.base + 1, self.path.end + 1):
            assert tally.voters(position) == sum(at >= position for at in matched)
