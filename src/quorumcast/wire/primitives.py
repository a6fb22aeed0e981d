"""The pieces that messages are made of: integers, names, texts, streams, openings.

Integers are big endian and of fixed width, lengths stand before what they measure, a flag is
0 or 1: every value has one encoding, and the decoder takes no other.

- `Reader` takes pieces from what a peer sent. It raises `ProtocolError` for a wrong value; where
  the bytes end too early it may also raise `IndexError` or `struct.error`, or step beyond the
  end, and `codec.decode_payload` turns each of these into `ProtocolError`.
- The `pack_*` functions make pieces from our own values. A value without an encoding is our own
  bug, and an assertion.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import NoReturn, TypeVar

from quorumcast.core.errors import ProtocolError
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.limits import NAME_BYTES, REPLICAS, STREAM_CACHE
from quorumcast.core.messages import DIGEST_BYTES

LAST_POSITION = 2**63 - 1
"""The highest position, version or counter on the wire: all of them fit a signed 64-bit integer."""

_LAST_U64 = 2**64 - 1

_U16 = Struct(">H")
_U32 = Struct(">I")
_U64 = Struct(">Q")
# Read as signed: what is 2**63 or above comes out negative, and one comparison finds it.
_S64 = Struct(">q")
_INCARNATION = Struct(">QQ")

_LANES = (Lane.NORMAL, Lane.URGENT)
_STREAM_TAIL = DIGEST_BYTES + 1

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(dict[_K, _V]):
    """A bounded memo of a function: of `limit` results the ones not used lately go first.

    It has two generations of half the limit each. A full young one becomes the old one, and what
    is asked for again moves back; so a peer that makes up keys cannot push out what is in use.

    >>> lengths = Recent(2, len)
    >>> lengths["abc"], lengths["de"], sorted(lengths)
    (3, 2, ['de'])
    """

    __slots__ = ("_half", "_make", "_old")

    def __init__(self, limit: int, make: Callable[[_K], _V]) -> None:
        super().__init__()
        assert limit >= 2, "a memo of two generations"
        self._half = limit // 2
        self._make = make
        self._old: dict[_K, _V] = {}

    def __missing__(self, key: _K) -> _V:
        value = self._old.pop(key, None)
        if value is None:  # no result is
            value = self._make(key)
        if len(self) >= self._half:
            self._old = dict(self)
            self.clear()
        self[key] = value
        return value


# -- reading -----------------------------------------------------------------------------------


def _utf8(raw: bytes, what: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ProtocolError(f"{what} is not UTF-8") from None


def _name(raw: bytes, what: str) -> str:
    if not 1 <= len(raw) <= NAME_BYTES:
        raise ProtocolError(f"{what} of {len(raw)} bytes: 1 to {NAME_BYTES} are possible")
    return _utf8(raw, what)


def _decode_stream(raw: bytes) -> Stream:
    channel_end = 1 + raw[0]
    publisher_end = channel_end + 1 + raw[channel_end]
    if len(raw) != publisher_end + _STREAM_TAIL:
        cut_short()
    lane = raw[-1]
    if lane >= len(_LANES):
        raise ProtocolError(f"lane {lane} does not exist")
    return Stream(
        _name(raw[1:channel_end], "a channel's name"),
        _name(raw[channel_end + 1 : publisher_end], "a publisher's name"),
        raw[publisher_end:-1],
        _LANES[lane],
    )


# One for the process, not one a link: ten thousand links would hold gigabytes. Equal bytes give
# equal streams whoever sent them, so that nothing passes from one peer to another through it.
_decoded_streams: Recent[bytes, Stream] = Recent(STREAM_CACHE, _decode_stream)


def cut_short() -> NoReturn:
    """Raise the error for bytes that end before a message does.

    >>> cut_short()
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ProtocolError: the payload ends inside a message
    """
    raise ProtocolError("the payload ends inside a message")


class Reader:
    """A place in a payload, and one in the detached bodies behind it; both only move forward.

    `data` is the payload, `at` the next byte to take; decoders on the hot path take bytes and
    move `at` by themselves. Moving it beyond the end is no harm: the codec finds it.

    >>> reader = Reader(b"\\x05probe\\x01")
    >>> reader.name("a name"), reader.flag(), reader.at
    ('probe', True, 7)
    """

    __slots__ = ("at", "data", "detached", "detached_at")

    def __init__(self, data: bytes, at: int = 0, detached: bytes | memoryview = b"") -> None:
        self.data = data
        self.at = at
        self.detached = detached
        self.detached_at = 0

    def u8(self) -> int:
        """One byte."""
        value = self.data[self.at]
        self.at += 1
        return value

    def u64(self) -> int:
        """Eight bytes, of any value."""
        (value,) = _U64.unpack_from(self.data, self.at)
        self.at += 8
        return value

    def number(self) -> int:
        """A version, counter or position where 0 stands for none."""
        (value,) = _S64.unpack_from(self.data, self.at)
        if value < 0:
            raise ProtocolError(f"{value + 2**64} is above {LAST_POSITION}")
        self.at += 8
        return value

    def position(self) -> int:
        """A position that something stands at."""
        value = self.number()
        if value == 0:
            raise ProtocolError("position 0 does not exist")
        return value

    def flag(self) -> bool:
        """Yes or no."""
        value = self.u8()
        if value > 1:
            raise ProtocolError(f"a flag is 0 or 1, not {value}")
        return value == 1

    def fixed(self, size: int) -> bytes:
        """Exactly so many bytes."""
        start = self.at
        end = self.at = start + size
        if end > len(self.data):
            cut_short()
        return self.data[start:end]

    def blob(self, limit: int, what: str) -> bytes:
        """Bytes with their length before them, at most `limit`."""
        (size,) = _U16.unpack_from(self.data, self.at)
        if size > limit:
            raise ProtocolError(f"{what} of {size} bytes: {limit} are possible")
        self.at += 2
        return self.fixed(size)

    def long_blob(self, limit: int, what: str) -> bytes:
        """Bytes that may be longer than a blob's, at most `limit`."""
        (size,) = _U32.unpack_from(self.data, self.at)
        if size > limit:
            raise ProtocolError(f"{what} of {size} bytes: {limit} are possible")
        self.at += 4
        return self.fixed(size)

    def text(self, limit: int, what: str) -> str:
        """A text of at most `limit` bytes."""
        return _utf8(self.blob(limit, what), what)

    def name(self, what: str) -> str:
        """The name of a party or channel, or a pattern of such names."""
        return _name(self.fixed(self.u8()), what)

    def stream(self) -> Stream:
        """A stream; equal bytes give the same object while it is remembered."""
        data, at = self.data, self.at
        publisher_at = at + 1 + data[at]
        end = self.at = publisher_at + 1 + _STREAM_TAIL + data[publisher_at]
        # Where the payload ends too early the slice is short, and no stream has such bytes.
        return _decoded_streams[data[at:end]]

    def incarnation(self) -> Incarnation:
        """One life of a replica's votes."""
        value = Incarnation._make(_INCARNATION.unpack_from(self.data, self.at))
        self.at += 16
        return value

    def incarnations(self) -> tuple[Incarnation, ...]:
        """One incarnation for each of some replicas."""
        count = self.u8()
        if count > REPLICAS:
            raise ProtocolError(f"{count} incarnations: {REPLICAS} are possible")
        raw = self.fixed(16 * count)
        return tuple(map(Incarnation._make, _INCARNATION.iter_unpack(raw)))

    def opening(self) -> Opening:
        """What a session is the hash of."""
        return Opening(self.name("a publisher's name"), self.u64(), self.incarnations())


