"""What users get: ids, acknowledgements, events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from quorumcast.core.ids import Lane, Party, Stream
from quorumcast.events import Value
from quorumcast.events.values import EPOCH

_LANES = tuple(Lane)
"""By number, in less time than an enum's call takes."""


class PublicationId(NamedTuple):
    """Which publication, for ever: the `seq`-th of its publisher's session on one lane.

    >>> print(PublicationId("alerts", "probe-7", bytes(32), Lane.NORMAL, 12))
    alerts/probe-7/00000000/normal/12
    """

    channel: str
    publisher: Party
    session: bytes
    lane: Lane
    seq: int

    @classmethod
    def of(cls, stream: Stream, seq: int) -> PublicationId:
        """The id of a position in a stream.

        >>> PublicationId.of(Stream("alerts", "probe-7", bytes(32), Lane.URGENT), 1).seq
        1
        """
        channel, publisher, session, lane = stream
        return cls(channel, publisher, session, _LANES[lane], seq)

    @property
    def stream(self) -> Stream:
        """Everything but the seq."""
        return Stream(self.channel, self.publisher, self.session, self.lane)

    def __str__(self) -> str:
        return f"{self.stream!r}/{self.seq}"


class Ack(msgspec.Struct, frozen=True):
    """An event is safe: `replicas` replicas hold its publication, at `level`.

    The event is row `row` of publication `id`. `confirmed` says that no other content can ever
    stand there; mostly that is known only later. After `publish_batch` an acknowledgement speaks
    of `rows` events, from row 0 on.

    >>> Ack(PublicationId("alerts", "p", bytes(32), Lane.NORMAL, 1), 0, 3, "memory", False).replicas
    3
    """

    id: PublicationId
    row: int
    replicas: int
    level: str
    confirmed: bool
    rows: int = 1


class Received(msgspec.Struct, frozen=True):
    """An event as a subscriber gets it: who said it, what, and how many replicas vouched.

    It is row `row` of the `rows` events of publication `id`. If `error` is not None, its publisher
    made a body that cannot be read: `payload` holds all of its bytes, and nothing else is known.

    >>> event = Received(
    ...     PublicationId("alerts", "probe-7", bytes(32), Lane.NORMAL, 4), 0, 1,
    ...     timestamp=0, key=None, urgent=False, payload=b"disk failing",
    ...     attributes={"severity": 5}, votes=3, confirmed=False,
    ... )
    >>> event.publisher, event.seq, event["severity"]
    ('probe-7', 4, 5)
    """

    id: PublicationId
    row: int
    rows: int
    timestamp: int
    key: str | None
    urgent: bool
    payload: bytes
    attributes: Mapping[str, Value]
    votes: int
    confirmed: bool
    error: str | None = None

    @property
    def channel(self) -> str:
        """The channel's name."""
        return self.id.channel

    @property
    def publisher(self) -> Party:
        """Who published it, as certified by the operator."""
        return self.id.publisher

    @property
    def seq(self) -> int:
        """The publication's place in its stream, from 1."""
        return self.id.seq

    @property
    def time(self) -> datetime:
        """The publisher's wall clock, in UTC; nothing is ordered by it."""
        return EPOCH + timedelta(microseconds=self.timestamp)

    def __getitem__(self, attribute: str) -> Value:
        return self.attributes[attribute]
