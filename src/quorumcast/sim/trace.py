"""What an observer outside the machines sees of a run; the checkers' only source.

Local calls of users, what each turn made durable, delivered, acknowledged and reported. A client
that restarts is a new life of its party: `"p1"`, then `"p1#2"`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Incarnation, Lane, Party, Stream
from quorumcast.core.machine import Ready
from quorumcast.core.records import Record


class Published(msgspec.Struct, frozen=True):
    """A correct publisher's user called `publish`."""

    tick: int
    life: str
    party: Party
    channel: str
    lane: Lane
    number: int
    body: bytes


class Subscribed(msgspec.Struct, frozen=True):
    """A correct subscriber's user called `subscribe`, or, without patterns, `unsubscribe`."""

    tick: int
    channel: str
    patterns: tuple[str, ...]
    start: str | dict[Stream, int]


class Told(msgspec.Struct, frozen=True):
    """What a machine told its user: a delivery, a gap, an outcome."""

    tick: int
    what: Any


class Stored(msgspec.Struct, frozen=True):
    """A record that a replica made durable, and in which incarnation.

    Without a record: here its disk was wiped.
    """

    tick: int
    incarnation: Incarnation
    record: Record | None


class Trace:
    """Everything that was seen, by who it was seen at.

    >>> Trace().published
    []
    """

    def __init__(self) -> None:
        self.published: list[Published] = []
        self.subscribed: dict[str, list[Subscribed]] = {}
        self.delivered: dict[str, list[Told]] = {}
        self.outcomes: dict[str, list[Told]] = {}
        self.stored: dict[str, list[Stored]] = {}
        self.evidence: list[tuple[int, Party, Evidence]] = []
        self.rejections: dict[tuple[Party, Party], int] = {}
        """How many messages of the second party the first one refused."""
        self.breaches: list[str] = []
        """Frames that the link layer should have refused and did not."""
        self.sizes: dict[Party, int] = {}
        """The largest measured memory of each machine, in bytes."""

    def turn(self, tick: int, life: str, party: Party, ready: Ready) -> None:
        """Note what a correct client's or replica's turn told its user and its operator."""
        if ready.deliveries:
            told = self.delivered.setdefault(life, [])
            told += [Told(tick, what) for what in ready.deliveries]
        if ready.acknowledgements:
            told = self.outcomes.setdefault(life, [])
            told += [Told(tick, what) for what in ready.acknowledgements]
        for evidence in ready.evidence:
            self.evidence.append((tick, party, evidence))
        for rejection in ready.rejections:
            pair = (party, rejection.sender)
            self.rejections[pair] = self.rejections.get(pair, 0) + 1
