"""A replica's incarnations: the one it is born with, and a new one where votes may be missing.

A new incarnation voids all earlier ones: in sessions that name those, the replica casts no new
vote. Its counter is above every one that this journal is known to have had, and at least the time
in milliseconds, so that it is above them too where the whole journal is gone.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from quorumcast.core.ids import FIRST, Incarnation
from quorumcast.core.records import Incarnated

_LINUX = Path("/proc/sys/kernel/random/boot_id")
_MAC = ("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")


def first_life(count: int) -> Incarnated:
    """What every replica is given when its cluster of `count` replicas is made.

    >>> first_life(4).seen == (FIRST,) * 4
    True
    """
    return Incarnated(((FIRST, 0.0),), (FIRST,) * count)


def next_life(
    old: Incarnated | None,
    highest: int,
    replica_index: int,
    count: int,
    now_ms: int,
    entropy: Callable[[int], bytes],
) -> Incarnated:
    """A life that voids the old one; what was seen of other replicas stays known.

    `highest` is the highest counter that this replica is known to have had.

    >>> life = next_life(first_life(2), 9, 1, 2, 5, bytes)
    >>> life.valid, life.seen[1]
    (((Incarnation(counter=10, nonce=0), 0.005),), Incarnation(counter=10, nonce=0))
    """
    seen = list(old.seen if old is not None else ())[:count]
    seen += [FIRST] * (count - len(seen))
    known = [highest, seen[replica_index].counter]
    known += [each.counter for each, _ in old.valid] if old is not None else []
    counter = max(max(known) + 1, now_ms)
    incarnation = Incarnation(counter, int.from_bytes(entropy(8), "big"))
    seen[replica_index] = incarnation
    return Incarnated(((incarnation, now_ms / 1000),), tuple(seen))


def boot_id() -> str:
    """What names this run of the machine; empty where the system does not tell.

    >>> boot_id() == boot_id()
    True
    """
    try:
        if _LINUX.exists():
            return _LINUX.read_text(encoding="ascii").strip()
        told = subprocess.run(_MAC, capture_output=True, check=True, text=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()
