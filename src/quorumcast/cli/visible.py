"""Text that others made up, shown so that it can play no tricks with the reader's terminal.

A publisher chooses payloads, keys and attributes, a replica the reasons that it gives. Control
characters could move the cursor, rewrite what stands above, or hide what follows; marks that change
the direction of writing could make two texts look alike. They are shown as escapes.
"""

from __future__ import annotations

import json
from unicodedata import category


def visible(text: str) -> str:
    r"""A text in one line, with escapes for what does not show.

    >>> print(visible("disk \x1b[2Jfailing\n"))
    disk \x1b[2Jfailing\n
    >>> visible("Störung 停電 😀") == "Störung 停電 😀"
    True
    """
    if text.isprintable():
        return text
    return "".join(each if _shows(each) else _escape(each) for each in text)


def visible_json(line: str) -> str:
    r"""A line of JSON that means the same, with escapes for what does not show.

    >>> print(visible_json('{"payload":"a\x9b2J"}'))
    {"payload":"a\u009b2J"}
    """
    if line.isprintable():
        return line
    return "".join(each if _shows(each) else json.dumps(each)[1:-1] for each in line)


def word(text: str) -> str:
    """A text as one word, in quotes where it would look like several.

    >>> word("db-3"), word("a severity=9")
    ('db-3', '"a severity=9"')
    """
    shown = visible(text)
    if shown and not any(each in ' "[]=' for each in shown):
        return shown
    return '"' + shown.replace('"', '\\"') + '"'


def _shows(character: str) -> bool:
    return character.isprintable() or category(character) == "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
