"""A run of digests above a known position, with the chain digest at every position of it."""

from __future__ import annotations

from quorumcast.auth.digests import chains_after
from quorumcast.core.ids import Position
from quorumcast.core.messages import DIGEST_BYTES as D


class Path:
    """Contents of consecutive positions of one stream, from just above `base`.

    Two paths over one base agree up to a position exactly where their chain digests are equal
    there.

    >>> path = Path(Position(0, bytes(32)))
    >>> path.extend(b"a" * 32 + b"b" * 32)
    >>> path.end, path.digest(2) == b"b" * 32
    (2, True)
    """

    __slots__ = ("base", "chains", "digests")

    def __init__(self, base: Position, digests: bytes = b"") -> None:
        self.base = base
        self.digests = bytearray()
        self.chains: list[bytes] = []
        if digests:
            self.extend(digests)

    @property
    def end(self) -> int:
        """The last position on the path; the base's if it is empty."""
        return self.base.seq + len(self.chains)

    @property
    def tip(self) -> Position:
        """The last position with its chain digest."""
        return Position(self.end, self.chains[-1]) if self.chains else self.base

    def chain(self, position: int) -> bytes | None:
        """c(position), or None where the path does not reach."""
        index = position - self.base.seq - 1
        if 0 <= index < len(self.chains):
            return self.chains[index]
        return self.base.chain if index == -1 else None

    def digest(self, position: int) -> bytes | None:
        """The digest at a position, or None where the path has none."""
        index = position - self.base.seq - 1
        if 0 <= index < len(self.chains):
            return bytes(self.digests[index * D : index * D + D])
        return None

    def run(self, first: int, last: int) -> bytes:
        """The digests from `first` to `last`, concatenated; both on the path."""
        offset = self.base.seq + 1
        return bytes(self.digests[(first - offset) * D : (last - offset + 1) * D])

    def extend(self, digests: bytes) -> None:
        """Append a run of digests."""
        self.chains += chains_after(self.tip.chain, digests)
        self.digests += digests

    def upto(self, position: int) -> Path:
        """A copy that ends at `position`."""
        copy = Path(self.base)
        count = max(0, position - self.base.seq)
        copy.chains = self.chains[:count]
        copy.digests = self.digests[: count * D]
        return copy

    def trim(self, position: int) -> None:
        """Make `position`, which is on the path, the base."""
        count = position - self.base.seq
        if count <= 0:
            return
        self.base = Position(position, self.chains[count - 1])
        del self.chains[:count]
        del self.digests[: count * D]

    def common(self, other: Path) -> int:
        """The last position up to which both paths, of one base, have the same contents."""
        low, high = 0, min(len(self.chains), len(other.chains))
        if high == 0 or self.chains[high - 1] == other.chains[high - 1]:
            return self.base.seq + high
        while low < high - 1:  # chains[low - 1] agree, chains[high - 1] do not
            middle = (low + high) // 2
            if self.chains[middle - 1] == other.chains[middle - 1]:
                low = middle
            else:
                high = middle
        return self.base.seq + low


def common_digests(left: bytes | bytearray, right: bytes | bytearray) -> int:
    """How many leading digests two runs share.

    >>> common_digests(b"a" * 64, b"a" * 32 + b"b" * 32)
    1
    """
    high = min(len(left), len(right)) // D
    if left[: high * D] == right[: high * D]:
        return high
    low = 0
    while low < high - 1:  # the first `low` agree, the first `high` do not
        middle = (low + high) // 2
        if left[low * D : middle * D] == right[low * D : middle * D]:
            low = middle
        else:
            high = middle
    return low


def consecutive(positions: list[int]) -> list[tuple[int, int]]:
    """Ascending positions as runs (first, last).

    >>> consecutive([1, 2, 5])
    [(1, 2), (5, 5)]
    """
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and runs[-1][1] == position - 1:
            runs[-1] = (runs[-1][0], position)
        else:
            runs.append((position, position))
    return runs
