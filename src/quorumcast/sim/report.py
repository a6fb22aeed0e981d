"""What came of one run, or of many."""

from __future__ import annotations

import msgspec

from quorumcast.sim.checkers import Violation
from quorumcast.sim.network import TICKS_PER_SECOND
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

    @property
    def command(self) -> str:
        """What to type to see this run again."""
        return command(self.scenario)


_OPTIONS = (
    ("replicas", "--replicas"),
    ("faults", "--faults"),
    ("publishers", "--publishers"),
    ("subscribers", "--subscribers"),
    ("publications", "--publications"),
    ("confirm", "--confirm"),
    ("byzantine", "--byzantine"),
    ("loss", "--loss"),
)
"""Settings with a value, and their options, in the order in which a command names them."""


def command(scenario: Scenario) -> str:
    """The shell command that runs exactly this scenario: what is as usual goes without saying.

    >>> command(Scenario(protocol="bracha", adversary="alter", confirm=False, seed=7))
    'quorumcast sim --protocol bracha --adversary alter --confirm false --seed 7'
    """
    usual = Scenario()
    words = ["quorumcast", "sim", "--protocol", scenario.protocol]
    words += ["--adversary", scenario.adversary]
    for name, option in _OPTIONS:
        value = getattr(scenario, name)
        if value != getattr(usual, name) or type(value) is not type(getattr(usual, name)):
            words += [option, "false" if value is False else str(value)]
    for name, option in (("faulty_ticks", "--seconds"), ("healing_ticks", "--patience")):
        ticks: int = getattr(scenario, name)
        if ticks != getattr(usual, name):
            words += [option, str(ticks / TICKS_PER_SECOND)]
    if scenario.byzantine_publisher:
        words.append("--byzantine-publisher")
    if scenario.signed:
        words.append("--signed")
    if not scenario.crashes:
        words.append("--no-crashes")
    return " ".join([*words, "--seed", str(scenario.seed)])


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
