"""Votes whose bodies are gone: what may be voted for again at these positions is fixed.

Where bodies live in memory and votes on disk, a replica that restarts finds votes without bodies.
It states nothing about them, for HELD says that the bodies are here. It fetches the bodies of just
these digests, from anybody, and takes nothing else at these positions until it is confirmed.
"""

from __future__ import annotations

from quorumcast.broadcast.path import common_digests
from quorumcast.broadcast.tally import Run
from quorumcast.core.messages import DIGEST_BYTES as D


class Pledges:
    """The digests that a replica is bound to, from one position on.

    >>> pledges = Pledges(4, b"a" * 32 + b"b" * 32)
    >>> pledges.agree(4, b"a" * 32 + b"c" * 32 + b"d" * 32), pledges.agree(6, b"c" * 32)
    (1, 1)
    """

    def __init__(self, first: int = 1, digests: bytes = b"") -> None:
        self._run = Run(first, digests)

    @property
    def any(self) -> bool:
        """Whether there is a vote without its body."""
        return bool(self._run.digests)

    def agree(self, first: int, digests: bytes) -> int:
        """How many leading digests, from position `first` on, contradict no earlier vote."""
        bound = self.after(first)
        shared = min(len(bound), len(digests)) // D
        same = common_digests(bound, digests)
        return same if same < shared else len(digests) // D

    def after(self, first: int) -> bytes:
        """The digests that are pledged from position `first` on, which is next to be voted for."""
        run = self._run
        return bytes(run.digests[(first - run.first) * D :]) if first >= run.first else b""

    def settle(self, position: int) -> None:
        """The bodies up to a position are here, or something is confirmed there."""
        self._run.trim(position)
