"""The runs that the suite makes: every cell of protocol, cluster size and adversary, and more.

Sizes fall with n, so that all runs together fit into the suite; crashes, loss, storms and cuts
stay. Channels are signed or not, and a two-faced publisher takes part or not, by turns.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any, NamedTuple

from quorumcast.sim.adversaries import REGISTRY
from quorumcast.sim.report import Report
from quorumcast.sim.scenario import Scenario

RUNS = 500
REPLICAS = (4, 5, 6, 7, 10)

LYING: tuple[dict[str, Any], ...] = (
    {"protocol": "ab"},
    {
        "protocol": "ab",
        "confirm": False,
        "loss": 0.01,
        "publishers": 3,
    },  # nothing repairs what is lost
    {"protocol": "bracha"},
)
"""The protocols whose replicas may lie."""

SIZES: dict[int, dict[str, Any]] = {
    4: {"publications": 16, "faulty_ticks": 4_000},
    5: {"publications": 12, "faulty_ticks": 4_000},
    6: {"publications": 12, "faulty_ticks": 4_000},
    7: {"publications": 10, "faulty_ticks": 3_000},
    10: {"publications": 6, "faulty_ticks": 3_000, "subscribers": 2},
}

COSTLY = ("flood", "greedy")
"""Adversaries of which one short run a cell is enough, with one of them in a large cluster."""

WITHHOLDING = ("withhold", "state-aware")
"""Adversaries that acknowledge and do not vote: where nobody repairs, f of them and one replica
that was skipped keep everything from everybody."""


class Cell(NamedTuple):
    """What the fault model admits: one place of the table."""

    protocol: str
    confirm: bool
    replicas: int
    adversary: str


def cell_of(scenario: Scenario) -> Cell:
    """The place of a run in the table."""
    confirm = scenario.confirm is not False
    return Cell(scenario.protocol, confirm, scenario.replicas, scenario.adversary)


def cells() -> list[Cell]:
    """Every place of the table: replicas of `plain` crash, and do not lie."""
    lying = [
        Cell(each["protocol"], "confirm" not in each, replicas, adversary)
        for replicas in REPLICAS
        for adversary in ("none", *REGISTRY)
        for each in LYING
    ]
    return [*lying, *(Cell("plain", True, replicas, "none") for replicas in REPLICAS)]


def _special(
    protocol: dict[str, Any], replicas: int, faults: int, adversary: str
) -> dict[str, Any]:
    """What is set otherwise, where a run would take too long or leave nothing to judge."""
    if adversary in COSTLY:
        most = 1 if replicas >= 7 else faults
        return {"publications": 6, "faulty_ticks": 1_500, "byzantine": most, "signed": False}
    if "confirm" in protocol and adversary in WITHHOLDING:
        return {"loss": 0.0, "crashes": False, "byzantine": max(1, faults - 1)}
    return {}


def _lying(replicas: int, faults: int, adversaries: list[str], seed: int) -> list[Scenario]:
    found: list[Scenario] = []
    for number, adversary in enumerate(adversaries, seed):
        for turn, protocol in enumerate(LYING):
            settings: dict[str, Any] = {
                "replicas": replicas,
                "faults": faults,
                "adversary": adversary,
                "byzantine_publisher": (number + turn) % 2 == 0,
                "signed": (number + turn) % 3 == 0,
                "seed": 3 * number + turn,
            }
            settings |= protocol | SIZES[replicas]
            found.append(Scenario(**settings | _special(protocol, replicas, faults, adversary)))
    return found


def _plain(seed: int) -> list[Scenario]:
    return [
        Scenario(
            protocol="plain",
            replicas=replicas,
            faults=faults,
            loss=loss,
            seed=seed + 100 * replicas + 10 * which + turn,
            **SIZES[replicas],
        )
        for replicas in REPLICAS
        for which, faults in enumerate((1, (replicas - 1) // 2))
        for turn, loss in enumerate((0.0, 0.1, 0.3, 0.1))
    ]


def scenarios() -> list[Scenario]:
    """At least one run for every cell, `RUNS` in all."""
    adversaries = ["none", *REGISTRY]
    found = _plain(5_000)
    for replicas in REPLICAS:
        found += _lying(replicas, (replicas - 1) // 3, adversaries, 100 * replicas)
    cheap = [name for name in adversaries if name not in COSTLY]
    more = cycle(((4, 1), (7, 1), (5, 1), (6, 1), (4, 1)))
    seed = 2_000
    while len(found) < RUNS:
        found += _lying(*next(more), cheap, seed)
        seed += 100
    return found[:RUNS]


def twins(number: int) -> Scenario:
    """A schedule of twins: `ab` and `bracha` by turns, with and without a two-faced publisher."""
    return Scenario(
        protocol="ab" if number % 2 else "bracha",
        adversary="twins",
        byzantine_publisher=number % 4 < 2,
        confirm=5,
        publishers=3,
        publications=5,
        subscribers=2,
        loss=0.05,
        faulty_ticks=2_400,
        seed=number,
    )


def verdict(report: Report) -> str:
    """What to print of a run that failed; nothing if it passed."""
    if report.passed:
        return ""
    failure = report.failures[0]
    more = [str(violation) for violation in failure.violations[1:6]]
    return "\n".join([failure.text, *more, "replay with: " + failure.command])
