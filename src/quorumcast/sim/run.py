"""One run: build the world, let the faulty phase pass, heal, wait for what is owed, judge.

A run ends early once everything owed has arrived; it fails if that takes longer than the scenario
allows. A run in which the adversary did nothing, or nothing was delivered, shows nothing: it is
reported as vacuous.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from quorumcast.broker import Replica
from quorumcast.core.errors import ConfigError
from quorumcast.sim.adversaries import adversary_named
from quorumcast.sim.checkers import Case, Violation, judge, measure, totality, validity
from quorumcast.sim.checkers.promises import promise_of
from quorumcast.sim.faults import Faults
from quorumcast.sim.report import Failure, Report
from quorumcast.sim.rig import Rig, liars_of
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.schedule import Decision, draw
from quorumcast.sim.watching import MachineError, Watcher

CAP_BYTES = 24 * 2**20
"""What a machine may hold at the end of a run, adversary or not."""

STEP_TICKS = 1_000
"""How often a healed world is asked whether it is done."""

AFTER_TICKS = 2_000
"""How much longer a finished run goes on: nothing may be undone."""


def prepare(scenario: Scenario) -> Scenario:
    """Check a scenario, and switch on what its adversary needs.

    >>> prepare(Scenario(protocol="plain", adversary="silent"))
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: plain replicas crash and do not lie: ...
    """
    adversary = adversary_named(scenario.adversary)
    scenario.check()
    lies = promise_of(scenario.channels()[0]).lies
    if not lies and (adversary is not None or scenario.byzantine_publisher):
        raise ConfigError(
            f"{scenario.protocol} replicas crash and do not lie: use --adversary none "
            "without --byzantine-publisher, or --protocol ab or bracha"
        )
    if adversary is not None and scenario.liars == 0:
        raise ConfigError(
            f"nobody would play {scenario.adversary}: use --byzantine 1 or more, "
            "or --adversary none"
        )
    if adversary is not None and adversary.signed and not scenario.signed:
        return msgspec.structs.replace(scenario, signed=True)
    return scenario


def schedule_of(scenario: Scenario) -> list[Decision]:
    """The schedule that a scenario's seed draws."""
    return draw(scenario, liars_of(scenario, adversary_named(scenario.adversary)))


class Run:
    """One run, step by step; `run` does them all."""

    def __init__(
        self,
        scenario: Scenario,
        decisions: Iterable[Decision] | None = None,
        watcher: Watcher | None = None,
        deeds: frozenset[int] | None = None,
        *,
        hasty: bool = False,
    ) -> None:
        self.scenario = scenario = prepare(scenario)
        self.hasty = hasty
        drawn = schedule_of(scenario) if decisions is None else list(decisions)
        self.rig = Rig(scenario, deeds)
        self.world = self.rig.world
        self.world.watcher = watcher
        if watcher is not None:
            self.rig.plot.observer = lambda who, what: self.world.note(f"{who} {what}")
        self.decisions = drawn
        self.faults = Faults(self.rig, drawn)

    def execute(self) -> Report:
        """Let everything happen, and judge it."""
        try:
            self.world.run(self.scenario.faulty_ticks)
            self.faults.heal()
            broken = self._broken()
            if not broken:
                self._wait()
                broken = self._broken()
        except MachineError as error:
            if not self.world.nodes[error.party].correct:
                raise
            return self._report([Violation("machines", str(error))])
        return self._report(broken or judge(self._case()))

    def _broken(self) -> list[Violation]:
        """What a hasty run ends with: promises that no waiting can mend."""
        return judge(self._plain_case(judged=False)) if self.hasty else []

    def _case(self) -> Case:
        for node in self.world.nodes.values():
            if node.correct and node.machine is not None and isinstance(node.machine, Replica):
                size = measure(node.machine)
                self.rig.trace.sizes[node.name] = max(size, self.rig.trace.sizes.get(node.name, 0))
        return self._plain_case()

    def _plain_case(self, *, judged: bool = True) -> Case:
        ticks = self.scenario.faulty_ticks + self.scenario.healing_ticks
        return self.rig.case(judged=judged, cap_bytes=CAP_BYTES, patience_ticks=ticks)

    def _wait(self) -> None:
        """Run on until everything owed has arrived and stays so, or the time is up."""
        limit = self.scenario.faulty_ticks + self.scenario.healing_ticks
        look = STEP_TICKS
        while self.world.now < limit:
            self.world.run(self.world.now + STEP_TICKS)
            if self.world.now >= self.scenario.faulty_ticks + look:
                look *= 2  # rarely: looking costs as much as a second of a small world
                if self._broken():
                    return
            if self._arrived():
                self.world.run(self.world.now + AFTER_TICKS)
                if self._arrived():
                    break

    def _arrived(self) -> bool:
        """Whether nothing that is owed is missing at this moment."""
        case, promise = self._plain_case(), promise_of(self.rig.channels[0])
        if promise.validity and validity.check(case):
            return False
        return promise.totality == "none" or not totality.check(case)

    def _report(self, violations: list[Violation]) -> Report:
        world, trace, plot = self.world, self.rig.trace, self.rig.plot
        delivered = sum(
            len(told.what.bodies)
            for life in trace.delivered.values()
            for told in life
            if hasattr(told.what, "bodies")
        )
        vacuous = "" if violations else self._vacuous(delivered)
        report = Report(
            runs=1,
            violations=1 if violations else 0,
            vacuous=1 if vacuous else 0,
            deliveries=world.deliveries,
            publications=len(trace.published),
            delivered=delivered,
            adversary_actions=plot.actions,
            crashes=world.crashes,
            lost_messages=world.network.lost,
        )
        if violations or vacuous:
            report.failures.append(Failure(self.scenario, tuple(violations), vacuous))
        return report

    def _vacuous(self, delivered: int) -> str:
        if delivered == 0:
            return "nothing was delivered"
        if self.scenario.adversary != "none" and self.rig.plot.actions == 0:
            return f"the adversary {self.scenario.adversary} did nothing"
        return ""


def run(
    scenario: Scenario,
    decisions: Iterable[Decision] | None = None,
    watcher: Watcher | None = None,
    deeds: frozenset[int] | None = None,
    *,
    hasty: bool = False,
) -> Report:
    """Run a scenario, with the schedule that its seed draws or with a given one.

    `deeds` are the numbers of those that the adversary may do; None: all of them. A `hasty` run
    ends soon after a promise is broken that no waiting can mend, and reports only such ones.

    >>> run(Scenario(publications=3, loss=0.0, crashes=False, seed=1)).passed
    True
    """
    return Run(scenario, decisions, watcher, deeds, hasty=hasty).execute()
