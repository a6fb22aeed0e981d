"""What a subscriber keeps of one channel that it subscribes to, and of each replica there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from quorumcast.client.follower import Follower
from quorumcast.client.listing import Listing
from quorumcast.client.reading import Reading
from quorumcast.core.ids import Party, Position, Stream
from quorumcast.core.limits import REPEAT_SECONDS

Start: TypeAlias = Literal["earliest", "latest"] | Mapping[Stream, int]
"""Where to begin: at the first position retained, after the last, or at named next positions."""


class Desk:
    """What a subscriber knows of one replica on one channel."""

    def __init__(self) -> None:
        self.since = 0
        self.complete = False
        self.subscribed = 0
        self.accepted = 0
        self.refused: str | None = None
        self.interval = REPEAT_SECONDS
        self.candidates: OrderedDict[Stream, None] = OrderedDict()


class Subscription:
    """One channel that is subscribed to."""

    def __init__(
        self, reading: Reading, patterns: tuple[str, ...], start: Start, *, blocks: bool
    ) -> None:
        self.reading = reading
        self.patterns = patterns
        self.start = start
        self.blocks = blocks
        self.fixed = start != "latest"
        """Whether it is decided where streams begin."""
        self.starts: dict[Stream, int] = dict(start) if isinstance(start, Mapping) else {}
        self.desks: dict[Party, Desk] = {}
        self.listing = Listing(reading.quorum.one_correct)
        self.followers: dict[Stream, Follower] = {}
        self.idle: OrderedDict[Stream, None] = OrderedDict()
        """Followers with nothing to do, the one that was so for longest first."""
        self.resting: dict[Stream, Position] = {}
        """Streams that were idle for long: what was delivered of them, with its chain digest."""

    def matches(self, stream: Stream) -> bool:
        """Whether the subscription asks for this stream."""
        return any(fnmatchcase(stream.publisher, pattern) for pattern in self.patterns)
