"""Records as they stand in LMDB: keys, values, and the digest that each value ends with.

A key is the stream's number, a kind, and for votes a serial number: everything of a stream stands
together, and streams stand in the order in which they were first recorded. Number 0 is the
journal's own. Votes are one value per run, in the order in which they were stored: a later one
overrides an earlier one. Digests cover the key, so that a value is good in its own place only.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

import msgspec
from blake3 import blake3

from quorumcast.core.ids import Opening, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES
from quorumcast.core.records import Incarnated

FORMAT = 1
"""The version of what is written here; a journal of another one is not touched."""

CHECK_BYTES = 16

OPENING, MARKS, READY, VOTES = 1, 2, 3, 4
"""The kinds of a stream's records."""

_DOMAIN = b"quorumcast journal 1\0"
_KEY = Struct(">QB")
_VOTES_KEY = Struct(">QBQ")
_VOTES = Struct(">QI")

HEADER_KEY = _KEY.pack(0, 1)
LIFE_KEY = _KEY.pack(0, 2)


class Header(msgspec.Struct, array_like=True, frozen=True):
    """What the journal as a whole is: its format, and whose it is once it was opened.

    >>> Header(FORMAT).cluster
    b''
    """

    format: int
    cluster: bytes = b""


class Opened(msgspec.Struct, array_like=True, frozen=True):
    """What a stream is, and its opening.

    >>> Opened.__struct_fields__
    ('stream', 'opening', 'certificate')
    """

    stream: Stream
    opening: Opening
    certificate: bytes


class Marks(msgspec.Struct, array_like=True):
    """A stream's positions and marks. `base` is the highest confirmed floor: see `kept`.

    >>> zero = Position(0, bytes(32))
    >>> Marks(zero, zero, True, zero, zero).ready_first
    1
    """

    base: Position
    floor: Position
    floor_confirmed: bool
    confirmed: Position
    ready: Position
    ready_first: int = 1
    tainted: bool = False
    closed: bool = False


class Votes(NamedTuple):
    """A run of votes, or of confirmed contents that took their slots."""

    first: int
    digests: bytes
    signatures: bytes


class Key(NamedTuple):
    """A key, taken apart."""

    number: int
    kind: int
    serial: int


_encoder = msgspec.msgpack.Encoder()
_header = msgspec.msgpack.Decoder(Header)
_opened = msgspec.msgpack.Decoder(Opened)
_marks = msgspec.msgpack.Decoder(Marks)
_life = msgspec.msgpack.Decoder(Incarnated)

pack = _encoder.encode
unpack_header = _header.decode
unpack_opened = _opened.decode
unpack_marks = _marks.decode
unpack_life = _life.decode

key_of = _KEY.pack
votes_key = _VOTES_KEY.pack


def take_apart(key: bytes) -> Key | None:
    """What a key says; None where it is none of ours.

    >>> take_apart(votes_key(7, VOTES, 2)), take_apart(b"x")
    (Key(number=7, kind=4, serial=2), None)
    """
    if len(key) == _VOTES_KEY.size:
        found = Key(*_VOTES_KEY.unpack(key))
        return found if found.kind == VOTES else None
    if len(key) == _KEY.size:
        number, kind = _KEY.unpack(key)
        return Key(number, kind, 0) if kind in (OPENING, MARKS, READY) else None
    return None


def seal(key: bytes, value: bytes) -> bytes:
    """A value with its digest behind it.

    >>> unseal(b"k", seal(b"k", b"value"))
    b'value'
    """
    return value + blake3(_DOMAIN + key + value).digest(CHECK_BYTES)


def unseal(key: bytes, data: bytes) -> bytes | None:
    """The value, or None where it is not what was written under this key.

    >>> unseal(b"other", seal(b"k", b"value")) is None
    True
    """
    value = data[:-CHECK_BYTES]
    if blake3(_DOMAIN + key + value).digest(CHECK_BYTES) != data[-CHECK_BYTES:]:
        return None
    return value


def pack_votes(first: int, digests: bytes, signatures: bytes) -> bytes:
    """A run of votes as a value.

    >>> unpack_votes(pack_votes(3, bytes(32), b"s")).first
    3
    """
    return _VOTES.pack(first, len(digests) // DIGEST_BYTES) + digests + signatures


def unpack_votes(value: bytes) -> Votes:
    """A run of votes from its value."""
    first, count = _VOTES.unpack_from(value)
    end = _VOTES.size + count * DIGEST_BYTES
    return Votes(first, value[_VOTES.size : end], value[end:])
