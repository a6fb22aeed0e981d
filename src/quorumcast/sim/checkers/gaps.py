"""Gaps that a subscriber was told of, and whether they were true.

A gap is true when n-f replicas dropped everything up to its end, of which Byzantine ones may
have lied and those that lost their disk need not have a record of it. Without retention nobody
drops anything, and every gap is a loss.
"""

from __future__ import annotations

from typing import NamedTuple

from quorumcast.core.ids import Stream
from quorumcast.core.outcomes import Gap
from quorumcast.core.records import Floored
from quorumcast.sim.checkers.case import Case


class Gaps(NamedTuple):
    """The true gaps of one life, and the false ones."""

    true: list[Gap]
    false: list[Gap]

    def covers(self, stream: Stream, position: int) -> bool:
        """Whether a position lies in a true gap."""
        return any(
            gap.stream == stream and gap.first <= position and (gap.ended or position <= gap.last)
            for gap in self.true
        )

    def after(self, stream: Stream, due: int) -> int:
        """The position that is due, once true gaps are passed over."""
        for gap in self.true:
            if gap.stream == stream and gap.first == due and not gap.ended:
                due = gap.last + 1
        return due


def gaps_of(case: Case, life: str) -> Gaps:
    """What a life was told of gaps, judged by the floors on correct replicas' disks.

    >>> from quorumcast.core.ids import Cluster
    >>> from quorumcast.sim.trace import Trace
    >>> nobody = Cluster(bytes(32), 1, (), 0, bytes(32))
    >>> case = Case(Trace(), nobody, {}, replicas=(), publishers=frozenset(), live=frozenset())
    >>> gaps_of(case, "s1")
    Gaps(true=[], false=[])
    """
    gaps = Gaps([], [])
    for told in case.trace.delivered.get(life, ()):
        if isinstance(told.what, Gap):
            true = _is_true(case, told.what, told.tick)
            (gaps.true if true else gaps.false).append(told.what)
    return gaps


def _is_true(case: Case, gap: Gap, tick: int) -> bool:
    n, f = len(case.cluster.replicas), case.cluster.faults
    upto = gap.first if gap.ended else gap.last
    dropped = 0
    for replica in case.replicas:
        dropped += any(
            isinstance(each.record, Floored)
            and each.record.stream == gap.stream
            and each.record.position >= upto
            and each.tick <= tick
            for each in case.trace.stored.get(replica, ())
        )
    return dropped >= max(1, n - f - case.liars - len(case.lost))
