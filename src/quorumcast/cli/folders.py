"""What all commands on a cluster's folder share: how they find it, print and end."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from quorumcast.cli.ending import FAILED, NOT_ALLOWED, ended, ending
from quorumcast.cli.visible import visible_json
from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.runtime.files import NotPermitted

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
            raise ended(error, NOT_ALLOWED) from None
        except (ConfigError, BrokenPipeError):
            raise  # `ending` sees to it
        except QuorumcastError as error:
            raise ended(error, FAILED) from None
        except PermissionError as error:
            raise ended(_of_system(error), NOT_ALLOWED) from None
        except OSError as error:
            raise ended(_of_system(error), FAILED) from None


def _of_system(error: OSError) -> str:
    """What the system refused, as a sentence: which file, and why."""
    if error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror}: see that this user may read and write it"


def as_json(value: object) -> str:
    r"""A value as one line of JSON that plays no tricks with a terminal.

    >>> as_json({"a": None, "b": "\x9b"})
    '{"a":null,"b":"\\u009b"}'
    """
    import msgspec

    return visible_json(msgspec.json.encode(value).decode())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the fastest loop that there is."""
    try:
        import uvloop
    except ImportError:
        import asyncio

        return asyncio.run(work)
    return uvloop.run(work)
