"""Makes a failing run small: leaves out what it does not need to fail.

By delta debugging (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002):
halves first, then smaller pieces, then ones, of the schedule's decisions and of the adversary's
deeds; also fewer clients, and a network that loses nothing. Whatever is left out, the same rule has
to be violated still. A deed that is left out changes what follows, so a smaller run is another run,
not a part of the first: it is tried, never concluded.

The effort is bounded by runs and by statements handed over, not by time, so that the result is the
same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from quorumcast.core.errors import ConfigError
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Message
from quorumcast.sim.checkers import Violation
from quorumcast.sim.network import TICKS_PER_SECOND
from quorumcast.sim.node import Node
from quorumcast.sim.run import Run
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.schedule import Crash, Cut, Decision, Publish, Resubscribe
from quorumcast.sim.watching import MachineError

RUNS = 120
"""Runs that are tried."""

STATEMENTS = 500_000
"""Statements that all these runs may hand over: less than a minute of work."""

LINES = 40
"""Lines of what happened that the text shows; of more it says how many."""

T = TypeVar("T")


class Small(NamedTuple):
    """What a run is made of, besides its scenario: which decisions, and which deeds."""

    scenario: Scenario
    decisions: list[Decision]
    deeds: list[int]


class Shrunk(msgspec.Struct, frozen=True):
    """The smallest run that was found; `run(scenario, decisions, deeds=deeds)` repeats it."""

    scenario: Scenario
    decisions: tuple[Decision, ...]
    deeds: frozenset[int]
    violations: tuple[Violation, ...]
    liars: tuple[str, ...]
    happened: tuple[str, ...]
    """What happened in it, line by line."""
    runs: int
    """How many runs were tried."""
    decisions_before: int
    deeds_before: int

    @property
    def text(self) -> str:
        """The run in words, for who has to understand it."""
        scenario = self.scenario
        liars = f" ({', '.join(self.liars)}: {scenario.adversary})" if self.liars else ""
        lines = list(self.happened[:LINES])
        if len(self.happened) > LINES:
            lines.append(f"          ... and {len(self.happened) - LINES} lines more")
        return "\n".join(
            [
                f"the smallest run found that breaks the same promise: {len(self.decisions)} of "
                f"{self.decisions_before} decisions, {len(self.deeds)} of {self.deeds_before} "
                f"deeds ({self.runs} runs tried)",
                f"{scenario.protocol}, {scenario.replicas} replicas{liars}, "
                f"{_count(scenario.publishers, 'publisher')}, "
                f"{_count(scenario.subscribers, 'subscriber')}, {scenario.loss:.0%} loss",
                *lines,
                *(str(violation) for violation in self.violations[:3]),
            ]
        )


def shrink(
    scenario: Scenario,
    *,
    runs: int = RUNS,
    statements: int = STATEMENTS,
    progress: Callable[[int], object] | None = None,
) -> Shrunk:
    """A small run that violates the same rule as a scenario's own; `ConfigError` if that does not.

    `progress` hears how many runs were tried.
    """
    return _Search(scenario, runs, statements, progress).result()


def reduce(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Fewer items for which something still fails: all are left out, then halves, then ones.

    >>> reduce(list(range(100)), lambda some: 7 in some and 61 in some)
    [7, 61]
    """
    size = len(items)
    while size > 0:
        start = 0
        while start < len(items):
            fewer = items[:start] + items[start + size :]
            if fails(fewer):
                items = fewer
            else:
                start += size
        size = min(size // 2, len(items))
    return items


class _Search:
    """One shrinking: what is smallest so far, and how much may still be tried."""

    def __init__(
        self,
        scenario: Scenario,
        runs: int,
        statements: int,
        progress: Callable[[int], object] | None,
    ) -> None:
        self._runs_left = runs
        self._statements_left = statements
        self._progress = progress
        self.runs = 0
        first = Run(scenario, hasty=True)
        violations = self._violations(first)
        if not violations:
            raise ConfigError(f"seed {scenario.seed} violates nothing: there is nothing to shrink")
        self.rule = violations[0].rule
        deeds = [deed.number for deed in first.rig.plot.deeds]
        self.best = Small(first.scenario, first.decisions, deeds)
        self.before = self.best

    def result(self) -> Shrunk:
        """Try everything that may be left out, and tell what is left."""
        best = None
        while best != self.best:  # what one kind of piece leaves out may free another
            best = self.best
            self._calm()
            self._fewer("publishers")
            self._fewer("subscribers")
            self._decisions()
            self._deeds()
            self._single()
        return self._told()

    # -- trying --------------------------------------------------------------------------------

    def _violations(self, run: Run) -> tuple[Violation, ...]:
        self.runs += 1
        if self._progress is not None:
            self._progress(self.runs)
        try:
            report = run.execute()
        except MachineError:  # a liar's own: nothing that a correct machine did wrong
            return ()
        self._statements_left -= report.deliveries
        return report.failures[0].violations if report.failures else ()

    def _try(self, small: Small) -> bool:
        """Whether this run violates the same rule; if so, it is the best so far."""
        if self.runs >= self._runs_left or self._statements_left <= 0:
            return False
        run = Run(small.scenario, small.decisions, deeds=frozenset(small.deeds), hasty=True)
        if all(violation.rule != self.rule for violation in self._violations(run)):
            return False
        self.best = small
        return True

    def _calm(self) -> None:
        if self.best.scenario.loss > 0.0:
            calm = msgspec.structs.replace(self.best.scenario, loss=0.0)
            self._try(self.best._replace(scenario=calm))

    def _fewer(self, what: str) -> None:
        """As few publishers or subscribers as possible."""
        for count in range(1, getattr(self.best.scenario, what)):
            scenario = msgspec.structs.replace(self.best.scenario, **{what: count})
            decisions = among(self.best.decisions, scenario)
            if self._try(Small(scenario, decisions, self.best.deeds)):
                return

    def _decisions(self) -> None:
        reduce(
            self.best.decisions,
            lambda decisions: self._try(self.best._replace(decisions=decisions)),
        )

    def _deeds(self) -> None:
        reduce(self.best.deeds, lambda deeds: self._try(self.best._replace(deeds=deeds)))

    def _single(self) -> None:
        """One publication where several were published at once."""
        for index, decision in enumerate(self.best.decisions):
            if isinstance(decision, Publish) and decision.count > 1:
                decisions = list(self.best.decisions)
                decisions[index] = msgspec.structs.replace(decision, count=1)
                self._try(self.best._replace(decisions=decisions))

    def _told(self) -> Shrunk:
        best, notes = self.best, _Notes()
        run = Run(best.scenario, best.decisions, notes, frozenset(best.deeds), hasty=True)
        violations = self._violations(run)
        broken = sorted(violations, key=lambda violation: violation.rule != self.rule)
        return Shrunk(
            best.scenario,
            tuple(best.decisions),
            frozenset(best.deeds),
            tuple(broken),
            run.rig.liars,
            tuple(notes.lines()),
            self.runs,
            len(self.before.decisions),
            len(self.before.deeds),
        )


def among(decisions: list[Decision], scenario: Scenario) -> list[Decision]:
    """Those of the decisions, and those parts of them, that concern parties of a scenario.

    >>> from quorumcast.sim.schedule import draw
    >>> one = Scenario(publishers=1)
    >>> {each.party for each in among(draw(Scenario()), one) if isinstance(each, Publish)}
    {'p1'}
    """
    known = {*scenario.replica_names, *scenario.publisher_names, *scenario.subscriber_names}
    return [kept for decision in decisions if (kept := _of(decision, known)) is not None]


def _of(decision: Decision, known: set[str]) -> Decision | None:
    """What is left of a decision where only some parties are known; None: nothing."""
    if isinstance(decision, Publish | Resubscribe):
        return decision if decision.party in known else None
    if isinstance(decision, Crash):
        return decision if decision.node in known else None
    if not isinstance(decision, Cut):
        return decision
    senders = tuple(name for name in decision.senders if name in known)
    receivers = tuple(name for name in decision.receivers if name in known)
    if not senders or not receivers:
        return None
    return msgspec.structs.replace(decision, senders=senders, receivers=receivers)


class _Notes:
    """A watcher that keeps what happened to the world and what the adversary did."""

    def __init__(self) -> None:
        self._notes: list[tuple[int, str, int]] = []

    def sent(
        self, tick: int, sender: str, receiver: str, messages: list[Message], arrival: int | None
    ) -> None:
        """Messages are too many."""

    def turned(self, tick: int, node: Node, ready: Ready) -> None:
        """So are turns."""

    def noted(self, tick: int, text: str) -> None:
        """Keep it, once if it is repeated."""
        if self._notes and self._notes[-1][1] == text:
            since, _, times = self._notes[-1]
            self._notes[-1] = (since, text, times + 1)
        else:
            self._notes.append((tick, text, 1))

    def lines(self) -> list[str]:
        """What was kept, with its time."""
        return [
            f"{tick / TICKS_PER_SECOND:8.3f}  {text}" + (f" ({times} times)" if times > 1 else "")
            for tick, text, times in self._notes
        ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
