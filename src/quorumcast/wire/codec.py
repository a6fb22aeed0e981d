"""Messages to bytes and back, by one table of kinds.

A payload is the version and then message after message, each its kind and its fields; the
fields say themselves where they end. For every payload b that is accepted, encoding what it
decodes to gives b again: nothing can be said in two ways, so that equal messages have equal
bytes under a tag, and different ones have not.

A protocol with messages of its own adds them with `register`; a kind is never given twice, and
never again to something else.

Upon bytes from a peer `decode_payload` gives messages, or raises `ProtocolError`, and nothing
else, whatever the bytes are. Every count is held against the bytes that are left before
anything is allocated for it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import FRAME_MESSAGES
from quorumcast.core.messages import Message
from quorumcast.wire.primitives import Reader, cut_short

VERSION = 1
"""The encoding described here; another one has another number."""

VERSION_BYTE = bytes((VERSION,))

_M = TypeVar("_M")

Encode: TypeAlias = Callable[[_M, list[bytes]], bytes]
"""From a message to its fields' bytes; adds bodies that travel detached to the list."""

Decode: TypeAlias = Callable[[Reader], _M]
"""From the fields' bytes to a message; leaves the reader behind them."""

Encoded: TypeAlias = tuple[Any, bytes, list[bytes]]
"""A message, its bytes with its kind, and its detached bodies; not to be changed."""

Memo: TypeAlias = dict[int, Encoded]
"""What a turn has encoded so far, by `id(message)`, so that a message to n receivers is encoded
once. The caller owns it: one for all sealers of a turn, cleared (or dropped) when the turn is
out. An entry holds its message, so no other object can have that id while the entry stands."""

_encoders: dict[type[Any], tuple[bytes, Encode[Any]]] = {}
_decoders: list[Decode[Any] | None] = [None] * 256
_types: dict[int, type[Any]] = {}


def register(kind: int, type_: type[_M], encode: Encode[_M], decode: Decode[_M]) -> None:
    """Give a message type its kind number, 1 to 255.

    `encode` and `decode` are inverse to each other, and `decode` accepts nothing that `encode`
    does not make.

    >>> register(1, int, lambda number, detached: b"", lambda reader: 0)
    Traceback (most recent call last):
    ...
    AssertionError: kind 1 is Hello
    """
    assert 1 <= kind <= 255, f"kind {kind} does not fit a byte, or is 0"
    assert kind not in _types, f"kind {kind} is {_types[kind].__name__}"
    assert type_ not in _encoders, f"{type_.__name__} has a kind already"
    _types[kind] = type_
    _encoders[type_] = (bytes((kind,)), encode)
    _decoders[kind] = decode


def kinds() -> dict[int, type[Any]]:
    """Every kind number that is given, and its message type.

    >>> kinds()[1].__name__
    'Hello'
    """
    return dict(_types)


# -- encoding ----------------------------------------------------------------------------------


def encode_message(message: Message, memo: Memo | None = None) -> Encoded:
    """One message as it stands in a payload; from `memo` if it was encoded there before.

    >>> from quorumcast.core.messages import AskHeads
    >>> encode_message(AskHeads("alerts", 0))[1]
    b'\\x13\\x06alerts\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    if memo is not None:
        known = memo.get(id(message))
        if known is not None:
            return known
    entry = _encoders.get(type(message))
    assert entry is not None, f"{type(message).__name__} has no kind"
    detached: list[bytes] = []
    encoded = (message, entry[0] + entry[1](message, detached), detached)
    if memo is not None:
        memo[id(message)] = encoded
    return encoded


def encode_payload(
    messages: Iterable[Message], memo: Memo | None = None
) -> tuple[bytes, list[bytes]]:
    """A payload of these messages, and the bodies that go detached behind it.

    >>> from quorumcast.core.messages import AskHeads
    >>> payload, detached = encode_payload([AskHeads("a", 1), AskHeads("b", 2)])
    >>> len(payload), detached
    (23, [])
    """
    pieces = [VERSION_BYTE]
    detached: list[bytes] = []
    for message in messages:
        _, data, bodies = encode_message(message, memo)
        pieces.append(data)
        detached += bodies
    return b"".join(pieces), detached


# -- decoding ----------------------------------------------------------------------------------


def decode_payload(
    payload: bytes, detached: bytes | memoryview = b"", at: int = 0
) -> list[Message]:
    """The messages of the payload that begins at `at`, with the detached bodies behind it.

    >>> from quorumcast.core.messages import AskHeads
    >>> decode_payload(*encode_payload([AskHeads("alerts", 3)])[:1])
    [AskHeads(channel='alerts', since=3)]
    >>> decode_payload(b"\\x02")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ProtocolError: version 2 of the encoding: this side speaks 1
    """
    size = len(payload)
    if at >= size:
        raise ProtocolError("the payload is empty")
    if payload[at] != VERSION:
        raise ProtocolError(f"version {payload[at]} of the encoding: this side speaks {VERSION}")
    at += 1
    reader = Reader(payload, at, detached)
    messages: list[Message] = []
    try:
        for _ in range(FRAME_MESSAGES):
            if at >= size:
                break
            decode = _decoders[payload[at]]
            if decode is None:
                raise ProtocolError(f"a message of unknown kind {payload[at]}")
            reader.at = at + 1
            messages.append(decode(reader))
            at = reader.at
    except (IndexError, struct.error):
        cut_short()
    if at > size:
        cut_short()
    if at < size:
        raise ProtocolError(f"a frame has more than {FRAME_MESSAGES} messages")
    if reader.detached_at != len(detached):
        raise ProtocolError("bytes behind the last detached body")
    return messages
