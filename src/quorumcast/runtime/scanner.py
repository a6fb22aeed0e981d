"""Where in a TOML text each key and table stands.

The standard library reads TOML and keeps no places, yet an error is only good if it names the line.
This scanner walks over a text that the library has accepted already, and notes for every key, table
and element of an array its line and the span of its value. It takes no value out of the text: that
stays the library's work, so the two cannot disagree about what a file says.

A place is a path from the root: ``("channel", 0, "confirm", "every")``.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import NamedTuple, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers of elements in arrays, from the root on."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]+")
_STRINGS = {
    '"""': re.compile(r'"""(?:\\.|[^\\])*?"""{1,3}(?!")', re.DOTALL),
    "'''": re.compile(r"'''.*?'''{1,3}(?!')", re.DOTALL),
    '"': re.compile(r'"(?:\\.|[^"\\])*"'),
    "'": re.compile(r"'[^']*'"),
}


class Mark(NamedTuple):
    """The line of a key, counted from 1, and the span of its value; of a table, its header's.

    >>> scan('a = 1\\nb = "two"')[("b",)]
    Mark(line=2, start=10, end=15)
    """

    line: int
    start: int
    end: int


def scan(text: str) -> dict[Place, Mark]:
    """The mark of every key, table and element in a text that `tomllib` accepts.

    >>> marks = scan("[[channel]]\\nname = 'a'\\nconfirm = { every = 5 }")
    >>> marks[("channel", 0, "confirm", "every")].line
    3
    """
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._marks: dict[Place, Mark] = {}
        self._elements: dict[Place, int] = {}
        """How many tables each array of tables has so far."""

    def run(self) -> dict[Place, Mark]:
        table: Place = ()
        while self._more():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._marks

    # -- tables and pairs --------------------------------------------------------------------------

    def _header(self) -> Place:
        start, opening = self._at, "[[" if self._text.startswith("[[", self._at) else "["
        self._at += len(opening)
        keys = self._keys()
        self._at += len(opening)
        mark = self._mark(start)
        place: Place = ()
        for key in keys[:-1]:
            place = self._into((*place, key), mark)
        place += (keys[-1],)
        if opening == "[":
            return self._into(place, mark)
        self._marks.setdefault(place, mark)
        number = self._elements.get(place, 0)
        self._elements[place] = number + 1
        self._marks[(*place, number)] = mark
        return (*place, number)

    def _into(self, place: Place, mark: Mark) -> Place:
        """The table at this place; of an array of tables, the last one."""
        self._marks.setdefault(place, mark)
        if place in self._elements:
            place += (self._elements[place] - 1,)
        return place

    def _pair(self, table: Place) -> None:
        start = self._at
        keys = self._keys()
        self._at += 1  # the equals sign
        self._space()
        value = self._at
        place = table + keys
        self._value(place)
        mark = Mark(self._line(start), value, self._at)
        self._marks[place] = mark
        for depth in range(1, len(keys)):
            self._marks.setdefault(table + keys[:depth], mark)

    def _keys(self) -> tuple[str, ...]:
        keys: list[str] = []
        while True:
            self._space()
            start = self._at
            if self._peek() in "\"'":
                self._take(_STRINGS[self._peek()])
                raw = self._text[start : self._at]
                keys.append(tomllib.loads(f"key = {raw}")["key"])
            else:
                self._take(_BARE_KEY)
                keys.append(self._text[start : self._at])
            self._space()
            if self._peek() != ".":
                return tuple(keys)
            self._at += 1

    # -- values ------------------------------------------------------------------------------------

    def _value(self, place: Place) -> None:
        first = self._peek()
        if first == "[":
            self._array(place)
        elif first == "{":
            self._inline(place)
        elif first in "\"'":
            triple = first * 3
            long = self._text.startswith(triple, self._at)
            self._take(_STRINGS[triple if long else first])
        else:
            start = self._at
            self._take(_BARE_VALUE)
            self._at = start + len(self._text[start : self._at].rstrip())

    def _array(self, place: Place) -> None:
        self._at += 1
        number = 0
        while self._more() and self._peek() != "]":
            if self._peek() == ",":
                self._at += 1
                continue
            start = self._at
            self._value((*place, number))
            self._marks[(*place, number)] = self._mark(start)
            number += 1
        self._at += 1

    def _inline(self, place: Place) -> None:
        self._at += 1
        while self._more() and self._peek() != "}":
            if self._peek() == ",":
                self._at += 1
            else:
                self._pair(place)
        self._at += 1

    # -- characters --------------------------------------------------------------------------------

    def _more(self) -> bool:
        if found := _BLANK.match(self._text, self._at):
            self._at = found.end()
        return self._at < len(self._text)

    def _space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _peek(self) -> str:
        assert self._at < len(self._text), "a text that tomllib accepts does not end here"
        return self._text[self._at]

    def _take(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        assert found is not None, "a text that tomllib accepts has something here"
        self._at = found.end()

    def _mark(self, start: int) -> Mark:
        return Mark(self._line(start), start, self._at)

    def _line(self, at: int) -> int:
        return bisect_right(self._breaks, at - 1) + 1
