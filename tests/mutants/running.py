"""Running tests against a seeded bug, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parent.parent.parent
TIMEOUT_SECONDS = 240


class Outcome(NamedTuple):
    """Whether the tests saw the bug, and which of them."""

    killed: bool
    by: tuple[str, ...]
    output: str


def attempt(mutant: Mutant, *tests: str, first_only: bool = True) -> Outcome:
    """Run tests with the bug in place; a test that hangs sees it too."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-p", "tests.mutants.plugin", "--mutant", mutant.name, "-rfE", "-p", "no:xdist"]
    command += ["-x"] if first_only else []
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(True, tests[:1], "timed out")
    failed = [
        line.split()[1]
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return Outcome(done.returncode == 1, tuple(failed), done.stdout)
