"""How a process of ours keeps its memory: what was freed is used again, not given back at once.

Bodies of a megabyte come and go hundreds of times a second. The usual allocator of Linux takes
such pieces from the kernel and gives them back each time, and the kernel clears every page before
it hands it out again: with large bodies that is most of the work of a replica.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The names of glibc's settings in `mallopt`."""

KEPT_BYTES = 64 * 2**20
"""Free memory at the end of the heap that is kept: some windows of bodies in flight."""

PIECE_BYTES = 32 * 2**20
"""Pieces up to this come from the heap; the most that glibc takes here."""


def keep_memory() -> bool:
    """Ask the allocator to keep what is freed; returns whether it is one that can.

    For programs of ours. A library has no business to change its host's allocator.

    >>> keep_memory() in (True, False)
    True
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None:
        return False
    settings = ((_MMAP_THRESHOLD, PIECE_BYTES), (_TRIM_THRESHOLD, KEPT_BYTES))
    return {mallopt(name, size) for name, size in settings} == {1}


def give_back_memory() -> bool:
    """Hand what is free back to the system: after a time of unusual need; returns whether it can.

    >>> give_back_memory() in (True, False)
    True
    """
    trim = _of_glibc("malloc_trim")
    if trim is None:
        return False
    trim(KEPT_BYTES)
    return True


def _of_glibc(name: str) -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):  # another C library
        return None
