"""`quorumcast pub` and `quorumcast sub`: events from and to a terminal."""

from __future__ import annotations

import asyncio
import base64
import sys
import time
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from quorumcast.api.client import AsyncClient, connect
from quorumcast.api.errors import NoQuorum, NotAllowed
from quorumcast.api.publishing import Publisher
from quorumcast.api.received import Received
from quorumcast.cli.ending import FAILED
from quorumcast.cli.folders import NOT_ALLOWED, Json, Where, folder_ending, run
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.runtime.finding import find_cluster, find_identity
from quorumcast.runtime.units import parse_duration

NO_QUORUM = 3

PAGE = 1000
"""Events that are printed at once."""

_PUB = """Examples:

quorumcast pub events "disk failing" --key db-3

tail -f app.log | quorumcast pub events

quorumcast pub events --count 100000 --size 56
"""

_SUB = """Examples:

quorumcast sub events                       # what is published from now on

quorumcast sub events --from earliest --count 10

quorumcast sub events --json | jq .payload
"""

ChannelName = Annotated[str, typer.Argument(metavar="CHANNEL", help="The channel's name.")]
Identity = Annotated[
    str | None,
    typer.Option("--as", help="Whose identity: a name or a .qc file; else `local`."),
]
Timeout = Annotated[str, typer.Option(help="How long to wait for enough replicas, e.g. 10s.")]


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=_PUB)(pub)
    app.command(epilog=_SUB)(sub)


@contextmanager
def talk_ending() -> Generator[None]:
    """How a client's command ends: 3 without a quorum, 4 where it is not allowed."""
    with folder_ending():
        try:
            yield
        except NoQuorum as error:
            print(f"quorumcast: {error}", file=sys.stderr)
            raise typer.Exit(NO_QUORUM) from None
        except (NotAllowed, AuthError) as error:
            print(f"quorumcast: {error}", file=sys.stderr)
            raise typer.Exit(NOT_ALLOWED) from None


def _client(identity: str | None, cluster: Path | None, timeout: str) -> AsyncClient:
    folder = None
    if cluster is not None or identity is None or "/" not in identity:
        folder = find_cluster(cluster)
    return connect(find_identity(identity, folder), timeout=parse_duration(timeout))


# -- pub -------------------------------------------------------------------------------------------


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
    urgent: Annotated[bool, typer.Option("--urgent", help="In the urgent lane.")] = False,
    count: Annotated[int | None, typer.Option(help="Make up so many events instead.")] = None,
    size: Annotated[int, typer.Option(help="With --count: bytes of payload.")] = 56,
    batch: Annotated[int, typer.Option(help="Events per publication at most; 0: as it comes.")] = 0,
    rate: Annotated[float, typer.Option(help="With --count: events a second; 0: all at once.")] = 0,
    json: Json = False,
    identity: Identity = None,
    timeout: Timeout = "10s",
    cluster: Where = None,
) -> None:
    """Publish events: arguments, files, made-up ones, or else the lines of standard input."""
    with talk_ending():
        if count is not None and (messages or file):
            raise ConfigError("--count makes events up: leave the others out")
        if min(count or 0, size, batch) < 0 or rate < 0:
            raise ConfigError("--count, --size, --batch and --rate are 0 or more")
        source: AsyncIterator[bytes]
        if count is not None:
            source = _made_up(count, size, rate)
        elif messages or file:
            files = [_bytes_of(each) for each in file or []]
            source = _each([*(text.encode() for text in messages or []), *files])
        else:
            source = _lines()
        client = _client(identity, cluster, timeout)
        sent, seconds = run(_publish(client, channel, source, key=key, urgent=urgent, batch=batch))
        if json:
            told = {"channel": channel, "acknowledged": sent, "seconds": round(seconds, 6)}
            print(msgspec.json.encode(told).decode())
        else:
            pace = f", {sent / seconds:,.0f} a second" if sent > 1 and seconds > 0 else ""
            events = "event is" if sent == 1 else "events are"
            print(f"{sent:,} {events} acknowledged on {channel}{pace}")


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a file that can be read") from error


async def _each(payloads: Iterable[bytes]) -> AsyncIterator[bytes]:
    for payload in payloads:
        yield payload


async def _lines() -> AsyncIterator[bytes]:
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        yield line.rstrip(b"\r\n")


