"""FIFO without gaps: per stream, positions come in order, each the one after the last.

A subscription from the beginning sees every stream from position 1. A gap is a violation unless
replicas really dropped what is missing. Under a correct publisher's name the publications of a
stream are consecutive calls of one user in one life.
"""

from __future__ import annotations

from quorumcast.core.ids import Lane, Stream
from quorumcast.sim.checkers.case import Case, Seen, Violation
from quorumcast.sim.checkers.gaps import Gaps, gaps_of

RULE = "fifo"

Calls = dict[tuple[str, str, Lane, bytes], tuple[str, int]]


def check(case: Case) -> list[Violation]:
    """Follow every stream at every subscriber."""
    found: list[Violation] = []
    calls: Calls = {
        (p.party, p.channel, p.lane, p.body): (p.life, p.number) for p in case.trace.published
    }
    for life in case.trace.delivered:
        gaps = gaps_of(case, life)
        found += [
            Violation(
                RULE,
                f"{life} was told that positions {gap.first} to {gap.last} of {gap.stream} "
                "are gone, but not enough replicas dropped them",
            )
            for gap in gaps.false
        ]
        parts: dict[tuple[Stream, int], list[Seen]] = {}
        for each in case.seen[life]:
            parts.setdefault((each.stream, case.since(life, each)), []).append(each)
        for part in parts.values():
            found += _positions(case, life, part, gaps)
            found += _calls(life, part, calls)
    return found


def _positions(case: Case, life: str, part: list[Seen], gaps: Gaps) -> list[Violation]:
    found: list[Violation] = []
    stream = part[0].stream
    asked = case.asked(life, stream, part[0].tick)
    due = None if asked is None else asked.first
    for each in part:
        due = each.position if due is None else gaps.after(stream, due)
        if each.position != due:
            found.append(
                Violation(
                    RULE,
                    f"{life} delivered position {each.position} of {stream} where {due} was due",
                )
            )
        due = each.position + 1
    return found


def _calls(life: str, part: list[Seen], calls: Calls) -> list[Violation]:
    found: list[Violation] = []
    before: tuple[str, int, int] | None = None
    for each in part:
        stream = each.stream
        call = calls.get((stream.publisher, stream.channel, stream.lane, each.body))
        if call is None:
            continue
        whose, number = call
        if before is not None and (whose, number - each.position) != (
            before[0],
            before[1] - before[2],
        ):
            found.append(
                Violation(
                    RULE,
                    f"{life} delivered publication {number} of {whose} at position "
                    f"{each.position} of {stream}, after publication {before[1]} of {before[0]} "
                    f"at {before[2]}",
                )
            )
        before = (whose, number, each.position)
    return found
