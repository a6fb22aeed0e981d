"""Who speaks, and about what: parties, lanes, streams, incarnations, openings.

A publication's id is (channel, publisher, session, lane, seq). A `Stream` is everything but the
seq: the unit in which positions count from 1 without gaps, votes are cast in order, and
statements are made.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

import msgspec

Party: TypeAlias = str
"""A certified name: of a replica, a publisher or a subscriber. Example: ``"probe-7"``."""


class Lane(IntEnum):
    """The two lanes of a publisher; order is kept within a lane, never between them.

    >>> Lane.URGENT > Lane.NORMAL
    True
    """

    NORMAL = 0
    URGENT = 1

    __hash__ = int.__hash__  # equal to an int, so its hash is too; an enum's own is slow


class Stream(NamedTuple):
    """Everything of a publication's id but its seq.

    >>> Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)
    alerts/probe-7/00000000/normal
    """

    channel: str
    publisher: Party
    session: bytes
    lane: Lane

    def __repr__(self) -> str:
        session, lane = self.session[:4].hex(), Lane(self.lane).name.lower()
        return f"{self.channel}/{self.publisher}/{session}/{lane}"


class Incarnation(NamedTuple):
    """One life of a replica's votes; a replica that may have forgotten votes draws a new one.

    Incarnations of one replica are ordered by their counter.

    >>> Incarnation(2, 77) > Incarnation(1, 99)
    True
    """

    counter: int
    nonce: int


FIRST = Incarnation(1, 0)
"""The life that a replica is given when its cluster is made; it is taken to live it until it shows
another. So a session names a replica that nobody has seen yet, and that one can vote in it."""


class Opening(msgspec.Struct, frozen=True):
    """What a session is the hash of: its publisher, 64 random bits, every replica's incarnation.

    `incarnations` follow the order of the replicas in the manifest.

    >>> Opening("probe-7", 5, (Incarnation(1, 9),)).publisher
    'probe-7'
    """

    publisher: Party
    nonce: int
    incarnations: tuple[Incarnation, ...]


class Position(NamedTuple):
    """A position of a stream with the chain digest that commits to everything up to it.

    >>> Position(3, bytes(32)).seq
    3
    """

    seq: int
    chain: bytes


class Cluster(msgspec.Struct, frozen=True):
    """What every machine knows of its cluster; the fixed part of the manifest.

    >>> Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32)).replicas[0]
    'r1'
    """

    id: bytes
    epoch: int
    replicas: tuple[Party, ...]
    faults: int
    operator: bytes
    lab: bool = False
