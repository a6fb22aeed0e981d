"""Relevance: a subscriber receives only what matches a subscription that it issued."""

from __future__ import annotations

from quorumcast.sim.checkers.case import Case, Violation, matches

RULE = "relevance"


def check(case: Case) -> list[Violation]:
    """Compare every delivery with the subscription in force when it was made."""
    found: list[Violation] = []
    for life, seen in case.seen.items():
        for each in seen:
            force = case.subscription(life, each.stream.channel, each.tick)
            if force is None or not matches(force.patterns, each.stream.publisher):
                asked = "nothing" if force is None else ", ".join(force.patterns)
                found.append(
                    Violation(
                        RULE,
                        f"{life} was handed position {each.position} of {each.stream}, "
                        f"but had asked for {asked}",
                    )
                )
    return found
