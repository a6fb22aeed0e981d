"""Fairness: a correct publisher is served in bounded time, whoever else floods the cluster.

The wait for an acknowledgement counts from the call, or from the healing of the network if that is
later. What is left then are a few questions and answers, each repeated with backoff.
"""

from __future__ import annotations

from quorumcast.core.limits import REPEAT_MOST_SECONDS
from quorumcast.sim.checkers.case import Case, Violation
from quorumcast.sim.network import TICKS_PER_SECOND

RULE = "fairness"

PATIENCE_TICKS = int(4 * REPEAT_MOST_SECONDS * TICKS_PER_SECOND)
"""The longest wait that a run may show, whatever it allows itself."""


def check(case: Case) -> list[Violation]:
    """Compare the longest wait for an acknowledgement with what a publisher may expect."""
    worst: dict[str, tuple[int, int]] = {}
    for sent in case.sent:
        if sent.stream is not None:
            wait = sent.tick - max(sent.published.tick, case.healed_tick)
            life = sent.published.life
            worst[life] = max(worst.get(life, (0, 0)), (wait, sent.published.number))
    patience = min(case.patience_ticks, PATIENCE_TICKS)
    return [
        Violation(
            RULE,
            f"publication {number} of {life} waited {wait / TICKS_PER_SECOND:g} s for its "
            f"acknowledgement, more than {patience / TICKS_PER_SECOND:g}",
        )
        for life, (wait, number) in sorted(worst.items())
        if wait > patience
    ]
