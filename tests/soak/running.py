"""Does works piece by piece on a pool of workers, until done, failed, or out of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import NamedTuple

from tests.soak.work import Piece, Work

VACUOUS_MOST = 0.1
"""The part of runs that may have nothing to judge: crashes and liars can keep everything back."""


class Result(NamedTuple):
    """How far a work came."""

    work: Work
    done: int
    vacuous: int
    failure: str


Heard = Callable[[Work, int], None]


def soak(
    work: Work,
    pool: Executor,
    workers: int,
    seconds: float,
    clock: Callable[[], float],
    heard: Heard,
    first: int = 0,
) -> Result:
    """Do a work from its `first` number on; the first failure ends it."""
    end = clock() + seconds
    todo = _chunks(work, first)
    pending: set[Future[Piece]] = set()
    done = vacuous = 0
    failure = ""
    while not failure:
        while len(pending) < 2 * workers and clock() < end:
            chunk = next(todo, None)
            if chunk is None:
                break
            pending.add(pool.submit(work.piece, *chunk))
        if clock() >= end:  # what has not begun is left
            pending = {future for future in pending if not future.cancel()}
        if not pending:
            break
        ended, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in ended:
            piece = future.result()
            done, vacuous = done + piece.done, vacuous + piece.vacuous
            failure = failure or piece.failure
            heard(work, piece.done)
    for future in pending:
        future.cancel()
    if not failure and vacuous > VACUOUS_MOST * done + 1:
        failure = f"{vacuous} of {done} {work.unit} had nothing to judge"
    return Result(work, done, vacuous, failure)


def _chunks(work: Work, first: int) -> Iterator[tuple[int, int]]:
    for start in range(first, first + work.total, work.chunk):
        yield start, min(work.chunk, first + work.total - start)
