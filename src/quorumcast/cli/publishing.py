"""`quorumcast pub`: events from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorumcast.cli.clients import ChannelName, Identity, client_of, talk_ending
from quorumcast.cli.completing import attribute_names
from quorumcast.cli.ending import FAILED, INTERRUPTED, ended, say
from quorumcast.cli.folders import Json, Where, as_json, run
from quorumcast.core.errors import ConfigError, QuorumcastError

if TYPE_CHECKING:
    from quorumcast.cli.sending import Job, Sending

PUB_EXAMPLES = """
Examples:

quorumcast pub events "disk failing" --key db-3

quorumcast pub events "one" "two" --urgent --json

tail -f app.log | quorumcast pub events

quorumcast pub events --file picture.png --file report.pdf

quorumcast pub events --count 1000000 --size 56 --batch 1000

quorumcast pub events --count 60000 --rate 1000
"""

MOST_AT_ONCE = 64 * 2**20
"""Bytes of a made-up batch."""


SIZE_BYTES = 56
"""Payload of a made-up event, unless another size is asked for."""


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command(epilog=PUB_EXAMPLES)(pub)


def pub(
    channel: ChannelName,
    messages: Annotated[
        list[str] | None, typer.Argument(metavar="[EVENT]...", help="Payloads, one an event.")
    ] = None,
    *,
    file: Annotated[
        list[Path] | None, typer.Option(help="A file whose bytes are one event; several times.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="The events' key.")] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="An attribute of the channel's schema; several times.",
            autocompletion=attribute_names,
        ),
    ] = None,
    urgent: Annotated[bool, typer.Option("--urgent", help="In the urgent lane.")] = False,
    count: Annotated[int | None, typer.Option(help="Make up so many events instead.")] = None,
    size: Annotated[int, typer.Option(help="With --count: bytes of payload.")] = SIZE_BYTES,
    batch: Annotated[
        int,
        typer.Option(help="Events per publication; 0: as it comes; 1: each on its own."),
    ] = 0,
    rate: Annotated[float, typer.Option(help="With --count: events a second; 0: all at once.")] = 0,
    json: Json = False,
    identity: Identity = None,
    timeout: Annotated[
        str, typer.Option(help="How long to wait for enough replicas, e.g. 10s.")
    ] = "10s",
    cluster: Where = None,
) -> None:
    """Publish events: arguments, files, made-up ones, or else the lines of standard input."""
    with talk_ending():
        if count is not None and (messages or file):
            raise ConfigError("--count makes events up: leave the others out")
        _check(count, size, batch, rate)
        client = client_of(identity, cluster, timeout)
        from quorumcast.cli.sending import Sending

        given = _given(messages or [], file or [], count, size, rate)
        sending = Sending(_job(channel, given, key, urgent, attributes or [], batch))
        try:
            run(sending.run(client))
        except KeyboardInterrupt:
            if json:
                print(as_json(_object(sending)))
            raise ended(f"interrupted: {_so_far(sending)}", INTERRUPTED) from None
        except QuorumcastError:
            if sending.acknowledged and json:
                print(as_json(_object(sending)))
            elif sending.acknowledged:
                say(_so_far(sending))
            raise
        print(as_json(_object(sending)) if json else _told(sending))
        if sending.faults:
            raise typer.Exit(FAILED)


# -- arguments -------------------------------------------------------------------------------------


def _check(count: int | None, size: int, batch: int, rate: float) -> None:
    from quorumcast.core.limits import BODY_BYTES

    if min(count or 0, size, batch) < 0 or not 0 <= rate < float("inf"):
        raise ConfigError("--count, --size, --batch and --rate are 0 or more")
    if size > BODY_BYTES // 2:
        raise ConfigError(f"--size {size} is too much: use at most {BODY_BYTES // 2}")
    if count is None and (rate or size != SIZE_BYTES):
        option = "--rate" if rate else "--size"
        raise ConfigError(f"{option} is for made-up events: use it with --count")
    if count is not None and batch * max(size, 1) > MOST_AT_ONCE:
        raise ConfigError(
            f"--batch {batch} of {size} bytes each is too much: use at most {MOST_AT_ONCE} in all"
        )


def _given(
    messages: list[str], paths: list[Path], count: int | None, size: int, rate: float
) -> Any:
    import os

    from quorumcast.cli.sources import Line, Load, files

    if count is not None:
        return Load(count, size, rate)
    if not messages and not paths:
        return None
    # What is no UTF-8 on the command line is what it was there, byte for byte.
    events = [Line(os.fsencode(text), f"event {number}") for number, text in enumerate(messages, 1)]
    return [*events, *files(paths)]


def _job(
    channel: str, given: Any, key: str | None, urgent: bool, attributes: list[str], batch: int
) -> Job:
    from quorumcast.cli.sending import Job

    return Job(channel, given, key, urgent, attributes, batch)


# -- the end ---------------------------------------------------------------------------------------


def _pace(sending: Sending) -> float | None:
    return sending.acknowledged / sending.seconds if sending.seconds > 0 else None


def _told(sending: Sending) -> str:
    count, pace = sending.acknowledged, _pace(sending)
    shown = f", {pace:,.0f} a second" if count > 1 and pace else ""
    events = "event is" if count == 1 else "events are"
    return f"{count:,} {events} acknowledged on {sending.job.channel}{shown}"


def _so_far(sending: Sending) -> str:
    count, sent = sending.acknowledged, sending.sent
    others = "; what became of the others is unknown" if count < sent else ""
    return f"{count:,} of {sent:,} events are acknowledged on {sending.job.channel}{others}"


def _object(sending: Sending) -> dict[str, Any]:
    pace = _pace(sending)
    half, most = sending.latencies.percentile(50), sending.latencies.percentile(99)
    return {
        "channel": sending.job.channel,
        "sent": sending.sent,
        "acknowledged": sending.acknowledged,
        "faults": sending.faults,
        "seconds": round(sending.seconds, 6),
        "rate": None if pace is None else round(pace, 1),
        "acknowledgement_ms": {
            "p50": None if half is None else round(half * 1000, 3),
            "p99": None if most is None else round(most * 1000, 3),
        },
    }
