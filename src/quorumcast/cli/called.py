"""How a reader of our output can call this program from where it is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def called(command: str) -> str:
    """A command line of ours, to be pasted: with the path of the program where it needs one.

    >>> called("ls -l")
    'ls -l'
    """
    name, _, rest = command.partition(" ")
    program = Path(sys.argv[0])
    if name != "quorumcast" or program.name not in ("quorumcast", "qc"):
        return command
    if shutil.which(name) is not None or not program.exists():
        return command
    program = program.absolute()
    here = Path.cwd()
    shown = program.relative_to(here) if program.is_relative_to(here) else program
    return f"{shown} {rest}"
