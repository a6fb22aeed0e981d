"""What came of one run, or of many."""

from __future__ import annotations

import msgspec

from quorumcast.sim.checkers import Violation
from quorumcast.sim.scenario import Scenario


class Failure(msgspec.Struct, frozen=True):
    """A run that broke a promise, or judged nothing."""

    scenario: Scenario
    violations: tuple[Violation, ...]
    vacuous: str = ""

    @property
    def text(self) -> str:
        """The first thing that went wrong, in a sentence."""
        return str(self.violations[0]) if self.violations else f"vacuous: {self.vacuous}"


class Report(msgspec.Struct):
    """Counts over runs, and the runs that failed.

    >>> both = Report(runs=1, deliveries=5) + Report(runs=1, violations=1)
    >>> both.runs, both.deliveries, both.violations, both.passed
    (2, 5, 1, False)
    """

    runs: int = 0
    violations: int = 0
    """Runs in which a promise was broken."""
    vacuous: int = 0
    """Runs in which the adversary did nothing, or nothing was delivered to judge."""
    deliveries: int = 0
    """Statements handed to a machine after decoding and verifying."""
    publications: int = 0
    delivered: int = 0
    adversary_actions: int = 0
    crashes: int = 0
    lost_messages: int = 0
    failures: list[Failure] = msgspec.field(default_factory=list[Failure])

    @property
    def passed(self) -> bool:
        """Whether every run kept its promises and judged something."""
        return not self.failures and not self.violations and not self.vacuous

    def __add__(self, other: Report) -> Report:
        return Report(
            runs=self.runs + other.runs,
            violations=self.violations + other.violations,
            vacuous=self.vacuous + other.vacuous,
            deliveries=self.deliveries + other.deliveries,
            publications=self.publications + other.publications,
            delivered=self.delivered + other.delivered,
            adversary_actions=self.adversary_actions + other.adversary_actions,
            crashes=self.crashes + other.crashes,
            lost_messages=self.lost_messages + other.lost_messages,
            failures=self.failures + other.failures,
        )
