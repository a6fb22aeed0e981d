"""Bytes that no correct peer sends, made from bytes that one does; and what must hold for them.

`fuzz(type, cases, seed)` is what both the test and the long run call.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from quorumcast.core.errors import ProtocolError
from quorumcast.wire import decode_payload, encode_payload
from tests.wire.vectors import VECTORS

_NUMBERS = (0, 1, 2, 31, 32, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1024, 1025, 65_535, 65_536)
_LARGE = (65_537, 2**23, 2**23 + 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)


class Case(NamedTuple):
    """A payload, and what stands behind it."""

    payload: bytes
    detached: bytes


def seeds(type_: type[Any]) -> list[Case]:
    """Valid cases with a message of this type: alone, twice, and between others."""
    others = [VECTORS["ready-up-to"].message, VECTORS["bodies-detached"].message]
    cases: list[Case] = []
    for _, message in VECTORS.values():
        if type(message) is type_:
            for said in ([message], [message, message], [others[0], message, others[1]]):
                payload, detached = encode_payload(said)
                cases.append(Case(payload, b"".join(detached)))
    return cases


def accepted(payload: bytes, detached: bytes) -> bool:
    """Whether the decoder takes it; if it does, the encoder must give the same bytes back."""
    try:
        messages = decode_payload(payload, detached)
    except ProtocolError:
        return False
    again, bodies = encode_payload(messages)
    assert again == payload, (payload.hex(), detached.hex())
    assert b"".join(bodies) == detached, (payload.hex(), detached.hex())
    assert decode_payload(again, b"".join(bodies)) == messages
    return True


# -- mutations ---------------------------------------------------------------------------------


def _flip(rng: Random, data: bytearray) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _truncate(rng: Random, data: bytearray) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _extend(rng: Random, data: bytearray) -> None:
    data += rng.randbytes(rng.randrange(1, 40))


def _number(rng: Random, data: bytearray) -> None:
    """Write a length, count or position over whatever stands there."""
    width = rng.choice((1, 2, 4, 8))
    if len(data) < width:
        return
    at = rng.randrange(len(data) - width + 1)
    if rng.random() < 0.3:
        value = int.from_bytes(data[at : at + width], "big") + rng.choice((-1, 1))
    else:
        value = rng.choice(_NUMBERS + _LARGE)
    data[at : at + width] = (value % 256**width).to_bytes(width, "big")


def _move(rng: Random, data: bytearray) -> None:
    """Take a piece out, and perhaps put it somewhere else or twice."""
    start = rng.randrange(len(data) + 1)
    piece = data[start : start + rng.randrange(70)]
    if rng.random() < 0.5:
        del data[start : start + len(piece)]
    if rng.random() < 0.7:
        at = rng.randrange(len(data) + 1)
        data[at:at] = piece


def _splice(rng: Random, data: bytearray, other: bytes) -> None:
    """The beginning of one, the end of another."""
    data[rng.randrange(len(data) + 1) :] = other[rng.randrange(len(other) + 1) :]


_MUTATIONS = (_flip, _flip, _truncate, _extend, _number, _number, _number, _move)


def mutate(rng: Random, cases: list[Case]) -> Case:
    """A case with one to three things wrong, or nothing but noise behind the version."""
    case = rng.choice(cases)
    if rng.random() < 0.05:
        return Case(b"\x01" + case.payload[1:2] + rng.randbytes(rng.randrange(200)), case.detached)
    payload, detached = bytearray(case.payload), bytearray(case.detached)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        choice = rng.random()
        if detached and choice < 0.1:
            rng.choice(_MUTATIONS)(rng, detached)
        elif choice < 0.2:
            other = rng.choice(cases)
            _splice(rng, payload, other.payload)
            if rng.random() < 0.5:
                detached = bytearray(other.detached)
        else:
            rng.choice(_MUTATIONS)(rng, payload)
    return Case(bytes(payload), bytes(detached))


def fuzz(type_: type[Any], count: int, seed: int = 1) -> int:
    """Judge so many cases made from messages of this type; how many were accepted."""
    rng = Random(f"{type_.__name__} {seed}")
    cases = seeds(type_)
    taken = 0
    for number in range(count):
        case = mutate(rng, cases)
        try:
            taken += accepted(*case)
        except Exception as error:
            where = f"{type_.__name__}, seed {seed}, case {number}"
            raise AssertionError(f"{where}: {case.payload.hex()} {case.detached.hex()}") from error
    return taken
