"""Patterns of names, as channels and subscribers give them: `*`, `?` and `[...]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

_SPECIAL = re.compile(r"[*?\[]")


class Patterns:
    """Whether a name matches one of some patterns, upper and lower case being different.

    Patterns may be somebody else's: they are made ready once, when a name is first compared with
    them, and are kept by whoever asked for them, not in a cache that others could fill.

    >>> patterns = Patterns(("probe-*", "screen"))
    >>> patterns.match("probe-7"), patterns.match("screen"), patterns.match("screen-1")
    (True, True, False)
    """

    __slots__ = ("_all", "_compiled", "_names", "_special")

    def __init__(self, patterns: Iterable[str]) -> None:
        special = {each for each in patterns if _SPECIAL.search(each)}
        self._all = "*" in special
        self._names = frozenset(each for each in patterns if each not in special)
        self._special = sorted(special)
        self._compiled: re.Pattern[str] | None = None

    def match(self, name: str) -> bool:
        """Whether one of them matches."""
        if self._all or name in self._names:
            return True
        if not self._special:
            return False
        if self._compiled is None:
            self._compiled = re.compile("|".join(map(translate, self._special)))
        return self._compiled.match(name) is not None
