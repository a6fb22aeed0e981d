"""Our program as a user of a shell calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from typer.testing import CliRunner

from quorumcast.cli import app

QUORUMCAST = (sys.executable, "-m", "quorumcast.cli")


class Shell:
    """Calls our program on one cluster; what it remembers stays under `home`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "QUORUMCAST_CLUSTER": str(folder),
            "XDG_STATE_HOME": str(home / "state"),
            "COLUMNS": "80",
        }

    def __call__(
        self, *arguments: str | bytes, given: str = "", code: int = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Call it, and expect this exit code and no traceback."""
        done = subprocess.run(
            [*QUORUMCAST, *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self.environment | environment,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str) -> Any:
        """What it prints as one JSON object, and nothing else."""
        done = self(*arguments, "--json")
        (line,) = done.stdout.splitlines()
        return json.loads(line)

    def refused(self, code: int, *arguments: str | bytes, given: str = "") -> str:
        """The one sentence on standard error that it ends with."""
        done = self(*arguments, code=code, given=given)
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("quorumcast: ")
        return line.removeprefix("quorumcast: ")

    def begin(
        self, *arguments: str, output: int | IO[Any] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Call it without waiting for its end."""
        return subprocess.Popen(
            [*QUORUMCAST, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )


def refused_at_once(shell: Shell, *arguments: str) -> str:
    """As `Shell.refused` with code 2, in this process: for what needs no cluster to be wrong."""
    done = CliRunner().invoke(app, list(arguments), env=shell.environment)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    (line,) = done.stderr.splitlines()
    return line.removeprefix("quorumcast: ")
