"""With f+1 adversaries violations are found: the checkers can see.

Each row names an adversary, and properties of which its runs break at least one, on some seed.
The same seeds with f of them pass: what breaks is the assumption, and not the seed.
"""

from __future__ import annotations

import pytest

from quorumcast.sim.report import Report
from quorumcast.sim.run import run
from quorumcast.sim.scenario import Protocol, Scenario

SEEDS = 40
FORGED = {"authentication", "chains", "evidence"}


def attacked(protocol: Protocol, adversary: str, seed: int, byzantine: int) -> Report:
    """A small run; where it breaks a safety property it ends at once."""
    scenario = Scenario(
        protocol=protocol,
        adversary=adversary,
        byzantine=byzantine,
        byzantine_publisher=True,
        publications=8,
        confirm=5,
        loss=0.05,
        seed=seed,
        faulty_ticks=3_000,
        healing_ticks=15_000,
    )
    return run(scenario, hasty=True)


def broken(report: Report) -> set[str]:
    """The properties that a run broke."""
    return {each.rule for failure in report.failures for each in failure.violations}


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
@pytest.mark.parametrize(
    ("adversary", "properties"),
    [
        ("equivocate", {"agreement"}),
        ("collude", {"agreement"}),
        ("state-aware", FORGED),
        ("double-vote", {"agreement", "chains", "validity"}),
        ("fickle", {"agreement", "chains"}),
        ("twins", {"agreement", "chains"}),
        ("amnesiac", {"agreement", "chains", "totality", "validity"}),
        ("silent", {"validity"}),
        ("withhold", {"validity"}),
    ],
)
def test_one_adversary_more_than_f_breaks_a_promise(
    protocol: Protocol, adversary: str, properties: set[str]
) -> None:
    for seed in range(SEEDS):
        if properties & broken(attacked(protocol, adversary, seed, byzantine=2)):
            assert attacked(protocol, adversary, seed, byzantine=1).passed
            return
    pytest.fail(f"two replicas that play {adversary} broke nothing in {SEEDS} seeds")
