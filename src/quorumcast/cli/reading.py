"""`quorumcast sub`: events to a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quorumcast.cli.clients import ChannelName, Identity, client_of, talk_ending
from quorumcast.cli.completing import one_of
from quorumcast.cli.ending import INTERRUPTED, NO_QUORUM, close_output, ended
from quorumcast.cli.folders import Where, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.units import parse_duration

SUB_EXAMPLES = """
Examples:

quorumcast sub events                       # what is published from now on

quorumcast sub events --from earliest --count 10

quorumcast sub events --from 2026-03-01T12:00:00Z --timeout 5s

quorumcast sub events --cursor events.cursor    # goes on where it stood

quorumcast sub events --json | jq .payload
"""


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=SUB_EXAMPLES)(sub)


def sub(
    channel: ChannelName,
    *,
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            help="earliest, latest, a time, or a cursor.",
            autocompletion=one_of("earliest", "latest"),
        ),
    ] = "latest",
    count: Annotated[int | None, typer.Option(help="End after so many events.")] = None,
    silence: Annotated[
        str | None, typer.Option("--timeout", help="End after so long without an event, e.g. 5s.")
    ] = None,
    publisher: Annotated[
        list[str] | None, typer.Option(help="Only of publishers that match; several times.")
    ] = None,
    skip_gaps: Annotated[
        bool, typer.Option("--skip-gaps", help="Go on after what retention dropped.")
    ] = False,
    cursor: Annotated[
        Path | None,
        typer.Option(
            help="Keep in this file how far it was read, and go on from there; --from is where "
            "to begin while there is no such file."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    identity: Identity = None,
    cluster: Where = None,
) -> None:
    """Print events as they come, each with how many replicas vouched for it."""
    with talk_ending():
        if count is not None and count < 1:
            raise ConfigError(f"--count {count}: use 1 or more")
        seconds = None if silence is None else parse_duration(silence)
        from quorumcast.cli.reader import Reader, Wish, beginning

        start = beginning(from_, cursor)
        client = client_of(identity, cluster, "10s")
        patterns = tuple(publisher or ("*",))
        reader = Reader(Wish(channel, start, patterns, count, seconds, skip_gaps, json, cursor))
        try:
            run(reader.read(client))
        except BrokenPipeError:  # `| head` has seen enough, and so it is done
            close_output()
            return
        except KeyboardInterrupt:
            raise ended(f"interrupted after {reader.shown:,} events", INTERRUPTED) from None
        if count is not None and reader.shown < count and not reader.unwanted:
            told = f"{reader.shown} of {count} events came before --timeout {silence}"
            raise ended(told, NO_QUORUM)
