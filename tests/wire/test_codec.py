"""The table of kinds, and that bytes and messages stand one to one, whatever the bytes are."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core import limits
from quorumcast.core.errors import ProtocolError
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import AskHeads, AskOpening, Held, Message, Publish
from quorumcast.wire import codec, decode_payload, encode_message, encode_payload, kinds, register
from quorumcast.wire.codec import Memo
from quorumcast.wire.primitives import Reader, Recent, pack_stream
from tests.wire import fuzz
from tests.wire.vectors import STREAM, VECTORS, digests

TYPES = sorted(kinds().values(), key=lambda type_: type_.__name__)


# -- any bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", TYPES)
def test_mutated_payloads_are_refused_or_encode_to_themselves(
    type_: type[Any], fuzz_cases: int
) -> None:
    taken = fuzz.fuzz(type_, fuzz_cases)
    assert fuzz_cases < 100 or 0 < taken < fuzz_cases  # the mutations reach both answers


@given(st.binary(max_size=200), st.binary(max_size=20))
def test_any_bytes_are_refused_or_encode_to_themselves(payload: bytes, detached: bytes) -> None:
    fuzz.accepted(payload, detached)
    fuzz.accepted(b"\x01" + payload, b"")


@pytest.mark.parametrize("name", VECTORS)
def test_no_beginning_of_a_message_is_a_message(name: str) -> None:
    payload, bodies = encode_payload([VECTORS[name].message])
    detached = b"".join(bodies)
    for size in range(2, len(payload)):
        with pytest.raises(ProtocolError):
            decode_payload(payload[:size], detached)


def test_different_messages_have_different_bytes() -> None:
    every = [encode_payload([vector.message])[0] for vector in VECTORS.values()]
    assert len(set(every)) == len(every)


def test_a_decoder_that_steps_beyond_the_end_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    own_registry(monkeypatch)

    def decode(reader: Reader) -> Blank:
        reader.at += 5
        return Blank()

    register(200, Blank, lambda message, detached: bytes(5), decode)
    assert decode_payload(b"\x01\xc8" + bytes(5)) == [Blank()]
    with pytest.raises(ProtocolError, match="ends inside a message"):
        decode_payload(b"\x01\xc8" + bytes(4))


# -- memory --------------------------------------------------------------------------------------


CACHES = 256 * 1024
"""What the memo of streams may take when it grows: half of what a count of 65,536 would make."""


def peak(payload: bytes, detached: bytes = b"") -> int:
    """The most memory that decoding took at a time."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    with suppress(ProtocolError):
        decode_payload(payload, detached)
    _, most = tracemalloc.get_traced_memory()
    return most - before


@pytest.mark.parametrize("name", VECTORS)
def test_no_count_in_a_small_payload_makes_memory(name: str) -> None:
    payload, bodies = encode_payload([VECTORS[name].message])
    detached = b"".join(bodies)
    tracemalloc.start()
    try:
        for at in range(1, min(len(payload), 160)):
            for evil in (b"\xff\xff\xff\xff", b"\x00\x01\x00\x00", b"\x40", b"\x01\x00"):
                mutated = payload[:at] + evil + payload[at + len(evil) :]
                assert peak(mutated, detached) < CACHES + 8 * len(payload + detached), at
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 1, 2, 67])
def test_a_full_payload_takes_memory_in_proportion(size: int) -> None:
    message = Publish(STREAM, 1, tuple(bytes((1,)) * size for _ in range(limits.RUN_POSITIONS)))
    payload, _ = encode_payload([message])
    tracemalloc.start()
    try:
        assert peak(payload) < 16 * len(payload)
    finally:
        tracemalloc.stop()


HOSTILE: list[tuple[str, bytes]] = [
    ("runs of empty bodies", encode_payload([Publish(STREAM, 1, (b"",) * 65_536)])[0][1:]),
    ("runs of small bodies", encode_payload([Publish(STREAM, 1, (b"ab",) * 65_536)])[0][1:]),
    ("runs of digests", encode_payload([Held(STREAM, 1, bytes(32 * 65_536))])[0][1:]),
    ("the shortest message", encode_payload([AskHeads("ab", 2**40)])[0][1:]),
    ("streams", encode_payload([AskOpening(STREAM)])[0][1:]),
    (
        "counts that promise more",
        b"\x03" + pack_stream(STREAM) + bytes(7) + b"\x01\x00\x01\x00\x00",
    ),
]