# -- packing -----------------------------------------------------------------------------------


def _pack_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise AssertionError(f"{text!r} is no text that UTF-8 can hold") from None


def pack_u64(value: int) -> bytes:
    """Eight bytes, of any value.

    >>> pack_u64(258).hex()
    '0000000000000102'
    """
    assert 0 <= value <= _LAST_U64, value
    return _U64.pack(value)


def pack_number(value: int) -> bytes:
    """A version, counter or position where 0 stands for none.

    >>> pack_number(0).hex()
    '0000000000000000'
    """
    assert 0 <= value <= LAST_POSITION, value
    return _U64.pack(value)


def pack_position(value: int) -> bytes:
    """A position that something stands at.

    >>> pack_position(1).hex()
    '0000000000000001'
    """
    assert 1 <= value <= LAST_POSITION, value
    return _U64.pack(value)


def pack_flag(value: bool) -> bytes:
    """Yes or no.

    >>> pack_flag(True)
    b'\\x01'
    """
    return b"\x01" if value else b"\x00"


def pack_blob(value: bytes, limit: int) -> bytes:
    """Bytes with their length before them.

    >>> pack_blob(b"abc", 8)
    b'\\x00\\x03abc'
    """
    assert len(value) <= limit, f"{len(value)} bytes, more than {limit}"
    return _U16.pack(len(value)) + value


