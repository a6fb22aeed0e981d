"""Every known bug is seen by the test that the documentation names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.document import DOCUMENT, document
from tests.mutants.running import ROOT, Failure, Outcome
from tests.mutants.sources import ALL

PARTS = 4
"""Into how many tests the run of all bugs is divided, so that several cores can share it."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.mutants", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_bug_is_seen_by_its_test(part: int) -> None:
    names = list(MUTANTS)[part::PARTS]
    done = run("--json", *names)
    assert not done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    seen = [
        [name, killed, *(test.partition("[")[0] for test in by)] for name, killed, by, _ in outcomes
    ]
    assert seen == [[name, True, MUTANTS[name].killer] for name in names]
    assert done.returncode == 0


def test_a_bug_that_no_test_sees_survives() -> None:
    done = run("any-content-counts", "--tests", "tests/auth/test_names.py")
    assert done.returncode == 1
    assert "survived" in done.stdout
    assert done.stdout.endswith("0 killed, 1 survived\n")


def test_a_breakdown_is_not_a_kill() -> None:
    broken = Failure("tests/test_x.py::test_x", "TypeError: no such argument", True)
    seen = Failure("tests/test_x.py::test_y", "assert 1 == 2", False)
    assert not Outcome("x", (broken,), "").killed
    assert Outcome("x", (broken,), "").remark == broken.reason
    assert Outcome("x", (broken, seen), "").by == (seen.test,)
    assert not Outcome("x", (seen,), "nothing came back").killed


def test_the_page_is_what_the_catalogue_says() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    assert written == document(), "write it with: python -m tests.mutants --table"


def test_every_mistake_that_is_known_has_a_mutant() -> None:
    named = {source for each in MUTANTS.values() for source in each.sources}
    assert named == set(ALL)


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_says_what_is_wrong_and_who_sees_it(name: str) -> None:
    mutant = MUTANTS[name]
    assert len(mutant.mistake) > 10
    assert mutant.mistake.endswith(".")
    path, _, test = mutant.killer.partition("::")
    function = test.partition("[")[0].rpartition("::")[2]
    assert function
    assert f"def {function}(" in Path(ROOT, path).read_text(encoding="utf-8")
