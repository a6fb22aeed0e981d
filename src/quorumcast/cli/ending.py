"""How a command ends: exit codes, and errors as one sentence without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from quorumcast.cli.visible import visible
from quorumcast.core.errors import ConfigError

FAILED = 1
USAGE = 2
NO_QUORUM = 3
NOT_ALLOWED = 4
INTERRUPTED = 130


def say(text: object) -> None:
    """Tell what is wrong, on standard error; what others made up in it can do no harm there."""
    print(f"quorumcast: {visible(str(text))}", file=sys.stderr)


def ended(error: object, code: int) -> typer.Exit:
    """What to raise after an error was told.

    >>> ended("r2: no such replica", USAGE).exit_code
    2
    """
    say(error)
    try:
        sys.stdout.flush()
    except OSError:  # it was told, or somebody closed it: Python would complain at its very end
        close_output()
    return typer.Exit(code)


def close_output() -> None:
    """Whoever read our output has enough of it: what is left goes nowhere, without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def ending() -> Generator[None]:
    """Turn a wrong setting and a Ctrl-C into exit codes; a bug of ours keeps its traceback.

    >>> with ending():
    ...     raise ConfigError("use 4 replicas or more")
    Traceback (most recent call last):
    ...
    click.exceptions.Exit: 2
    """
    try:
        yield
        sys.stdout.flush()
    except ConfigError as error:
        raise ended(error, USAGE) from None
    except KeyboardInterrupt:
        raise ended("interrupted", INTERRUPTED) from None
    except BrokenPipeError:
        close_output()
        raise typer.Exit(FAILED) from None
