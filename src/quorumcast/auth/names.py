"""Which names a party may have.

Channels match certified names against patterns, clients keep `NAME.qc` files, and people read
names in reports; so a name holds nothing that a pattern, a path or a terminal takes for more than
text. The forbidden characters are listed by code point: whether a name is good must not depend on
the Unicode tables of the Python that asks.
"""

from __future__ import annotations

import re

from quorumcast.core.limits import NAME_BYTES

OPERATOR = "operator"
"""Under this name whoever has the operator's key speaks to replicas; it is no other party's."""

_SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROLS = "\x00-\x1f\x7f-\x9f"
# Zero-width and direction marks: two names that differ would look alike.
_HIDDEN = "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"

# What to look for, in this order, and what a person calls it.
_FORBIDDEN = (
    (re.compile("/"), "a slash"),
    (re.compile(r"[*?\[]"), "one of * ? [, which stand for patterns"),
    (re.compile(f"[{_SPACES}]"), "white space"),
    (re.compile(f"[{_CONTROLS}]"), "a control character"),
    (re.compile(f"[{_HIDDEN}]"), "a hidden mark"),
)


def name_fault(name: str) -> str | None:
    """What is wrong with a party's name, to follow the word "name"; None if nothing is.

    >>> name_fault("probe-7") is None
    True
    >>> name_fault("probe/7")
    'contains a slash'
    """
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "is not text that UTF-8 can hold"
    if size == 0:
        return "is empty"
    if size > NAME_BYTES:
        return f"has {size} bytes, more than {NAME_BYTES}"
    for pattern, what in _FORBIDDEN:
        if pattern.search(name):
            return f"contains {what}"
    return None
