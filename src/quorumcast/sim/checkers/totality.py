"""Totality: after healing, what one correct subscriber delivered, all that match have.

On `ab`, two may differ by 2α in a stream of a faulty publisher, because Q votes may reach one of
them and be confirmed never. With a correct publisher, alive or dead, and on `bracha` with any, all
have the same.
"""

from __future__ import annotations

from quorumcast.core.ids import Stream
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.checkers.promises import promise_of

RULE = "totality"


def check(case: Case) -> list[Violation]:
    """Compare how far the subscribers from the beginning came in each stream."""
    if not case.judged:
        return []
    found: list[Violation] = []
    for name, channel in sorted(case.channels.items()):
        promise = promise_of(channel)
        if promise.totality == "none":
            continue
        lives = case.from_the_start(name)
        for stream, ends in sorted(_ends(case, lives, name).items()):
            correct = stream.publisher in case.publishers
            if not correct and promise.faulty_publisher == "nothing":
                continue
            exact = correct or promise.totality == "all"
            allowed = 0 if exact else channel.window
            low, high = min(ends, key=ends.__getitem__), max(ends, key=ends.__getitem__)
            if ends[high] - ends[low] > allowed:
                found.append(
                    Violation(
                        RULE,
                        f"in {stream} {high} came to position {ends[high]} and {low} "
                        f"to {ends[low]}; they may differ by {allowed}",
                    )
                )
    return found


def _ends(case: Case, lives: list[str], channel: str) -> dict[Stream, dict[str, int]]:
    """The last position of each stream that each subscriber delivered; 0 where nothing."""
    ends: dict[Stream, dict[str, int]] = {}
    for life in lives:
        for each in case.seen.get(life, ()):
            if each.stream.channel == channel:
                ends.setdefault(each.stream, {})[life] = each.position
    for stream, reached in ends.items():
        for life in lives:
            if case.wants(life, stream):
                reached.setdefault(life, 0)
    return ends
