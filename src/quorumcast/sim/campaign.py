"""Many runs: protocols x adversaries x seeds, on one core or on several.

Reports come in the order of the scenarios, however many processes work on them, so a campaign's
output depends on nothing but its settings.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from threading import current_thread, main_thread

import msgspec

from quorumcast.sim.adversaries import REGISTRY
from quorumcast.sim.checkers.promises import promise_of
from quorumcast.sim.report import Report
from quorumcast.sim.run import prepare, run
from quorumcast.sim.scenario import Scenario

AHEAD = 4
"""Runs that are handed out for every process before the first of them has to be done."""


def admitted(scenario: Scenario) -> tuple[str, ...]:
    """Every adversary that a scenario's protocol has something to say about, by name.

    >>> admitted(Scenario(protocol="plain"))
    ('none',)
    >>> "equivocate" in admitted(Scenario(protocol="ab"))
    True
    """
    lies = promise_of(scenario.check().channels()[0]).lies
    return tuple(REGISTRY) if lies else ("none",)


def spread(
    base: Scenario, protocols: Sequence[str], adversaries: Sequence[str], seeds: Iterable[int]
) -> list[Scenario]:
    """One scenario for each protocol, adversary and seed; the adversary "all" stands for many.

    Each is checked before the first one runs.

    >>> base = Scenario(publications=1)
    >>> [each.seed for each in spread(base, ["ab"], ["none", "silent"], range(2))]
    [0, 1, 0, 1]
    """
    seeds = list(seeds)
    found: list[Scenario] = []
    for protocol in protocols:
        cell = msgspec.structs.replace(base, protocol=protocol)
        for name in adversaries:
            for adversary in admitted(cell) if name == "all" else (name,):
                ready = prepare(msgspec.structs.replace(cell, adversary=adversary))
                found += [msgspec.structs.replace(ready, seed=seed) for seed in seeds]
    return found


def campaign(scenarios: Sequence[Scenario], workers: int = 1) -> Iterator[Report]:
    """The report of each scenario, in their order, as soon as it and those before it are there.

    >>> cell = Scenario(publications=2, loss=0.0, crashes=False)
    >>> sum(report.runs for report in campaign(spread(cell, ["ab"], ["none"], range(2))))
    2
    """
    if workers <= 1 or len(scenarios) <= 1:
        yield from map(_one, scenarios)
        return
    before = set(active_children())
    # Spawned, not forked: a copy of a process that draws a progress bar may hang in its locks.
    pool = ProcessPoolExecutor(workers, get_context("spawn"))
    waiting: deque[Future[Report]] = deque()
    done = False
    try:
        for scenario in scenarios:
            with _deaf():
                waiting.append(pool.submit(_one, scenario))
            if len(waiting) >= AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        done = True
    finally:
        if not done:  # interrupted: nobody waits for what is still being run
            for child in set(active_children()) - before:
                child.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _one(scenario: Scenario) -> Report:
    return run(scenario, hasty=True)


@contextmanager
def _deaf() -> Generator[None]:
    """Whoever is started meanwhile hears no Ctrl-C: the parent ends it, without a word."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
