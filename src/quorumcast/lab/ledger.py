"""What was published against what was delivered, one by one.

A publisher's caller learns the id of what it published with the acknowledgement; a subscriber has
the id with the event. Both may come first. An entry with both is compared by its digest and
forgotten, so that the ledger is as long as what is under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import pack
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3

from quorumcast.api.received import PublicationId, Received


class Place(NamedTuple):
    """Where something stands: an event's id and row; of a whole batch, those of its first row.

    >>> Place("load", "probe-load", "00", "normal", 4, 0).stream
    ('load', 'probe-load', '00', 'normal')
    """

    channel: str
    publisher: str
    session: str
    lane: str
    seq: int
    row: int

    @classmethod
    def of(cls, id: PublicationId, row: int) -> Place:
        """The place of a row of a publication."""
        return cls(id.channel, id.publisher, id.session.hex(), id.lane.name.lower(), id.seq, row)

    @property
    def stream(self) -> tuple[str, ...]:
        """Everything but the position."""
        return self[:4]


class Sent(NamedTuple):
    """What a caller handed to `send`, and when: a digest of its content, how many events it is."""

    digest: bytes
    events: int
    at: float


class Got(NamedTuple):
    """What a subscriber was given, and when."""

    digest: bytes
    events: int
    at: float


class Ledger:
    """Counts events: published, acknowledged, delivered, and what should not be.

    >>> ledger, place = Ledger(), Place("alerts", "probe", "00", "normal", 1, 0)
    >>> ledger.published(1)
    >>> ledger.delivered(place, Got(b"x", 1, 2.5))
    >>> ledger.acknowledged(place, Sent(b"x", 1, 2.0))
    0.5
    >>> ledger.settled, ledger.lost, ledger.altered
    (True, 0, 0)
    """

    def __init__(self) -> None:
        self.sent = 0
        """Events that were handed to a publisher."""
        self.acked = 0
        """Events of which the publisher said that they are safe."""
        self.got = 0
        """Events that came to a subscriber, those of no publisher of ours included."""
        self.repeated = 0
        """Events that came again, or after later ones of their stream."""
        self._differing = 0
        self._sent: dict[Place, Sent] = {}
        self._got: dict[Place, Got] = {}
        self._last: dict[tuple[str, ...], tuple[int, int]] = {}

    def published(self, events: int) -> None:
        """So many events were handed to a publisher."""
        self.sent += events

    def acknowledged(self, place: Place, sent: Sent) -> float | None:
        """The publisher says where they are; returns the seconds to delivery, if that was."""
        self.acked += sent.events
        got = self._got.pop(place, None)
        if got is None:
            self._sent[place] = sent
            return None
        return self._compared(sent, got)

    def delivered(self, place: Place, got: Got) -> float | None:
        """A subscriber has them; returns the seconds since they were sent, if that is known."""
        self.got += got.events
        at = (place.seq, place.row)
        if at <= self._last.get(place.stream, (0, 0)):
            self.repeated += got.events
            return None
        self._last[place.stream] = at
        sent = self._sent.pop(place, None)
        if sent is None:
            self._got[place] = got
            return None
        return self._compared(sent, got)

    def _compared(self, sent: Sent, got: Got) -> float:
        if (sent.digest, sent.events) != (got.digest, got.events):
            self._differing += got.events
        return got.at - sent.at

    def awaits(self, place: Place) -> bool:
        """Whether something there is acknowledged and not delivered yet."""
        return place in self._sent

    # -- what it comes to ----------------------------------------------------------------------

    @property
    def unknown(self) -> int:
        """Events that were not acknowledged: they may be delivered or not."""
        return self.sent - self.acked

    @property
    def lost(self) -> int:
        """Events that were acknowledged and did not come: while it runs, those on their way."""
        return sum(sent.events for sent in self._sent.values())

    @property
    def altered(self) -> int:
        """Events that came with another content than was sent, or were never sent at all."""
        strange = sum(got.events for got in self._got.values())
        return self._differing + max(0, strange - self.unknown)

    @property
    def settled(self) -> bool:
        """Whether everything that was published is acknowledged and delivered."""
        return not self._sent and not self.unknown


# -- digests and places ----------------------------------------------------------------------------


def event_digest(
    payload: bytes,
    timestamp: int,
    key: str | None,
    urgent: bool,
    attributes: Iterable[tuple[Any, Any]],
) -> bytes:
    """A digest of all that an event says.

    >>> event_digest(b"x", 1, None, False, []) == event_digest(b"x", 1, "", False, [])
    False
    """
    content = (payload, timestamp, key, urgent, sorted(attributes))
    return blake3(msgspec.msgpack.encode(content)).digest()


def received_digest(event: Received) -> bytes:
    """The same of an event that was delivered."""
    attributes = event.attributes.items()
    return event_digest(event.payload, event.timestamp, event.key, event.urgent, attributes)


def rows_digest(payloads: Sequence[bytes], timestamps: Sequence[int]) -> bytes:
    """A digest of events that have payloads and timestamps alone, in their order.

    >>> rows_digest([b"ab", b""], [1, 1]) == rows_digest([b"a", b"b"], [1, 1])
    False
    """
    count = len(payloads)
    sizes = pack(f"<{count}q", *map(len, payloads))
    head = pack("<q", count) + sizes + pack(f"<{count}q", *timestamps)
    return blake3(head + b"".join(payloads)).digest()
