"""Streams, records and journals for the tests of the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.core.ids import FIRST, Lane, Opening, Stream
from quorumcast.core.records import (
    Accepted,
    Confirmed,
    Installed,
    Opened,
    Range,
    ReadRange,
    ReadStream,
    StreamState,
)
from quorumcast.store import Journal, create

CLUSTER = b"c" * 32
COUNT = 4
OPENING = Opening("p1", 7, (FIRST,) * COUNT)


def stream_of(number: int, channel: str = "alerts") -> Stream:
    opening = Opening("p1", number, (FIRST,) * COUNT)
    return Stream(channel, "p1", session_of(CLUSTER, 1, opening), Lane.NORMAL)


STREAM = stream_of(7)
OTHER = stream_of(8)
OPENED = Opened(STREAM, OPENING, b"cert")


def noise(count: int) -> bytes:
    """Entropy that a test can foretell."""
    return bytes(range(1, count + 1))


def fresh(path: Path, **how: Any) -> Journal:
    """A journal as a new cluster has it, opened."""
    create(path, 1, COUNT)
    return again(path, **how)


def again(path: Path, *, boot: str = "boot-1", now_ms: int = 1000, **how: Any) -> Journal:
    """A journal that is there already, opened."""
    return Journal(path, CLUSTER, 1, COUNT, boot=boot, now_ms=now_ms, entropy=noise, **how)


def bodies(first: int, last: int, mark: str = "a") -> tuple[bytes, ...]:
    return tuple(f"{mark}{position}".encode() for position in range(first, last + 1))


def digests(first: int, last: int, mark: str = "a", stream: Stream = STREAM) -> bytes:
    return Digester(CLUSTER, stream).digests(first, bodies(first, last, mark))


def accepted(first: int, last: int, mark: str = "a", stream: Stream = STREAM) -> Accepted:
    run = bodies(first, last, mark)
    return Accepted(stream, first, digests(first, last, mark, stream), run, b"")


def installed(first: int, last: int, mark: str, stream: Stream = STREAM) -> Installed:
    run = bodies(first, last, mark)
    return Installed(stream, first, digests(first, last, mark, stream), run, b"")


def chain(position: int, mark: str = "a", stream: Stream = STREAM) -> bytes:
    """c(position), where every position up to it has the content that the mark names."""
    origin = Digester(CLUSTER, stream).origin
    return [origin, *chains_after(origin, digests(1, position, mark, stream))][position]


def confirmed(position: int, mark: str = "a", stream: Stream = STREAM) -> Confirmed:
    return Confirmed(stream, position, chain(position, mark, stream))


def state(journal: Journal, stream: Stream = STREAM) -> StreamState:
    loaded = journal.read(ReadStream(stream))
    assert isinstance(loaded, StreamState)
    return loaded


def slots(journal: Journal, first: int, last: int, stream: Stream = STREAM) -> Range:
    loaded = journal.read(ReadRange(stream, first, last, 10**9))
    assert isinstance(loaded, Range)
    return loaded
