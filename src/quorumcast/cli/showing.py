"""One event as `sub` shows it: as a line for people, or as a JSON object."""

from __future__ import annotations

import base64
from typing import Any

from quorumcast.api.received import Received
from quorumcast.cli.folders import as_json
from quorumcast.cli.visible import visible, word


def event_line(event: Received) -> str:
    r"""An event as a line for people; nothing in it can play tricks with their terminal.

    >>> from quorumcast.api import PublicationId
    >>> from quorumcast.core.ids import Lane
    >>> event = Received(
    ...     PublicationId("alerts", "probe-7", bytes(32), Lane.NORMAL, 4), 0, 1,
    ...     timestamp=0, key="db-3", urgent=True, payload=b"disk failing\x1b[2J",
    ...     attributes={"severity": 5}, votes=3, confirmed=False,
    ... )
    >>> print(event_line(event))
    probe-7 4 (3 votes) ! [db-3] severity=5 disk failing\x1b[2J
    """
    row = f".{event.row}" if event.rows > 1 else ""
    confirmed = ", confirmed" if event.confirmed else ""
    parts = [
        f"{visible(event.publisher)} {event.seq}{row} ({_votes(event.votes)}{confirmed})",
        *(["!"] if event.urgent else []),
        *([f"[{_key(event.key)}]"] if event.key is not None else []),
        *(f"{visible(name)}={_value(value)}" for name, value in event.attributes.items()),
        visible(event.payload.decode("utf-8", "backslashreplace")),
    ]
    if event.error is not None:
        parts.append(f" (cannot be read: {visible(event.error)})")
    return " ".join(parts)


def event_object(event: Received) -> str:
    """An event as a line of JSON; a payload that is no text stands there in base64."""
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
    return as_json(shown)


def _votes(count: int) -> str:
    return "1 vote" if count == 1 else f"{count} votes"


def _key(key: str) -> str:
    return visible(key) if "]" not in key else word(key)


def _value(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return word(value)
        case bytes():
            return word(value.decode("utf-8", "backslashreplace"))
        case _:
            return str(value)
