"""Totality: after healing, what one correct subscriber delivered, all that match have.

On `ab`, two may differ by 2α in a stream of a faulty publisher, because Q votes may reach one of
them and be confirmed never; and this in a few streams only, because a correct replica takes
publications directly in at most M unconfirmed sessions of a publisher and lane at a time. With a
correct publisher, alive or dead, and on `bracha` with any, all have the same.
"""

from __future__ import annotations

from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.core.limits import SESSION_QUIET_SECONDS, SESSIONS_UNCONFIRMED
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.checkers.gaps import gaps_of
from quorumcast.sim.checkers.promises import promise_of
from quorumcast.sim.network import TICKS_PER_SECOND

RULE = "totality"


def check(case: Case) -> list[Violation]:
    """Compare how far the subscribers came in each stream."""
    if not case.judged:
        return []
    found: list[Violation] = []
    differing: dict[tuple[str, Party, Lane], int] = {}
    for stream, ends in sorted(_ends(case).items()):
        channel = case.channels[stream.channel]
        promise = promise_of(channel)
        correct = stream.publisher in case.publishers
        if promise.totality == "none" or (not correct and promise.faulty_publisher == "nothing"):
            continue
        exact = correct or promise.totality == "all"
        allowed = 0 if exact else channel.window
        low, high = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
        difference = ends[high] - ends[low]
        if difference > allowed:
            found.append(
                Violation(
                    RULE,
                    f"in {stream} {high} came to position {ends[high]} and {low} "
                    f"to {ends[low]}; they may differ by {allowed}",
                )
            )
        elif difference:
            source = (stream.channel, stream.publisher, stream.lane)
            differing[source] = differing.get(source, 0) + 1
    return found + _too_many(case, differing)


def _ends(case: Case) -> dict[Stream, dict[str, int]]:
    """How far each subscriber came in each stream; 0 where one that is owed all has nothing."""
    got = {life: case.got(life) for life in case.trace.subscribed if life in case.live}
    ends: dict[Stream, dict[str, int]] = {}
    for stream in sorted({stream for streams in got.values() for stream in streams}):
        for life, streams in got.items():
            asked = case.asked(life, stream)
            if stream in streams:
                ends.setdefault(stream, {})[life] = max(streams[stream])
            elif asked is not None and asked.first is not None:
                ends.setdefault(stream, {})[life] = asked.first - 1
    for life in got:
        for gap in gaps_of(case, life).true:
            reached = ends.get(gap.stream, {})
            if life in reached:
                top = max(reached.values()) if gap.ended else gap.last
                reached[life] = max(reached[life], top)
    return ends


def _too_many(case: Case, differing: dict[tuple[str, Party, Lane], int]) -> list[Violation]:
    """More unfinished streams of one source than correct replicas take in."""
    last = max((told.tick for life in case.trace.delivered.values() for told in life), default=0)
    turns = 1 + int(last / TICKS_PER_SECOND / SESSION_QUIET_SECONDS)
    most = len(case.replicas) * SESSIONS_UNCONFIRMED * turns
    return [
        Violation(
            RULE,
            f"subscribers differ in {count} streams of {publisher} on {channel} "
            f"({lane.name.lower()}); it may be {most}",
        )
        for (channel, publisher, lane), count in sorted(differing.items())
        if count > most
    ]
