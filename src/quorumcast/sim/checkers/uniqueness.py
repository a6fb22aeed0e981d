"""Uniqueness: nothing is delivered twice, neither an id nor one publication under two ids.

A stream that was not asked for in between may begin again; one that always was goes on.
"""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.sim.checkers.case import Case, Violation

RULE = "uniqueness"


def check(case: Case) -> list[Violation]:
    """Count ids per subscription, and the bodies of correct publishers, which are all different."""
    found: list[Violation] = []
    for life, seen in case.seen.items():
        ids: set[tuple[int, Stream, int]] = set()
        bodies: set[tuple[int, Stream, bytes]] = set()
        for each in seen:
            since = case.since(life, each)
            mine = each.stream.publisher in case.publishers
            id_ = (since, each.stream, each.position)
            whole = (since, each.stream._replace(session=b""), each.body)
            if id_ in ids:
                found.append(
                    Violation(
                        RULE, f"{life} delivered position {each.position} of {each.stream} twice"
                    )
                )
            elif mine and whole in bodies:
                found.append(Violation(RULE, f"{life} delivered {each.body!r:.40} under two ids"))
            ids.add(id_)
            bodies.add(whole)
    return found
