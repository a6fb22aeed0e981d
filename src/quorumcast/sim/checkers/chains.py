"""Confirmed chains: what correct replicas state READY or CONFIRMED for is one chain per stream.

Every READY and CONFIRMED record is recomputed from the digests and bodies that the replica stored,
so it must name what that replica can serve; CONFIRMED never goes back; where two replicas name a
position, they name the same chain digest; and what correct subscribers delivered is that chain.
"""

from __future__ import annotations

from quorumcast.auth.digests import Digester, chain_after, chains_after
from quorumcast.core.ids import Stream
from quorumcast.core.records import Confirmed, Floored, MadeReady
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.store import Store, StoredStream
from quorumcast.sim.trace import Stored

RULE = "chains"

Known = dict[tuple[Stream, int], tuple[bytes, str]]


def check(case: Case) -> list[Violation]:
    """Replay every correct replica's records, and compare each chain with the others'."""
    known: Known = {}
    found: list[Violation] = []
    for replica in case.replicas:
        found += _replay(case, replica, known)
    for life in case.seen:
        found += _delivered(case, life, known)
    return found


def _replay(case: Case, replica: str, known: Known) -> list[Violation]:
    found: list[Violation] = []
    store = Store(case.cluster.id)
    done: dict[Stream, int] = {}
    stored = case.trace.stored.get(replica, [])
    for index, each in enumerate(stored):
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
                if record.position < done.get(stream, 0) and replica not in case.lost:
                    text = f"{replica} stored CONFIRMED for {stream} at {record.position}, "
                    found.append(Violation(RULE, f"{text}below {done[stream]}"))
                done[stream] = record.position
                if not computed and _takes_floor(stored, index, record):
                    computed = [(record.position, record.chain)]
            found += _judge(replica, record, computed, known)
    return found


def _takes_floor(stored: list[Stored], index: int, record: Confirmed) -> bool:
    """A floor that f+1 replicas named is taken without the bodies below it, in one turn."""
    floor = Floored(record.stream, record.position, record.chain, True)
    return index + 1 < len(stored) and stored[index + 1].record == floor


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


def _delivered(case: Case, life: str, known: Known) -> list[Violation]:
    """Where a subscriber read from the beginning, its chain is the confirmed one."""
    digesters: dict[Stream, Digester] = {}
    ends: dict[Stream, tuple[int, bytes]] = {}
    found: dict[Stream, Violation] = {}
    for each in case.seen[life]:
        stream = each.stream
        if each.position == 1 and stream not in digesters:
            digesters[stream] = Digester(case.cluster.id, stream)
            ends[stream] = (0, digesters[stream].origin)
        if ends.get(stream, (-1, b""))[0] != each.position - 1:
            continue  # in the middle of a stream, or again from its beginning
        digest = digesters[stream].digest(each.position, each.body)
        chain = chain_after(ends[stream][1], digest)
        ends[stream] = (each.position, chain)
        other, whose = known.get((stream, each.position), (chain, ""))
        if other != chain and stream not in found:
            text = f"{life} delivered at position {each.position} of {stream} what contradicts "
            found[stream] = Violation(RULE, f"{text}READY or CONFIRMED of {whose}")
    return list(found.values())
