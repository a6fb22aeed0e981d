"""What the simulator's commands show of what came of them."""

from __future__ import annotations

from quorumcast.cli.called import called
from quorumcast.sim.report import Report
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.shrink import Shrunk

SHOWN = 10
"""Failures that are shown with their command; of more, how many there are."""


def summary(report: Report) -> dict[str, int]:
    """The counts of a report, by the names that `--json` gives them.

    >>> summary(Report(runs=3))["runs"]
    3
    """
    return {
        "runs": report.runs,
        "violations": report.violations,
        "vacuous": report.vacuous,
        "deliveries": report.deliveries,
        "publications": report.publications,
        "delivered": report.delivered,
        "adversary_actions": report.adversary_actions,
        "crashes": report.crashes,
        "lost_messages": report.lost_messages,
    }


def show_report(report: Report, scenarios: list[Scenario], small: Shrunk | None) -> None:
    """Print what came of a campaign, or of one run."""
    print(_kinds(scenarios))
    print(
        f"{report.publications:,} publications, {report.delivered:,} delivered to subscribers; "
        f"{report.deliveries:,} statements handed over\n"
        f"deeds of the adversary: {report.adversary_actions:,}, crashes: {report.crashes:,}, "
        f"lost messages: {report.lost_messages:,}"
    )
    for failure in report.failures[:SHOWN]:
        print(f"\nseed {failure.scenario.seed}: {failure.text}")
        for violation in failure.violations[1:SHOWN] if report.runs == 1 else ():
            print(f"  {violation}")
        print(f"  replay: {called(failure.command)}")
    if len(report.failures) > SHOWN:
        print(f"\n... and {len(report.failures) - SHOWN} more")
    if small is not None:
        print(f"\n{small.text}")
    print(f"\n{_verdict(report)}")


def _kinds(scenarios: list[Scenario]) -> str:
    """What was run, in a line."""
    protocols = list(dict.fromkeys(each.protocol for each in scenarios))
    names = list(dict.fromkeys(each.adversary for each in scenarios))
    first = scenarios[0]
    who = f"adversary {names[0]}" if len(names) == 1 else f"{len(names)} adversaries"
    played = f" played by {first.liars}" if first.liars else ""
    runs = f"seed {first.seed}" if len(scenarios) == 1 else f"{len(scenarios):,} runs"
    return (
        f"{', '.join(protocols)}, {first.replicas} replicas of which {first.faults} may be faulty, "
        f"{who}{played}: {runs}"
    )


def _verdict(report: Report) -> str:
    if report.passed:
        return "Every promise was kept."
    found: list[str] = []
    if report.violations:
        found.append(f"{report.violations:,} of {report.runs:,} runs broke a promise.")
    if report.vacuous:
        found.append(
            f"{report.vacuous:,} of {report.runs:,} runs were vacuous: they judged nothing."
        )
    return " ".join(found)
