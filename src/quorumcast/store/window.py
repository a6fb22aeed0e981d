"""How many bytes of bodies a channel's streams have in memory, and which of them go.

When there are too many, the bodies that were confirmed longest ago go first. Should unconfirmed
bodies alone be too many (publishers that leave sessions unconfirmed can bring that about), those
of the streams go that had nothing new for the longest time, the lowest positions first. Digests
and votes stay: a position whose body went is answered without it, and the replica says that it is
below its floor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable

from quorumcast.core.limits import SHARE_BYTES
from quorumcast.store.kept import KeptStream
from quorumcast.store.runs import Run

WINDOW_BYTES = SHARE_BYTES + SHARE_BYTES // 2
"""Bodies of one channel. More than what may be in flight at one time, so that unconfirmed bodies
go only where sessions were left unconfirmed."""

_LEAST_QUEUE = 1024


class Window:
    """The bodies of one channel.

    >>> Window(1000).used_bytes
    0
    """

    __slots__ = ("_confirmed", "_longest", "most_bytes", "used_bytes")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0
        self._confirmed: deque[tuple[KeptStream, int]] = deque()
        """Streams and positions in the order in which they were confirmed."""
        self._longest = _LEAST_QUEUE

    def confirmed(self, kept: KeptStream) -> None:
        """A stream's confirmed position moved."""
        self._confirmed.append((kept, kept.marks.confirmed.seq))
        if len(self._confirmed) > self._longest:
            self._confirmed = deque(each for each in self._confirmed if _has_bodies(*each))
            self._longest = _LEAST_QUEUE + 2 * len(self._confirmed)

    def enforce(self, streams: Iterable[KeptStream]) -> None:
        """Let bodies go until there are few enough; `streams` are those of the channel."""
        while self.used_bytes > self.most_bytes and self._confirmed:
            kept, position = self._confirmed.popleft()
            before = kept.slots.size
            kept.slots.strip_whole(position)
            self.used_bytes -= before - kept.slots.size
        if self.used_bytes <= self.most_bytes:
            return
        enough = self.most_bytes - self.most_bytes // 8  # room for a while, for a pass costs
        for kept in sorted((each for each in streams if each.slots.size), key=_touched):
            if self.used_bytes <= enough:
                break
            before = kept.slots.size
            kept.slots.strip(kept.slots.reach(self.used_bytes - enough))
            self.used_bytes -= before - kept.slots.size


def _has_bodies(kept: KeptStream, position: int) -> bool:
    """Whether bodies are left for a position to let go; they go from the lowest on."""
    runs = kept.slots.list
    index = bisect_right(runs, position, key=_last)
    return index > 0 and runs[index - 1].bodies is not None


def _last(run: Run) -> int:
    return run.last


def _touched(kept: KeptStream) -> int:
    return kept.touched
