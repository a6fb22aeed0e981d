"""Runs: what is said about consecutive positions of a stream, in one piece.

A run is its first position and its count (1 to `RUN_POSITIONS`: a run of nothing says nothing,
and is refused), then

- digests: 32 bytes each; or
- bodies: all lengths, 4 bytes each, then body after body. A body above `INLINE_BODY_BYTES`
  stands there as its 32-byte hash, and its bytes follow detached, behind the frame's payload:
  the tag covers the hash, and the hash covers them.

After either, where messages carry them, signatures: 0, or 1 and 64 bytes for each position.
"""

from __future__ import annotations

from struct import Struct, pack, unpack_from

from blake3 import blake3

from quorumcast.auth.digests import body_hash
from quorumcast.core.body import LargeBody
from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import BODY_BYTES, INLINE_BODY_BYTES, RUN_POSITIONS
from quorumcast.core.messages import DIGEST_BYTES, SIGNATURE_BYTES
from quorumcast.wire.primitives import LAST_POSITION, Reader, cut_short

_HEAD = Struct(">qI")
_HEAD_BYTES = _HEAD.size

_UNSIGNED, _SIGNED = b"\x00", b"\x01"


# -- reading -----------------------------------------------------------------------------------


def check_range(first: int, count: int) -> None:
    """Raise `ProtocolError` unless these can be the positions of a run.

    >>> check_range(1, 65536)
    >>> check_range(1, 0)
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ProtocolError: a run of 0 positions: 1 to 65536 are possible
    """
    if not 1 <= count <= RUN_POSITIONS:
        raise ProtocolError(f"a run of {count} positions: 1 to {RUN_POSITIONS} are possible")
    if not 1 <= first <= LAST_POSITION - count + 1:
        raise ProtocolError(f"a run of {count} positions cannot begin at {first % 2**64}")


def read_head(reader: Reader) -> tuple[int, int]:
    """A run's first position and its count.

    >>> read_head(Reader(pack_head(7, 3)))
    (7, 3)
    """
    first, count = _HEAD.unpack_from(reader.data, reader.at)
    check_range(first, count)
    reader.at += _HEAD_BYTES
    return first, count


def read_digests(reader: Reader, count: int) -> bytes:
    """So many digests.

    >>> read_digests(Reader(b"d" * 64), 2) == b"d" * 64
    True
    """
    start = reader.at
    end = reader.at = start + DIGEST_BYTES * count
    if end > len(reader.data):
        cut_short()
    return reader.data[start:end]


def read_signatures(reader: Reader, count: int) -> bytes:
    """A signature for each of so many positions, or none at all.

    >>> read_signatures(Reader(b"\\x01" + b"s" * 128), 2) == b"s" * 128
    True
    """
    if not reader.flag():
        return b""
    return reader.fixed(SIGNATURE_BYTES * count)


def read_bodies(reader: Reader, count: int) -> tuple[bytes, ...]:
    """So many bodies; the bytes of a large one are checked against their hash, once.

    >>> detached: list[bytes] = []
    >>> packed = pack_bodies((b"a", b"", b"x" * 2000), detached)
    >>> bodies = read_bodies(Reader(packed, 0, detached[0]), 3)
    >>> [len(body) for body in bodies], type(bodies[2]).__name__
    ([1, 0, 2000], 'LargeBody')
    """
    data = reader.data
    at = reader.at + 4 * count
    if at > len(data):
        cut_short()
    lengths: tuple[int, ...] = unpack_from(f">{count}I", data, reader.at)
    largest = max(lengths)
    if largest > INLINE_BODY_BYTES:
        if largest > BODY_BYTES:
            raise ProtocolError(f"a body of {largest} bytes: {BODY_BYTES} are possible")
        reader.at = at
        return _read_mixed(reader, lengths)
    end = reader.at = at + sum(lengths)
    if end > len(data):
        cut_short()
    return tuple([data[at : (at := at + size)] for size in lengths])


def _read_mixed(reader: Reader, lengths: tuple[int, ...]) -> tuple[bytes, ...]:
    here = sum([size if size <= INLINE_BODY_BYTES else DIGEST_BYTES for size in lengths])
    if reader.at + here > len(reader.data):
        cut_short()
    behind = sum([size for size in lengths if size > INLINE_BODY_BYTES])
    if reader.detached_at + behind > len(reader.detached):
        raise ProtocolError("a detached body is missing or cut short")
    bodies: list[bytes] = []
    for size in lengths:
        if size <= INLINE_BODY_BYTES:
            bodies.append(reader.fixed(size))
        else:
            bodies.append(_read_detached(reader, size))
    return tuple(bodies)


def _read_detached(reader: Reader, size: int) -> LargeBody:
    expected = reader.fixed(DIGEST_BYTES)
    start = reader.detached_at
    end = reader.detached_at = start + size
    raw = reader.detached[start:end]
    if blake3(raw).digest() != expected:
        raise ProtocolError(f"a detached body of {size} bytes does not have its hash")
    return LargeBody.of(raw, expected)


# -- packing -----------------------------------------------------------------------------------


def pack_head(first: int, count: int) -> bytes:
    """A run's first position and its count.

    >>> pack_head(1, 2).hex()
    '000000000000000100000002'
    """
    assert 1 <= count <= RUN_POSITIONS, f"a run of {count} positions"
    assert 1 <= first <= LAST_POSITION - count + 1, f"a run from position {first}"
    return _HEAD.pack(first, count)


def pack_digests(first: int, digests: bytes) -> bytes:
    """A run of digests, with its head.

    >>> len(pack_digests(1, bytes(64)))
    76
    """
    count, rest = divmod(len(digests), DIGEST_BYTES)
    assert rest == 0, f"{len(digests)} bytes of digests"
    return pack_head(first, count) + digests


def pack_signatures(signatures: bytes, count: int) -> bytes:
    """A signature for each of so many positions, or none at all.

    >>> pack_signatures(b"", 2), len(pack_signatures(bytes(128), 2))
    (b'\\x00', 129)
    """
    if not signatures:
        return _UNSIGNED
    assert len(signatures) == SIGNATURE_BYTES * count, (
        f"{len(signatures)} bytes of signatures for {count} positions"
    )
    return _SIGNED + signatures


def pack_bodies(bodies: tuple[bytes, ...], detached: list[bytes]) -> bytes:
    """Bodies without the head of their run; large ones are added to `detached`.

    >>> pack_bodies((b"abc", b"d"), [])
    b'\\x00\\x00\\x00\\x03\\x00\\x00\\x00\\x01abcd'
    """
    lengths = list(map(len, bodies))
    packed = pack(f">{len(lengths)}I", *lengths)
    largest = max(lengths)
    if largest <= INLINE_BODY_BYTES:
        return packed + b"".join(bodies)
    assert largest <= BODY_BYTES, f"a body of {largest} bytes"
    pieces = [packed]
    for body in bodies:
        if len(body) <= INLINE_BODY_BYTES:
            pieces.append(body)
        else:
            pieces.append(body_hash(body))
            detached.append(body)
    return b"".join(pieces)
