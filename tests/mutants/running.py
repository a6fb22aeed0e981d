"""Running tests against a seeded bug, each in a process of its own.

A process that has imported everything but the tests forks for every bug; the child seeds it, and
only then imports and runs tests. So a test sees the bug wherever it looks, and a bug costs little
more than its test.

A bug is seen when a test fails. A mutant that breaks down by itself, with a wrong call or a name
that does not exist, shows nothing of its mistake: that does not count.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis  # noqa: F401  imported once, for all children
import pytest

from tests.mutants.mutant import Mutant, load_everything, seed

ROOT = Path(__file__).parent.parent.parent
TIMEOUT_SECONDS = 240  # with --search, all tests of the protocols

_BREAKDOWNS = (TypeError, AttributeError, NameError, ImportError)
"""How a mutant fails that no longer fits the code around it."""

_OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
_EARLY = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Hypothesis is there before pytest looks."""


class Failure(NamedTuple):
    """A test that failed, how, and whether by the mutant's own breakdown."""

    test: str
    reason: str
    breakdown: bool


class Outcome(NamedTuple):
    """What the tests made of a bug."""

    name: str
    failures: tuple[Failure, ...]
    trouble: str
    """Why there is nothing to judge: no such test, or one without end."""

    @property
    def killed(self) -> bool:
        """Whether a test saw the bug."""
        return not self.trouble and any(not each.breakdown for each in self.failures)

    @property
    def by(self) -> tuple[str, ...]:
        """The tests that saw it."""
        return tuple(each.test for each in self.failures if not each.breakdown)

    @property
    def remark(self) -> str:
        """Why it was not seen, if more is to be said than that."""
        broken = [each.reason for each in self.failures if each.breakdown]
        return self.trouble or (broken[0] if broken and not self.killed else "")


class _Watch:
    """A pytest plugin that keeps what failed."""

    def __init__(self) -> None:
        self.failures: list[Failure] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        yield
        if call.excinfo is not None:
            reason = f"{call.excinfo.typename}: {call.excinfo.value}".splitlines()[0]
            broken = issubclass(call.excinfo.type, _BREAKDOWNS)
            self.failures.append(Failure(item.nodeid, reason, broken))


class _Task(NamedTuple):
    """Tests to run against a bug, or, with None, without any."""

    mutant: Mutant | None
    tests: tuple[str, ...]
    answer: Path

    @property
    def name(self) -> str:
        return self.mutant.name if self.mutant is not None else "no bug"


def _child(task: _Task, options: tuple[str, ...], *, show: bool) -> None:
    signal.alarm(TIMEOUT_SECONDS)
    if not show:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
    if task.mutant is not None:
        seed(task.mutant)
    watch = _Watch()
    code = int(pytest.main([*_OPTIONS, *_EARLY, *options, *task.tests], plugins=[watch]))
    trouble = "" if code in (0, 1) else f"pytest ends with {code}"
    task.answer.write_text(json.dumps({"trouble": trouble, "failures": watch.failures}))


def _fork(task: _Task, options: tuple[str, ...], *, show: bool) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        try:
            _child(task, options, show=show)
        except BaseException as error:  # noqa: BLE001  nothing of the parent goes on in the child
            trouble = f"{type(error).__name__}: {error}"
            task.answer.write_text(json.dumps({"trouble": trouble, "failures": []}))
        finally:
            sys.stdout.flush()
            os._exit(0)
    return process


def _judge(task: _Task) -> Outcome:
    if not task.answer.exists():
        return Outcome(task.name, (), f"nothing came back in {TIMEOUT_SECONDS} s")
    found = json.loads(task.answer.read_text())
    failures = tuple(Failure(*each) for each in found["failures"])
    return Outcome(task.name, failures, found["trouble"])


def attempts(
    wanted: Iterable[tuple[Mutant | None, tuple[str, ...]]],
    *,
    jobs: int = 1,
    first_only: bool = True,
    show: bool = False,
) -> Iterator[Outcome]:
    """Run tests against each bug, `jobs` at a time; outcomes come as they are there."""
    os.chdir(ROOT)
    load_everything()
    options = ("-x",) if first_only else ()
    options += ("--tb=short",) if show else ("--tb=no",)
    waiting = list(wanted)[::-1]
    running: dict[int, _Task] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant, tests = waiting.pop()
                task = _Task(mutant, tests, Path(folder, str(len(waiting))))
                running[_fork(task, options, show=show)] = task
            process, _ = os.wait()
            if process in running:
                yield _judge(running.pop(process))
