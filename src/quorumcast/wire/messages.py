"""The fields of every message of the fifo protocols and beside them, and their kinds.

Fields stand in the order of the struct in `core.messages`. Only form is judged here: that a
value is in its range, not that a statement makes sense, which is the machine's to say. In a
statement, a question or a run a position is at least 1; where 0 means "none yet" (what a status
or a credit reaches to, a head) it is allowed. A floor that is not confirmed has 32 zero bytes in
place of its chain digest.

Most messages are a table of fields (`_plain`). Runs and statements are most of the traffic:
they have functions of their own, which take fields with as few calls as possible.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import (
    CERTIFICATE_BYTES,
    CHARTER_BYTES,
    HEADS_PAGE,
    PATTERNS,
    REASON_BYTES,
    REPORT_BYTES,
)
from quorumcast.core.messages import (
    DIGEST_BYTES,
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskOpening,
    AskReport,
    AskVotes,
    Bodies,
    CharterAt,
    CharterIs,
    ConfirmedUpTo,
    Credit,
    Digests,
    FloorAt,
    Follow,
    Head,
    Heads,
    Held,
    HeldUpTo,
    Hello,
    Open,
    OpeningOf,
    Publish,
    ReadyUpTo,
    Release,
    Report,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from quorumcast.wire import runs
from quorumcast.wire.codec import register
from quorumcast.wire.primitives import (
    LAST_POSITION,
    Reader,
    pack_blob,
    pack_flag,
    pack_incarnation,
    pack_incarnations,
    pack_long_blob,
    pack_name,
    pack_number,
    pack_opening,
    pack_position,
    pack_stream,
    pack_text,
)

# -- runs of bodies and of digests ---------------------------------------------------------------

_WithBodies: TypeAlias = Publish | Bodies
_WithDigests: TypeAlias = Digests | AskBodies
_B = TypeVar("_B", Publish, Bodies)
_D = TypeVar("_D", Digests, AskBodies)


def _encode_bodies(message: _WithBodies, detached: list[bytes]) -> bytes:
    bodies = message.bodies
    count = len(bodies)
    return b"".join(
        (
            pack_stream(message.stream),
            runs.pack_head(message.first, count),
            runs.pack_bodies(bodies, detached),
            runs.pack_signatures(message.signatures, count),
        )
    )


def _decoder_of_bodies(type_: type[_B]) -> Callable[[Reader], _B]:
    def decode(reader: Reader) -> _B:
        stream = reader.stream()
        first, count = runs.read_head(reader)
        bodies = runs.read_bodies(reader, count)
        return type_(stream, first, bodies, runs.read_signatures(reader, count))

    return decode


def _encode_held(message: Held, detached: list[bytes]) -> bytes:
    digests = message.digests
    return b"".join(
        (
            pack_stream(message.stream),
            runs.pack_digests(message.first, digests),
            runs.pack_signatures(message.signatures, len(digests) // DIGEST_BYTES),
        )
    )


def _decode_held(reader: Reader) -> Held:
    stream = reader.stream()
    first, count = runs.read_head(reader)
    digests = runs.read_digests(reader, count)
    return Held(stream, first, digests, runs.read_signatures(reader, count))


def _encode_digests(message: _WithDigests, detached: list[bytes]) -> bytes:
    return pack_stream(message.stream) + runs.pack_digests(message.first, message.digests)


def _decoder_of_digests(type_: type[_D]) -> Callable[[Reader], _D]:
    def decode(reader: Reader) -> _D:
        stream = reader.stream()
        first, count = runs.read_head(reader)
        return type_(stream, first, runs.read_digests(reader, count))

    return decode


# A question for digests is written as the run that answers it.


def _encode_ask_digests(message: AskDigests, detached: list[bytes]) -> bytes:
    first, last = message.first, message.last
    return pack_stream(message.stream) + runs.pack_head(first, last - first + 1)


def _decode_ask_digests(reader: Reader) -> AskDigests:
    stream = reader.stream()
    first, count = runs.read_head(reader)
    return AskDigests(stream, first, first + count - 1)


# -- statements up to a position -----------------------------------------------------------------

_UP_TO = Struct(f">q{DIGEST_BYTES}s")
_UP_TO_BYTES = _UP_TO.size
_NO_CHAIN = bytes(DIGEST_BYTES)

_UpTo: TypeAlias = HeldUpTo | ReadyUpTo | ConfirmedUpTo
_U = TypeVar("_U", HeldUpTo, ReadyUpTo, ConfirmedUpTo)


def _encode_up_to(message: _UpTo, detached: list[bytes]) -> bytes:
    position, chain = message.position, message.chain
    assert 1 <= position <= LAST_POSITION, position
    assert len(chain) == DIGEST_BYTES, f"a chain digest of {len(chain)} bytes"
    return pack_stream(message.stream) + _UP_TO.pack(position, chain)


def _decoder_of_up_to(type_: type[_U]) -> Callable[[Reader], _U]:
    def decode(reader: Reader) -> _U:
        stream = reader.stream()
        position, chain = _UP_TO.unpack_from(reader.data, reader.at)
        if position < 1:
            raise ProtocolError(f"position {position % 2**64} does not exist")
        reader.at += _UP_TO_BYTES
        return type_(stream, position, chain)

    return decode


def _encode_floor_at(message: FloorAt, detached: list[bytes]) -> bytes:
    chain = message.chain
    assert len(chain) == DIGEST_BYTES, f"a chain digest of {len(chain)} bytes"
    assert message.confirmed or chain == _NO_CHAIN, "an unconfirmed floor with a chain digest"
    position, confirmed = pack_position(message.position), pack_flag(message.confirmed)
    return pack_stream(message.stream) + position + chain + confirmed


def _decode_floor_at(reader: Reader) -> FloorAt:
    stream, position = reader.stream(), reader.position()
    chain, confirmed = reader.fixed(DIGEST_BYTES), reader.flag()
    if not confirmed and chain != _NO_CHAIN:
        raise ProtocolError("an unconfirmed floor with a chain digest")
    return FloorAt(stream, position, chain, confirmed)


# -- everything else: a field after the other ----------------------------------------------------


class _Field(NamedTuple):
    pack: Callable[[Any], bytes]
    read: Callable[[Reader], Any]


_CODES = {code.value: code for code in StatusCode}
_HEADS_COUNT = Struct(">H")


def _pack_code(code: StatusCode) -> bytes:
    return bytes((StatusCode(code),))


def _read_code(reader: Reader) -> StatusCode:
    number = reader.u8()
    code = _CODES.get(number)
    if code is None:
        raise ProtocolError(f"status {number} does not exist")
    return code


def _pack_patterns(patterns: tuple[str, ...]) -> bytes:
    assert len(patterns) <= PATTERNS, f"{len(patterns)} patterns"
    return bytes((len(patterns),)) + b"".join(map(pack_name, patterns))


def _read_patterns(reader: Reader) -> tuple[str, ...]:
    count = reader.u8()
    if count > PATTERNS:
        raise ProtocolError(f"{count} patterns: {PATTERNS} are possible")
    return tuple([reader.name("a pattern") for _ in range(count)])


def _pack_head(head: Head) -> bytes:
    numbers = pack_number(head.floor) + pack_number(head.last) + pack_number(head.confirmed)
    return pack_stream(head.stream) + numbers


def _read_head(reader: Reader) -> Head:
    return Head(reader.stream(), reader.number(), reader.number(), reader.number())


def _pack_heads(heads: tuple[Head, ...]) -> bytes:
    assert len(heads) <= HEADS_PAGE, f"{len(heads)} heads on a page"
    return _HEADS_COUNT.pack(len(heads)) + b"".join(map(_pack_head, heads))


def _read_heads(reader: Reader) -> tuple[Head, ...]:
    (count,) = _HEADS_COUNT.unpack_from(reader.data, reader.at)
    if count > HEADS_PAGE:
        raise ProtocolError(f"{count} heads on a page: {HEADS_PAGE} are possible")
    reader.at += _HEADS_COUNT.size
    return tuple([_read_head(reader) for _ in range(count)])


def _read_channel(reader: Reader) -> str:
    return reader.name("a channel's name")


def _pack_reason(reason: str) -> bytes:
    return pack_text(reason, REASON_BYTES)


def _read_reason(reader: Reader) -> str:
    return reader.text(REASON_BYTES, "a reason")


def _pack_certificate(certificate: bytes) -> bytes:
    return pack_blob(certificate, CERTIFICATE_BYTES)


def _read_certificate(reader: Reader) -> bytes:
    return reader.blob(CERTIFICATE_BYTES, "a certificate")


def _pack_digest(digest: bytes) -> bytes:
    assert len(digest) == DIGEST_BYTES, f"a digest of {len(digest)} bytes"
    return digest


def _read_digest(reader: Reader) -> bytes:
    return reader.fixed(DIGEST_BYTES)


def _pack_charter(packed: bytes) -> bytes:
    return pack_long_blob(packed, CHARTER_BYTES)


def _read_charter(reader: Reader) -> bytes:
    return reader.long_blob(CHARTER_BYTES, "a charter")


def _pack_report(text: bytes) -> bytes:
    return pack_long_blob(text, REPORT_BYTES)


def _read_report(reader: Reader) -> bytes:
    return reader.long_blob(REPORT_BYTES, "a report")


_STREAM = _Field(pack_stream, Reader.stream)
_POSITION = _Field(pack_position, Reader.position)
_NUMBER = _Field(pack_number, Reader.number)
_FLAG = _Field(pack_flag, Reader.flag)
_INCARNATION = _Field(pack_incarnation, Reader.incarnation)
_INCARNATIONS = _Field(pack_incarnations, Reader.incarnations)
_OPENING = _Field(pack_opening, Reader.opening)
_CODE = _Field(_pack_code, _read_code)
_PATTERN_LIST = _Field(_pack_patterns, _read_patterns)
_HEAD_LIST = _Field(_pack_heads, _read_heads)
_CHANNEL = _Field(pack_name, _read_channel)
_REASON = _Field(_pack_reason, _read_reason)
_DIGEST = _Field(_pack_digest, _read_digest)
_CHARTER = _Field(_pack_charter, _read_charter)
_REPORT = _Field(_pack_report, _read_report)
_CERTIFICATE = _Field(_pack_certificate, _read_certificate)


def _plain(kind: int, type_: type[msgspec.Struct], *fields: _Field) -> None:
    """Register a message type by how each of its fields is packed and read."""
    packs = [
        (name, field.pack) for name, field in zip(type_.__struct_fields__, fields, strict=True)
    ]
    reads = [field.read for field in fields]

    def encode(message: msgspec.Struct, detached: list[bytes]) -> bytes:
        return b"".join([pack(getattr(message, name)) for name, pack in packs])

    def decode(reader: Reader) -> msgspec.Struct:
        return type_(*[read(reader) for read in reads])

    register(kind, type_, encode, decode)


# -- kinds ---------------------------------------------------------------------------------------

FIFO_KINDS = range(1, 64)
"""The kind numbers that belong to the fifo protocols, given or not yet."""

_plain(1, Hello, _INCARNATION, _INCARNATIONS)
_plain(2, Open, _STREAM, _OPENING, _CERTIFICATE)
register(3, Publish, _encode_bodies, _decoder_of_bodies(Publish))
_plain(4, Status, _STREAM, _CODE, _NUMBER, _REASON)
_plain(5, Credit, _STREAM, _NUMBER)
register(6, HeldUpTo, _encode_up_to, _decoder_of_up_to(HeldUpTo))
register(7, Held, _encode_held, _decode_held)
register(8, ReadyUpTo, _encode_up_to, _decoder_of_up_to(ReadyUpTo))
register(9, ConfirmedUpTo, _encode_up_to, _decoder_of_up_to(ConfirmedUpTo))
register(10, FloorAt, _encode_floor_at, _decode_floor_at)
_plain(11, AskOpening, _STREAM)
_plain(12, OpeningOf, _STREAM, _OPENING, _CERTIFICATE)
_plain(13, AskVotes, _STREAM, _POSITION)
_plain(14, AskConfirmed, _STREAM, _POSITION)
register(15, AskDigests, _encode_ask_digests, _decode_ask_digests)
register(16, Digests, _encode_digests, _decoder_of_digests(Digests))
register(17, AskBodies, _encode_digests, _decoder_of_digests(AskBodies))
register(18, Bodies, _encode_bodies, _decoder_of_bodies(Bodies))
_plain(19, AskHeads, _CHANNEL, _NUMBER)
_plain(20, Heads, _CHANNEL, _NUMBER, _HEAD_LIST, _FLAG)
_plain(21, Subscribe, _CHANNEL, _NUMBER, _PATTERN_LIST, _NUMBER, _NUMBER, _FLAG)
_plain(22, Follow, _STREAM, _NUMBER, _POSITION, _NUMBER)
_plain(23, Unsubscribe, _CHANNEL, _NUMBER)
_plain(24, SubscribeStatus, _CHANNEL, _NUMBER, _FLAG, _REASON)
_plain(25, Release, _STREAM)

# Beside the protocols: between processes.

_plain(64, CharterAt, _NUMBER, _DIGEST)
_plain(65, CharterIs, _CHARTER)
_plain(66, AskReport)
_plain(67, Report, _REPORT)
