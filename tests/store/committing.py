"""A process that works on a journal, for tests that end it: `python -m tests.store.committing`.

- `loop`: commit votes in two streams for ever, and print each position once it is committed
- `hold`: open the journal, say so, and wait
- `full`: commit until files may not grow any more, print the error and what the journal holds,
  then go on with larger files
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from quorumcast.core.records import Confirmed, Opened
from quorumcast.store import Journal, StorageError
from tests.store.making import (
    OPENED,
    OPENING,
    OTHER,
    STREAM,
    accepted,
    again,
    fresh,
    state,
)

CONFIRMS = 7
"""Every so many positions the first stream is confirmed, two behind."""

ROOM_BYTES = 256 * 1024


def say(text: object) -> None:
    print(text, flush=True)


def loop(journal: Journal) -> None:
    start = state(journal).confirmed.seq + len(state(journal).pledged) // 32 + 1
    chain = b"c" * 32
    for position in range(start, start + 10**6):
        both = [accepted(position, position), accepted(position, position, stream=OTHER)]
        if position % CONFIRMS == 0:
            journal.commit([*both, Confirmed(STREAM, position - 2, chain)])
        else:
            journal.commit([*both])
        say(position)


def full(journal: Journal, path: Path) -> None:
    size = (path / "votes" / "data.mdb").stat().st_size
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + ROOM_BYTES, hard))
    committed = 0
    try:
        while True:
            journal.commit([accepted(committed + 1, committed + 64)])
            committed += 64
    except StorageError as error:
        say(f"{type(error).__name__}: {error}")
    say(committed)
    say(state(journal).head)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    journal.commit([accepted(committed + 1, committed + 1)])
    say(state(journal).head)
    journal.close()


def main(how: str, path: Path) -> None:
    if (path / "mark").exists():
        journal = again(path)
    else:
        journal = fresh(path)
        journal.commit([OPENED, Opened(OTHER, OPENING, b"")])
    if how == "loop":
        loop(journal)
    elif how == "full":
        full(journal, path)
    else:
        say("open")
        sys.stdin.read()
        journal.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
