"""Uniqueness: nothing is delivered twice, neither an id nor one publication under two ids."""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.sim.checkers.case import Case, Seen, Violation, matches

RULE = "uniqueness"


def check(case: Case) -> list[Violation]:
    """Count ids per subscription, and the bodies of correct publishers, which are all different."""
    found: list[Violation] = []
    for life, seen in case.seen.items():
        for part in split(case, life, seen):
            ids: set[tuple[Stream, int]] = set()
            bodies: set[tuple[Stream, bytes]] = set()
            for each in part:
                mine = each.stream.publisher in case.publishers
                whole = (each.stream._replace(session=b""), each.body)
                if (each.stream, each.position) in ids:
                    found.append(
                        Violation(
                            RULE,
                            f"{life} delivered position {each.position} of {each.stream} twice",
                        )
                    )
                elif mine and whole in bodies:
                    found.append(
                        Violation(RULE, f"{life} delivered {each.body!r:.40} under two ids")
                    )
                ids.add((each.stream, each.position))
                bodies.add(whole)
    return found


def split(case: Case, life: str, seen: list[Seen]) -> list[list[Seen]]:
    """Deliveries by the subscription they were made under.

    A stream that was not asked for in between may begin again; one that always was goes on.
    """
    calls = case.trace.subscribed.get(life, [])
    if len(calls) <= 1:
        return [seen]
    parts: dict[int, list[Seen]] = {}
    for each in seen:
        breaks = sum(
            1
            for call in calls
            if call.channel == each.stream.channel
            and call.tick <= each.tick
            and not matches(call.patterns, each.stream.publisher)
        )
        parts.setdefault(breaks, []).append(each)
    return list(parts.values())
