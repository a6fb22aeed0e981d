"""What a replica keeps of one subscription: the streams that it follows, and how far."""

from __future__ import annotations

from collections import OrderedDict

from quorumcast.core.ids import Party, Stream
from quorumcast.core.messages import Subscribe
from quorumcast.core.patterns import Patterns


class Cursor:
    """How far a subscriber was sent a stream, and how far it may be."""

    __slots__ = ("client", "next", "reading", "reminded_at", "stream", "through")

    def __init__(self, client: Subscription, stream: Stream, first: int, through: int) -> None:
        self.client = client
        self.stream = stream
        self.next = first
        self.through = through
        self.reading = False
        self.reminded_at: float | None = None
        """When the subscriber was last told that its credit stops the publisher."""


class Subscription:
    """What one client subscribed to on one channel."""

    def __init__(self, party: Party, message: Subscribe) -> None:
        self.party = party
        self.version = message.version
        self._patterns = Patterns(message.patterns)
        self.begin = message.begin
        self.window = message.window
        self.blocks = message.blocks
        """Whether publishers wait for it."""
        self.cursors: dict[Stream, Cursor] = {}
        self.waiting: OrderedDict[Stream, None] = OrderedDict()
        """Streams that wait for a read, urgent ones first."""

    def matches(self, stream: Stream) -> bool:
        """Whether a stream is among those asked for."""
        return self._patterns.match(stream.publisher)

    def begins(self, stream: Stream, created: int) -> bool:
        """Whether a stream that this replica heard of then is followed from its first position."""
        return created > self.begin and self.matches(stream)