def pack_long_blob(value: bytes, limit: int) -> bytes:
    """Bytes that may be longer than a blob's, with their length before them.

    >>> pack_long_blob(b"abc", 8)
    b'\\x00\\x00\\x00\\x03abc'
    """
    assert len(value) <= limit, f"{len(value)} bytes, more than {limit}"
    return _U32.pack(len(value)) + value


def pack_text(text: str, limit: int) -> bytes:
    """A text of at most `limit` bytes.

    >>> pack_text("α", 8)
    b'\\x00\\x02\\xce\\xb1'
    """
    return pack_blob(_pack_utf8(text), limit)


def pack_name(name: str) -> bytes:
    """The name of a party or channel, or a pattern of such names.

    >>> pack_name("probe")
    b'\\x05probe'
    """
    raw = _pack_utf8(name)
    assert 1 <= len(raw) <= NAME_BYTES, f"a name of {len(raw)} bytes"
    return bytes((len(raw),)) + raw


def _encode_stream(stream: Stream) -> bytes:
    channel, publisher, session, lane = stream
    assert len(session) == DIGEST_BYTES, f"a session of {len(session)} bytes"
    return pack_name(channel) + pack_name(publisher) + session + bytes((Lane(lane),))


_encoded_streams: Recent[Stream, bytes] = Recent(STREAM_CACHE, _encode_stream)


def pack_stream(stream: Stream) -> bytes:
    """A stream; its bytes are remembered.

    >>> pack_stream(Stream("c", "p", bytes(32), Lane.URGENT)).hex()[:8]
    '01630170'
    """
    return _encoded_streams[stream]


def pack_incarnation(incarnation: Incarnation) -> bytes:
    """One life of a replica's votes.

    >>> len(pack_incarnation(Incarnation(1, 2)))
    16
    """
    return pack_u64(incarnation.counter) + pack_u64(incarnation.nonce)


def pack_incarnations(incarnations: tuple[Incarnation, ...]) -> bytes:
    """One incarnation for each of some replicas.

    >>> pack_incarnations(())
    b'\\x00'
    """
    count = len(incarnations)
    assert count <= REPLICAS, f"{count} incarnations"
    return bytes((count,)) + b"".join(map(pack_incarnation, incarnations))


def pack_opening(opening: Opening) -> bytes:
    """What a session is the hash of.

    >>> pack_opening(Opening("p", 1, ())).hex()
    '0170000000000000000100'
    """
    return (
        pack_name(opening.publisher)
        + pack_u64(opening.nonce)
        + pack_incarnations(opening.incarnations)
    )
