"""FIFO without gaps: per stream, positions come in order, each the one after the last.

A subscription from the beginning sees every stream from position 1. Under a correct publisher's
name the publications of a stream are consecutive calls of its user.
"""

from __future__ import annotations

from quorumcast.core.ids import Lane, Stream
from quorumcast.core.outcomes import Gap
from quorumcast.sim.checkers.case import Case, Seen, Violation
from quorumcast.sim.checkers.uniqueness import split

RULE = "fifo"


def check(case: Case) -> list[Violation]:
    """Follow every stream at every subscriber."""
    found: list[Violation] = []
    numbers = {(p.party, p.channel, p.lane, p.body): p.number for p in case.trace.published}
    for life, seen in case.seen.items():
        earliest = {
            channel: life in case.from_the_start(channel) for channel in sorted(case.channels)
        }
        gaps = _gaps(case, life)
        for part in split(case, life, seen):
            found += _positions(life, part, earliest, gaps)
            found += _calls(life, part, numbers)
    return found


def _gaps(case: Case, life: str) -> dict[tuple[Stream, int], int]:
    """Where a subscriber was told that reading goes on: (stream, first missing) -> next."""
    return {
        (told.what.stream, told.what.first): told.what.last + 1
        for told in case.trace.delivered[life]
        if isinstance(told.what, Gap)
    }


def _positions(
    life: str,
    part: list[Seen],
    earliest: dict[str, bool],
    gaps: dict[tuple[Stream, int], int],
) -> list[Violation]:
    found: list[Violation] = []
    last: dict[Stream, int] = {}
    for each in part:
        stream = each.stream
        due = last[stream] + 1 if stream in last else 1
        due = gaps.get((stream, due), due)
        known = stream in last or earliest.get(stream.channel, False)
        if known and each.position != due:
            found.append(
                Violation(
                    RULE,
                    f"{life} delivered position {each.position} of {stream} where {due} was due",
                )
            )
        last[stream] = each.position
    return found


def _calls(
    life: str, part: list[Seen], numbers: dict[tuple[str, str, Lane, bytes], int]
) -> list[Violation]:
    found: list[Violation] = []
    last: dict[Stream, tuple[int, int]] = {}
    for each in part:
        stream = each.stream
        number = numbers.get((stream.publisher, stream.channel, stream.lane, each.body))
        if number is None:
            continue
        before = last.get(stream)
        if before is not None and number - before[0] != each.position - before[1]:
            found.append(
                Violation(
                    RULE,
                    f"{life} delivered publication {number} of {stream.publisher} at position "
                    f"{each.position} of {stream}, after publication {before[0]} at {before[1]}",
                )
            )
        last[stream] = (number, each.position)
    return found
