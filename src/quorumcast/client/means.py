"""What the sessions of a publisher share: how much is sent again, and kept for those behind.

A replica that asks, or says that it takes nothing above a position, is sent publications again. One
that lies could go on with it for ever, at some bytes a question; so there is a rate.
"""

from __future__ import annotations

from quorumcast.core.ids import Party
from quorumcast.core.limits import AGAIN_BYTES, AGAIN_BYTES_PER_SECOND
from quorumcast.core.rates import Bucket


class Means:
    """A publisher's means.

    >>> means = Means()
    >>> means.again("r4", AGAIN_BYTES), means.again("r4", 1)
    (True, False)
    """

    __slots__ = ("_bucket", "kept", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.kept = 0
        """What all sessions keep for replicas that are a little behind, in bytes."""
        self._bucket = Bucket(AGAIN_BYTES_PER_SECOND, AGAIN_BYTES)

    def again(self, replica: Party, size: int) -> bool:
        """Whether so many bytes may be sent to a replica again."""
        return self._bucket.take(replica, self.now, size)
