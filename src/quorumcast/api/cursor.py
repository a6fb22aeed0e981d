"""Where a subscriber stands in every stream of a channel: to be kept, and resumed from.

A cursor names the next event of each stream: a position, and a row in that publication. Streams
that it does not name begin at their first position. As text it is one line of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from quorumcast.api.received import Received
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane, Stream

_SESSION_BYTES = 32
_INTEGERS = 2**63
_LANES = {lane.name.lower(): lane for lane in Lane}


class Next(NamedTuple):
    """The next event of a stream: row `row` of publication `seq`.

    >>> Next(4).row
    0
    """

    seq: int
    row: int = 0


class Cursor(msgspec.Struct, frozen=True):
    """The next event of every stream of a channel that was read from.

    >>> stream = Stream("alerts", "probe-7", b"s" * 32, Lane.NORMAL)
    >>> cursor = Cursor("alerts", {stream: Next(4, 1)})
    >>> Cursor.parse(str(cursor)) == cursor
    True
    """

    channel: str
    streams: Mapping[Stream, Next]

    def __str__(self) -> str:
        streams = [
            [each.publisher, each.session.hex(), Lane(each.lane).name.lower(), at.seq, at.row]
            for each, at in self.streams.items()
        ]
        return json.dumps({"channel": self.channel, "streams": streams}, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that `str` wrote, or a `ConfigError`.

        >>> Cursor.parse("tomorrow")
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: this is no cursor: use what str(...cursor) wrote, ...
        """
        try:
            found: dict[str, Any] = json.loads(text)
            channel: Any = found["channel"]
            rows: list[list[Any]] = found["streams"]
            streams = dict(_entry(channel, row) for row in rows)
            if not isinstance(channel, str):
                raise TypeError
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                "this is no cursor: use what str(subscription.cursor) wrote, unchanged"
            ) from None
        return cls(channel, streams)


def _entry(channel: str, row: list[Any]) -> tuple[Stream, Next]:
    publisher, session, lane, seq, at = row
    for number, least in ((seq, 1), (at, 0)):
        if type(number) is not int or not least <= number < _INTEGERS:
            raise ValueError
    name = bytes.fromhex(session)
    if not isinstance(publisher, str) or len(name) != _SESSION_BYTES:
        raise ValueError
    return Stream(channel, publisher, name, _LANES[lane]), Next(seq, at)


class Tracker:
    """Follows what a user was handed, stream by stream.

    >>> tracker = Tracker("alerts", {})
    >>> tracker.move(Stream("alerts", "probe-7", b"s" * 32, Lane.NORMAL), Next(2))
    >>> [at.seq for at in tracker.cursor({}).streams.values()]
    [2]
    """

    __slots__ = ("_channel", "_next")

    def __init__(self, channel: str, streams: Mapping[Stream, Next]) -> None:
        self._channel = channel
        self._next = dict(streams)

    def move(self, stream: Stream, at: Next) -> None:
        """The next event of a stream is this one; it never moves backwards."""
        if at > self._next.get(stream, Next(0)):
            self._next[stream] = at

    def handed(self, event: Received) -> None:
        """The user has this event."""
        last = event.row + 1 >= event.rows
        at = Next(event.id.seq + 1) if last else Next(event.id.seq, event.row + 1)
        self.move(event.id.stream, at)

    def cursor(self, starts: Mapping[Stream, int]) -> Cursor:
        """Where the user stands; `starts` are the streams that did not begin at 1."""
        streams = {stream: Next(seq) for stream, seq in starts.items()}
        return Cursor(self._channel, streams | self._next)
