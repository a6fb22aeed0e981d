"""One vote per id: no correct replica ever stores votes for two contents of one id.

Within an incarnation, on every path and over restarts. Votes are cast in order, and their digests
are those of the bodies stored with them.
"""

from __future__ import annotations

from quorumcast.auth.digests import Digester
from quorumcast.core.ids import Incarnation, Stream
from quorumcast.core.messages import DIGEST_BYTES
from quorumcast.core.records import Accepted
from quorumcast.sim.checkers.case import Case, Violation

RULE = "votes"


def check(case: Case) -> list[Violation]:
    """Collect the votes of every correct replica, by incarnation, stream and position."""
    found: list[Violation] = []
    digesters: dict[Stream, Digester] = {}
    for replica in case.replicas:
        votes: dict[tuple[Incarnation, Stream, int], bytes] = {}
        for each in case.trace.stored.get(replica, ()):
            record = each.record
            if not isinstance(record, Accepted):
                continue
            digester = digesters.get(record.stream)
            if digester is None:
                digester = digesters[record.stream] = Digester(case.cluster.id, record.stream)
            if digester.digests(record.first, record.bodies) != record.digests:
                found.append(
                    Violation(
                        RULE,
                        f"{replica} voted for digests that are not of its bodies, from "
                        f"position {record.first} of {record.stream}",
                    )
                )
            for index in range(len(record.bodies)):
                digest = record.digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
                key = (each.incarnation, record.stream, record.first + index)
                if votes.setdefault(key, digest) != digest:
                    found.append(
                        Violation(
                            RULE,
                            f"{replica} voted for two contents at position "
                            f"{record.first + index} of {record.stream}",
                        )
                    )
    return found
