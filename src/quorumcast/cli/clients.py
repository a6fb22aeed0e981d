"""What the commands of a client share: who they are, and how they end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorumcast.cli.completing import channel_names, identity_names
from quorumcast.cli.ending import FAILED, NO_QUORUM, NOT_ALLOWED, ended
from quorumcast.cli.folders import folder_ending
from quorumcast.core.errors import AuthError
from quorumcast.runtime.finding import find_client
from quorumcast.runtime.units import parse_duration

if TYPE_CHECKING:
    from quorumcast.api.client import AsyncClient

ChannelName = Annotated[
    str,
    typer.Argument(metavar="CHANNEL", help="The channel's name.", autocompletion=channel_names),
]
Identity = Annotated[
    str | None,
    typer.Option(
        "--as",
        help="Whose identity: a name or a .qc file; else QUORUMCAST_IDENTITY, or `local`.",
        autocompletion=identity_names,
        show_default=False,
    ),
]


@contextmanager
def talk_ending() -> Generator[None]:
    """How a client's command ends: 3 without a quorum, 4 where it is not allowed.

    >>> with talk_ending():
    ...     raise AuthError("probe-7 was revoked")
    Traceback (most recent call last):
    ...
    click.exceptions.Exit: 4
    """
    with folder_ending():
        try:
            yield
        except Exception as error:
            from quorumcast.api.errors import Gap, NoQuorum, NotAllowed

            if isinstance(error, NoQuorum):
                raise ended(error, NO_QUORUM) from None
            if isinstance(error, NotAllowed | AuthError):
                raise ended(error, NOT_ALLOWED) from None
            if isinstance(error, Gap):
                raise ended(_gap(error), FAILED) from None
            raise


def _gap(gap: object) -> str:
    """A gap in the words of the command line."""
    return f"{str(gap).partition(':')[0]}: retention dropped what was next: use --skip-gaps"


def client_of(identity: str | None, cluster: Path | None, timeout: str) -> AsyncClient:
    """The client that the options name; it is not connected yet."""
    seconds = parse_duration(timeout)
    file = find_client(identity, cluster)
    from quorumcast.api.client import connect

    return connect(file, timeout=seconds)
