"""Fairness: a correct publisher is served in bounded time, whoever else floods the cluster."""

from __future__ import annotations

from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.network import TICKS_PER_SECOND

RULE = "fairness"


def check(case: Case) -> list[Violation]:
    """Compare the longest wait for an acknowledgement with what a publisher may expect."""
    worst: dict[str, tuple[int, int]] = {}
    for sent in case.sent:
        if sent.stream is not None:
            wait = sent.tick - sent.published.tick
            life = sent.published.life
            worst[life] = max(worst.get(life, (0, 0)), (wait, sent.published.number))
    return [
        Violation(
            RULE,
            f"publication {number} of {life} waited {wait / TICKS_PER_SECOND:g} s for its "
            f"acknowledgement, more than {case.patience_ticks / TICKS_PER_SECOND:g}",
        )
        for life, (wait, number) in sorted(worst.items())
        if wait > case.patience_ticks
    ]
