"""What commits and reads of the vote journal cost, in microseconds; on the disk of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from os import urandom
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.wire import BODY, RUN, cost
from quorumcast.core.ids import FIRST, Lane, Opening, Stream
from quorumcast.core.records import (
    Accepted,
    Confirmed,
    Floored,
    MadeReady,
    Opened,
    ReadRange,
    ReadStream,
    Record,
)
from quorumcast.store import Journal, create

CLUSTER = b"c" * 32
CHAIN = b"h" * 32
DIGEST = b"d" * 32
OPENING = Opening("probe-7", 5, (FIRST,) * 4)
KEPT = 100_000
"""Positions that a stream keeps in the figures for long streams."""


def _stream(number: int) -> Stream:
    return Stream("alerts", "probe-7", number.to_bytes(32, "big"), Lane.NORMAL)


@contextmanager
def _journal() -> Iterator[Journal]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        create(path, 0, 4)
        journal = Journal(path, CLUSTER, 0, 4, boot="b", now_ms=1, entropy=urandom)
        journal.commit([Opened(_stream(number), OPENING, b"") for number in range(RUN)])
        yield journal
        journal.close()


def _votes(journal: Journal, size: int) -> Callable[[], object]:
    """A turn with one run in one stream; every tenth confirms and drops what went before."""
    turns = count()
    stream = _stream(0)
    bodies, digests = (BODY,) * size, DIGEST * size

    def turn() -> None:
        done = next(turns)
        first = done * size + 1
        records: list[Record] = [Accepted(stream, first, digests, bodies, b"")]
        if done % 10 == 9:
            last = first + size - 1
            records.append(MadeReady(stream, last, CHAIN, first, b""))
            records.append(Confirmed(stream, last, CHAIN))
            if last > KEPT:
                records.append(Floored(stream, last - KEPT, CHAIN, confirmed=True))
        journal.commit(records)

    return turn


def _many(journal: Journal) -> Callable[[], object]:
    """A turn with one vote in each of many streams; each confirms what it said before."""
    turns = count(1)

    def turn() -> None:
        position = next(turns)
        records: list[Record] = []
        for number in range(RUN):
            stream = _stream(number)
            records.append(Accepted(stream, position, DIGEST, (BODY,), b""))
            if position > 1:
                records.append(Confirmed(stream, position - 1, CHAIN))
                records.append(Floored(stream, position - 1, CHAIN, confirmed=True))
        journal.commit(records)

    return turn


def _read(journal: Journal) -> tuple[Callable[[], object], Callable[[], object]]:
    stream = _stream(0)
    bodies, digests = (BODY,) * 1000, DIGEST * 1000
    for first in range(1, KEPT, 1000):
        run = Accepted(stream, first, digests, bodies, b"")
        journal.commit([run, Confirmed(stream, first + 999, CHAIN)])
    journal.commit([Accepted(stream, KEPT + 1, digests, bodies, b"")])
    chunk = ReadRange(stream, KEPT // 2 + 1, KEPT // 2 + 4096, 2**20)
    return lambda: journal.read(chunk), lambda: journal.read(ReadStream(stream))


def run() -> list[tuple[str, float]]:
    """Every figure, by what was measured."""
    figures: list[tuple[str, float]] = []
    with _journal() as journal:
        figures.append(("store: commit of one vote", cost(_votes(journal, 1))))
    with _journal() as journal:
        figures.append((f"store: a vote in a commit of {RUN}", cost(_votes(journal, RUN)) / RUN))
    with _journal() as journal:
        name = f"store: a vote in a commit of {RUN} in as many streams, with CONFIRMED and floor"
        figures.append((name, cost(_many(journal)) / RUN))
    with _journal() as journal:
        chunk, state = _read(journal)
        figures.append(("store: read a chunk of 4,096 positions", cost(chunk)))
        figures.append(("store: read a stream with 1,000 votes", cost(state)))
    return figures
