"""Durability: what was acknowledged was stored, by enough replicas, before it was acknowledged.

Of the Q replicas (f+1 on crash channels) that acknowledge, the Byzantine ones may have lied; all
others had the very body on disk at that time. Disks that were wiped later count as faulty.
"""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.core.records import Accepted, Installed
from quorumcast.sim.checkers.case import Case, Violation

RULE = "durability"


def check(case: Case) -> list[Violation]:
    """Count, for each acknowledged publication, the correct disks that had it by then."""
    held: dict[tuple[Stream, int, bytes], dict[str, int]] = {}
    for replica in case.replicas:
        for each in case.trace.stored.get(replica, ()):
            record = each.record
            if isinstance(record, Accepted | Installed):
                for index, body in enumerate(record.bodies):
                    holders = held.setdefault((record.stream, record.first + index, body), {})
                    holders.setdefault(replica, each.tick)
    liars = len(case.cluster.replicas) - len(case.replicas)
    found: list[Violation] = []
    for sent in case.sent:
        stream = sent.stream
        if stream is None:
            continue
        need = case.channels[stream.channel].quorum(case.cluster).votes - liars
        holders = held.get((stream, sent.position, sent.published.body), {})
        by_then = [replica for replica, tick in holders.items() if tick <= sent.tick]
        if len(by_then) < need:
            found.append(
                Violation(
                    RULE,
                    f"publication {sent.published.number} of {sent.published.life} was "
                    f"acknowledged when {len(by_then)} correct replicas had stored it, not {need}",
                )
            )
    return found
