"""Durability: what was acknowledged was stored by enough replicas before that, and stays stored.

Of the Q replicas (f+1 on crash channels) that acknowledge, the Byzantine ones may have lied; all
others had the very body on disk at that time. At the end it still stands there in every one of
them that did not lose its disk, unless retention dropped it.
"""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.core.records import Accepted, Installed
from quorumcast.sim.checkers.case import Case, Sent, Violation
from quorumcast.sim.store import Store

RULE = "durability"


def check(case: Case) -> list[Violation]:
    """Count, for each acknowledged publication, the correct disks that had it by then."""
    held: dict[tuple[Stream, int, bytes], dict[str, int]] = {}
    for replica in case.replicas:
        for each in case.trace.stored.get(replica, ()):
            record = each.record
            if isinstance(record, Accepted | Installed):
                for position, body in enumerate(record.bodies, record.first):
                    holders = held.setdefault((record.stream, position, body), {})
                    holders.setdefault(replica, each.tick)
    stores = {replica: _store(case, replica) for replica in case.replicas}
    found: list[Violation] = []
    for sent in case.sent:
        stream = sent.stream
        if stream is None:
            continue
        need = case.channels[stream.channel].quorum(case.cluster).votes - case.liars
        holders = held.get((stream, sent.position, sent.published.body), {})
        by_then = [replica for replica, tick in holders.items() if tick <= sent.tick]
        what = f"publication {sent.published.number} of {sent.published.life}"
        if len(by_then) < need:
            found.append(
                Violation(
                    RULE,
                    f"{what} was acknowledged when {len(by_then)} correct replicas had stored it, "
                    f"not {need}",
                )
            )
        found += [
            Violation(RULE, f"{what} was acknowledged, and {replica} has it no more")
            for replica in by_then
            if replica not in case.lost and not _has(stores[replica], stream, sent)
        ]
    return found


def _store(case: Case, replica: str) -> Store:
    """A replica's disk as it is at the end."""
    store = Store(case.cluster.id)
    for each in case.trace.stored.get(replica, ()):
        if each.record is None:
            store = Store(case.cluster.id)
        else:
            store.apply((each.record,))
    return store


def _has(store: Store, stream: Stream, sent: Sent) -> bool:
    stored = store.streams.get(stream)
    if stored is None:
        return False
    if sent.position <= max(stored.base.seq, stored.floor.seq):
        return True
    slot = stored.slots.get(sent.position)
    return slot is not None and slot.body == sent.published.body
