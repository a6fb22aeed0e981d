"""What the simulator's commands show: progress while they run, and what came of it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich import progress as rich_progress
from rich.console import Console

from quorumcast.cli.called import called
from quorumcast.sim.report import Report
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.shrink import Shrunk

SHOWN = 10
"""Failures that are shown with their command; of more, how many there are."""


class Progress:
    """A bar on standard error, on a terminal only; without a `total`, a count."""

    def __init__(self, total: int | None, what: str) -> None:
        console = Console(stderr=True)
        self._bar = rich_progress.Progress(
            rich_progress.SpinnerColumn(),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TextColumn("{task.description}"),
            rich_progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._what = what
        self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def show(self, done: int, *, failed: int = 0) -> None:
        """Show how far it is."""
        text = f"{self._what}, {failed} failed" if failed else self._what
        self._bar.update(self._task, completed=done, description=text)


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
