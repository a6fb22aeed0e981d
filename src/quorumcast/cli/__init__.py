"""The commands: `quorumcast` and, for short, `qc`.

Commands read arguments, call the rooms below and print. Results go to standard output, progress
and errors to standard error. Exit codes: 0 done, 1 failed or violated, 2 usage or configuration,
3 no quorum or nothing in time, 4 not allowed, 130 interrupted. May import everything; nothing
imports from here. A module that holds a command's arguments imports light things alone, so that
help and completion are quick; what does the work is imported when it is called.
"""

from quorumcast.cli.app import app, main

__all__ = ["app", "main"]