async def _made_up(count: int, size: int, rate: float) -> AsyncIterator[bytes]:
    began = time.monotonic()
    for number in range(1, count + 1):
        if rate:
            await asyncio.sleep(max(0.0, began + (number - 1) / rate - time.monotonic()))
        yield (b"%d " % number).ljust(size, b".")[:size]


async def _publish(
    client: AsyncClient,
    channel: str,
    source: AsyncIterator[bytes],
    *,
    key: str | None,
    urgent: bool,
    batch: int,
) -> tuple[int, float]:
    """Send everything; returns how many events were acknowledged, and the seconds it took."""
    async with client:
        options: dict[str, Any] = {"batch_events": batch} if batch else {}
        publisher: Publisher = await client.publisher(channel, **options)
        began = time.monotonic()
        sent = 0
        async for payload in source:
            await publisher.send(payload, key=key, urgent=urgent)
            sent += 1
        await publisher.flush()
        return sent, time.monotonic() - began


# -- sub -------------------------------------------------------------------------------------------


def sub(
    channel: ChannelName,
    *,
    from_: Annotated[
        str, typer.Option("--from", help="earliest, latest, a time, or a cursor.")
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
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    identity: Identity = None,
    cluster: Where = None,
) -> None:
    """Print events as they come, each with how many replicas vouched for it."""
    with talk_ending():
        if count is not None and count < 1:
            raise ConfigError(f"--count {count}: use 1 or more")
        seconds = None if silence is None else parse_duration(silence)
        patterns = tuple(publisher or ("*",))
        client = _client(identity, cluster, "10s")
        wish = Wish(channel, _start(from_), patterns, count, seconds, skip_gaps, json)
        shown = run(_read(client, wish))
        if count is not None and shown < count:
            told = f"{shown} of {count} events came before --timeout {silence}"
            print(f"quorumcast: {told}", file=sys.stderr)
            raise typer.Exit(NO_QUORUM if shown == 0 else FAILED)


def _start(text: str) -> str | datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return at if at.tzinfo is not None else at.astimezone()


class Wish(NamedTuple):
    """What `sub` is to show, and how."""

    channel: str
    start: str | datetime
    publishers: tuple[str, ...]
    most: int | None
    seconds: float | None
    skip_gaps: bool
    json: bool


async def _read(client: AsyncClient, wish: Wish) -> int:
    """Show events until there are enough, or none comes for too long; returns how many."""
    shown = 0
    async with client:
        subscription = client.subscribe(
            wish.channel,
            from_=wish.start,
            publishers=wish.publishers,
            on_gap="continue" if wish.skip_gaps else None,
        )
        await subscription.ready()
        if not wish.json and sys.stderr.isatty():
            hint = "; --from earliest shows those that are there" if wish.start == "latest" else ""
            print(f"waiting for events on {wish.channel}{hint}; Ctrl-C ends", file=sys.stderr)
        while wish.most is None or shown < wish.most:
            page = PAGE if wish.most is None else min(PAGE, wish.most - shown)
            events = await subscription.take(page, timeout=wish.seconds)
            if not events:
                break
            for event in events:
                print(_object(event) if wish.json else _line(event))
            sys.stdout.flush()
            shown += len(events)
    return shown


def _line(event: Received) -> str:
    row = f".{event.row}" if event.rows > 1 else ""
    vouched = "confirmed" if event.confirmed else f"{event.votes} votes"
    attributes = "".join(f" {name}={value}" for name, value in event.attributes.items())
    key = f" [{event.key}]" if event.key is not None else ""
    urgent = " !" if event.urgent else ""
    text = event.payload.decode("utf-8", "backslashreplace")
    fault = f"  (cannot be read: {event.error})" if event.error is not None else ""
    return f"{event.publisher} {event.seq}{row} ({vouched}){urgent}{key}{attributes} {text}{fault}"


def _object(event: Received) -> str:
    try:
        text: str | None = event.payload.decode()
    except UnicodeDecodeError:
        text = None
    shown: dict[str, Any] = {
        "channel": event.channel,
        "publisher": event.publisher,
        "session": event.id.session.hex(),
        "lane": event.id.lane.name.lower(),
        "seq": event.seq,
        "row": event.row,
        "timestamp": event.timestamp,
        "key": event.key,
        "urgent": event.urgent,
        "votes": event.votes,
        "confirmed": event.confirmed,
        "attributes": dict(event.attributes),
        "payload": text,
        "error": event.error,
    }
    if text is None:
        shown["payload_base64"] = base64.b64encode(event.payload).decode()
    return msgspec.json.encode(shown).decode()
