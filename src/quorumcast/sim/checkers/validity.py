"""Validity: after healing, what a correct publisher published is at every matching subscriber.

A publisher that runs to the end has everything acknowledged; of one that died, what was
acknowledged counts. A subscriber that came late or changed its subscription is owed everything
from the first position that it delivered on.
"""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.core.outcomes import OutcomeUnknown, Refused
from quorumcast.sim.checkers.case import Case, Sent, Violation

RULE = "validity"


def check(case: Case) -> list[Violation]:
    """Compare what was published with what was acknowledged, and that with what arrived."""
    if not case.judged:
        return []
    found = _unacknowledged(case) + _misplaced(case)
    for channel in sorted(case.channels):
        whole = case.from_the_start(channel)
        for life in sorted(case.live & set(case.trace.subscribed)):
            found += _missing(case, life, channel, whole=life in whole)
    return found


def _unacknowledged(case: Case) -> list[Violation]:
    excused = {
        (life, told.what.channel, told.what.lane, number)
        for life, outcomes in case.trace.outcomes.items()
        for told in outcomes
        if isinstance(told.what, OutcomeUnknown)
        for number in range(told.what.first, told.what.last + 1)
    }
    found = [
        Violation(RULE, f"{life} was refused: {told.what.reason}")
        for life, outcomes in case.trace.outcomes.items()
        for told in outcomes
        if isinstance(told.what, Refused)
    ]
    for sent in case.sent:
        mine = sent.published
        key = (mine.life, mine.channel, mine.lane, mine.number)
        if sent.stream is None and mine.life in case.live and key not in excused:
            found.append(
                Violation(
                    RULE,
                    f"publication {mine.number} of {mine.life} on {mine.channel} "
                    f"({mine.lane.name.lower()}) was never acknowledged",
                )
            )
    return found


def _misplaced(case: Case) -> list[Violation]:
    """Acknowledged at a position where a subscriber delivered something else."""
    acknowledged = {(each.stream, each.position): each for each in case.sent if each.stream}
    found: list[Violation] = []
    for life, seen in case.seen.items():
        for each in seen:
            sent = acknowledged.get((each.stream, each.position))
            if sent is not None and sent.published.body != each.body:
                found.append(
                    Violation(
                        RULE,
                        f"{life} delivered {each.body!r:.40} at position {each.position} of "
                        f"{each.stream}, where {sent.published.body!r:.40} was acknowledged",
                    )
                )
    return found


def _missing(case: Case, life: str, channel: str, *, whole: bool) -> list[Violation]:
    have: dict[Stream, set[int]] = {}
    for each in case.seen.get(life, ()):
        have.setdefault(each.stream, set()).add(each.position)
    owed: dict[Stream, list[Sent]] = {}
    for sent in case.sent:
        stream = sent.stream
        if stream is not None and stream.channel == channel and case.wants(life, stream):
            owed.setdefault(stream, []).append(sent)
    found: list[Violation] = []
    for stream, publications in owed.items():
        got = have.get(stream, set[int]())
        start = 1 if whole else min(got, default=2**62)
        lacking = sorted(s.position for s in publications if s.position not in got)
        lacking = [position for position in lacking if position >= start]
        if lacking:
            found.append(
                Violation(
                    RULE,
                    f"{life} never got {len(lacking)} acknowledged publications of {stream}, "
                    f"the first at position {lacking[0]}",
                )
            )
    return found