@pytest.mark.parametrize(("what", "piece"), HOSTILE, ids=[what for what, _ in HOSTILE])
def test_no_allocation_is_larger_than_a_frame(what: str, piece: bytes) -> None:
    """Not one that is larger than the payload, or than the references of one run's bodies."""
    payload = b"\x01" + piece * max(1, min(limits.FRAME_MESSAGES, 400_000 // len(piece)))
    tracemalloc.start()
    found: list[Message] = []
    try:
        with suppress(ProtocolError):
            found = decode_payload(payload)
        largest = max((trace.size for trace in tracemalloc.take_snapshot().traces), default=0)
        assert tracemalloc.get_traced_memory()[1] < 16 * len(payload) + CACHES
    finally:
        tracemalloc.stop()
    references = 8 * limits.RUN_POSITIONS + 64
    assert largest <= max(len(payload), references) < limits.FRAME_BYTES
    assert bool(found) == ("promise" not in what)


def test_a_frame_has_so_many_messages_and_not_one_more() -> None:
    asks = [AskHeads("ab", 0)] * limits.FRAME_MESSAGES
    payload, _ = encode_payload(asks)
    assert decode_payload(payload) == asks
    more, _ = encode_payload([*asks, *asks[:1]])
    with pytest.raises(ProtocolError, match="a frame has more than 4096 messages"):
        decode_payload(more)


def test_a_lying_run_of_large_bodies_is_refused_before_it_is_hashed() -> None:
    sizes = (2**20).to_bytes(4, "big") * 100
    payload = b"\x01\x03" + pack_stream(STREAM) + bytes(7) + b"\x01" + (100).to_bytes(4, "big")
    payload += sizes + bytes(3200) + b"\x00"
    tracemalloc.start()
    try:
        assert peak(payload, bytes(2**20)) < CACHES
    finally:
        tracemalloc.stop()


# -- streams are remembered ----------------------------------------------------------------------


def test_equal_bytes_give_one_stream() -> None:
    payload, _ = encode_payload([AskOpening(STREAM), AskOpening(Stream(*STREAM))])
    first, second = decode_payload(payload)
    (third,) = decode_payload(payload[: len(payload) // 2 + 1])
    assert isinstance(first, AskOpening)
    assert isinstance(second, AskOpening)
    assert isinstance(third, AskOpening)
    assert first.stream is second.stream is third.stream


def test_a_memo_is_bounded_and_keeps_what_is_in_use() -> None:
    made: list[int] = []

    def make(key: int) -> str:
        made.append(key)
        return str(key)

    memo = Recent(64, make)
    for key in range(10_000):
        assert memo[key] == str(key)
        assert memo[-1] == "-1"
        assert len(memo) <= 32
    assert made.count(-1) == 1


def test_a_stream_that_does_not_decode_is_not_remembered() -> None:
    bad = b"\x01\x0b\x01\xff\x01p" + bytes(32) + b"\x00"
    for _ in range(3):
        with pytest.raises(ProtocolError):
            decode_payload(bad)


def test_many_streams_come_back_right_from_a_full_memo() -> None:
    rng = Random(5)
    streams = [
        Stream(f"c{i % 7}", f"p{i}", rng.randbytes(32), Lane(i % 2))
        for i in range(3 * limits.STREAM_CACHE)
    ]
    for _ in range(2):
        for at in range(0, len(streams), limits.FRAME_MESSAGES):
            asks = [AskOpening(stream) for stream in streams[at : at + limits.FRAME_MESSAGES]]
            assert decode_payload(encode_payload(asks)[0]) == asks


# -- what a turn has encoded already ---------------------------------------------------------------


def test_a_message_for_several_receivers_is_encoded_once() -> None:
    message, memo = Held(STREAM, 1, digests(3)), Memo()
    first = encode_message(message, memo)
    assert encode_message(message, memo)[1] is first[1]
    assert encode_payload([message, message], memo) == encode_payload([message, message])


def test_an_entry_holds_its_message_so_that_no_other_can_have_its_id() -> None:
    memo = Memo()
    for position in range(1, 1000):  # without that, the next message would often have this one's id
        message = Held(STREAM, position, digests(1))
        assert decode_payload(b"\x01" + encode_message(message, memo)[1]) == [message]
    assert len(memo) == 999


def test_detached_bodies_come_from_the_memo_too() -> None:
    message, memo = VECTORS["publish-mixed"].message, Memo()
    assert encode_payload([message], memo) == encode_payload([message], memo)
    assert encode_payload([message], memo) == encode_payload([message])


# -- the table -----------------------------------------------------------------------------------


class Blank(msgspec.Struct, frozen=True):
    """A message of nothing."""


def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_types", "_encoders", "_decoders"):
        monkeypatch.setattr(codec, name, getattr(codec, name).copy())


def encode_blank(message: Blank, detached: list[bytes]) -> bytes:
    return b""


def decode_blank(reader: Reader) -> Blank:
    return Blank()


def test_another_protocol_adds_its_own_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    own_registry(monkeypatch)
    register(200, Blank, encode_blank, decode_blank)
    said: list[Any] = [Blank(), AskOpening(STREAM), Blank()]
    payload, _ = encode_payload(said)
    assert decode_payload(payload) == said
    assert kinds()[200] is Blank


@pytest.mark.parametrize("kind", [0, 256, -1, 8])
def test_a_kind_is_a_byte_and_given_once(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own_registry(monkeypatch)
    with pytest.raises(AssertionError):
        register(kind, Blank, encode_blank, decode_blank)


def test_a_type_has_one_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    own_registry(monkeypatch)
    register(200, Blank, encode_blank, decode_blank)
    with pytest.raises(AssertionError, match="has a kind already"):
        register(201, Blank, encode_blank, decode_blank)


def test_a_message_without_a_kind_is_our_own_bug() -> None:
    unknown: Any = Blank()
    message: Message = unknown
    with pytest.raises(AssertionError, match="Blank has no kind"):
        encode_payload([message])
