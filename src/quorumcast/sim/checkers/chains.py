"""Confirmed chains: what correct replicas state READY or CONFIRMED for is one chain per stream.

Every READY and CONFIRMED record is recomputed from the digests and bodies that the replica stored,
so it must name what that replica can serve; and where two replicas name a position, they name the
same chain digest.
"""

from __future__ import annotations

from quorumcast.auth.digests import chains_after
from quorumcast.core.ids import Stream
from quorumcast.core.records import Confirmed, Floored, MadeReady
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.store import Store, StoredStream

RULE = "chains"

Known = dict[tuple[Stream, int], tuple[bytes, str]]


def check(case: Case) -> list[Violation]:
    """Replay every correct replica's records, and compare each chain with the others'."""
    known: Known = {}
    found: list[Violation] = []
    for replica in case.replicas:
        found += _replay(case, replica, known)
    return found


def _replay(case: Case, replica: str, known: Known) -> list[Violation]:
    found: list[Violation] = []
    store = Store(case.cluster.id)
    done: dict[Stream, int] = {}
    stored = case.trace.stored.get(replica, [])
    # A floor that f+1 replicas named is taken without the bodies below it.
    taken = {
        (each.record.stream, each.record.position)
        for each in stored
        if isinstance(each.record, Floored) and each.record.confirmed
    }
    for each in stored:
        record = each.record
        if record is None:
            store = Store(case.cluster.id)
            done.clear()
            continue
        store.apply((record,))
        if isinstance(record, MadeReady | Confirmed):
            stream = record.stream
            computed = _computed(store.streams[stream], record, done.get(stream, 0) + 1)
            if isinstance(record, Confirmed):
                done[stream] = record.position
                if not computed and (stream, record.position) in taken:
                    computed = [(record.position, record.chain)]
            found += _judge(replica, record, computed, known)
    return found


def _computed(
    stored: StoredStream, record: MadeReady | Confirmed, above: int
) -> list[tuple[int, bytes]]:
    """The chain digests up to a record's position, from what the replica stored itself."""
    if isinstance(record, MadeReady) and record.digests:
        if not stored.base.seq < record.first <= stored.head + 1:
            return []
        run = chains_after(stored.chain(record.first - 1), record.digests)
        return list(enumerate(run, record.first))
    if not stored.base.seq < record.position <= stored.head:
        return []
    first = record.first if isinstance(record, MadeReady) else min(above, record.position)
    positions = range(max(first, stored.base.seq + 1), record.position + 1)
    return [(position, stored.chain(position)) for position in positions]


def _judge(
    replica: str,
    record: MadeReady | Confirmed,
    computed: list[tuple[int, bytes]],
    known: Known,
) -> list[Violation]:
    name = "READY" if isinstance(record, MadeReady) else "CONFIRMED"
    where = f"position {record.position} of {record.stream}"
    if not computed or computed[-1] != (record.position, record.chain):
        return [Violation(RULE, f"{replica} stored {name} for {where} without what it names")]
    for position, chain in computed:
        other, whose = known.setdefault((record.stream, position), (chain, replica))
        if other != chain:
            return [
                Violation(
                    RULE,
                    f"{replica} stored {name} for {where}, which contradicts {whose} "
                    f"at position {position}",
                )
            ]
    return []
