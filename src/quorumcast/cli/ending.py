"""How a command ends: exit codes, and errors as one sentence without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer

from quorumcast.core.errors import ConfigError

FAILED = 1
USAGE = 2
INTERRUPTED = 130


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
    except ConfigError as error:
        print(f"quorumcast: {error}", file=sys.stderr)
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        print("quorumcast: interrupted", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
