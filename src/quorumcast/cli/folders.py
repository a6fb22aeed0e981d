"""What all commands on a cluster's folder share: how they find it, print and end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from quorumcast.cli.ending import FAILED, ending
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.runtime.files import NotPermitted

NOT_ALLOWED = 4

T = TypeVar("T")

Where = Annotated[
    Path | None,
    typer.Option(
        "--cluster",
        help="Its folder; else QUORUMCAST_CLUSTER, the current folder or above, the last up.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


@contextmanager
def folder_ending() -> Generator[None]:
    """How a command on a folder ends: as others, and with 4 for what somebody may not do.

    >>> with folder_ending():
    ...     raise NotPermitted("only the operator may")
    Traceback (most recent call last):
    ...
    click.exceptions.Exit: 4
    """
    with ending():
        try:
            yield
        except NotPermitted as error:
            raise _said(error, NOT_ALLOWED) from None
        except (ConfigError, BrokenPipeError):
            raise  # `ending` sees to it
        except (QuorumcastError, OSError) as error:
            raise _said(error, FAILED) from None


def _said(error: Exception, code: int) -> typer.Exit:
    print(f"quorumcast: {error}", file=sys.stderr)
    return typer.Exit(code)


def as_json(value: object) -> str:
    """A value as one line of JSON.

    >>> as_json({"a": None})
    '{"a":null}'
    """
    return msgspec.json.encode(value).decode()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the fastest loop that there is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    return uvloop.run(work)
