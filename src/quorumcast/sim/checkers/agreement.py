"""Agreement: no two correct subscribers deliver different content for one publication id."""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.sim.checkers.case import Case, Violation

RULE = "agreement"


def check(case: Case) -> list[Violation]:
    """Compare every body with the first one that was delivered for its id."""
    first: dict[tuple[Stream, int], tuple[str, bytes]] = {}
    found: list[Violation] = []
    for life, seen in case.seen.items():
        for each in seen:
            other, body = first.setdefault((each.stream, each.position), (life, each.body))
            if body != each.body:
                found.append(
                    Violation(
                        RULE,
                        f"{other} delivered {body!r:.40} and {life} {each.body!r:.40} "
                        f"for position {each.position} of {each.stream}",
                    )
                )
    return found
