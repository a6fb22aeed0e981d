"""The commands: `quorumcast` and, for short, `qc`.

Commands read arguments, call the rooms below and print. Results go to standard output, progress
and errors to standard error. Exit codes: 0 done, 1 failed or violated, 2 usage or configuration,
130 interrupted. May import everything; nothing imports from here.
"""

from quorumcast.cli.app import app, main

__all__ = ["app", "main"]
