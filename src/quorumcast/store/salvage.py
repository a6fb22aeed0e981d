"""Copy what can be read of a torn environment to a new one; run as a process of its own.

LMDB may end the process when it follows a torn page. The parent then goes on without those votes.
Records are copied as they are: whoever opens the new environment checks and reports them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import lmdb

from quorumcast.store.place import TORN, open_environment


def _readable(reading: lmdb.Transaction) -> Iterator[tuple[bytes, bytes]]:
    """Records in their order, up to a page that LMDB itself finds torn."""
    try:
        for key, value in reading.cursor():
            yield bytes(key), bytes(value)
    except TORN:
        return


def salvage(torn: Path, fresh: Path, map_bytes: int) -> int:
    """Copy every record that can be read; returns how many."""
    source = open_environment(torn, map_bytes)
    target = open_environment(fresh, map_bytes)
    copied = 0
    try:
        with source.begin() as reading, target.begin(write=True) as writing:
            for key, value in _readable(reading):
                writing.put(key, value)
                copied += 1
        target.sync(True)
    finally:
        source.close()
        target.close()
    return copied


if __name__ == "__main__":
    salvage(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
