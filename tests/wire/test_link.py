"""Altered, repeated, reordered, reflected, spliced: at the opener every such frame fails."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.errors import AuthError, ProtocolError
from quorumcast.core.limits import (
    BODY_BYTES,
    FRAME_BYTES,
    FRAME_MESSAGES,
    USUAL_FRAME_BYTES,
)
from quorumcast.core.messages import AskHeads, Bodies, Message, Publish
from quorumcast.wire import (
    HEADER_BYTES,
    Framer,
    Memo,
    Opener,
    Sealer,
    encode_message,
    encode_payload,
    kinds,
    split,
)
from tests.wire import fuzz
from tests.wire.strategies import any_message
from tests.wire.vectors import KEY, LARGE, OTHER, STREAM, VECTORS

BACK = KEY[::-1]
"""The key of the other direction."""

MIXED: list[Message] = [VECTORS["publish-mixed"].message, VECTORS["credit"].message]


def forge(payload: bytes, *, counter: int = 1, detached: bytes = b"", key: bytes = KEY) -> bytes:
    """A frame by hand, under a key that the forger has."""
    head = counter.to_bytes(8, "big")
    body = len(payload).to_bytes(4, "big") + payload
    tag = blake3(head + body, key=key).digest()[:16]
    rest = head + tag + body + detached
    return len(rest).to_bytes(4, "big") + rest


def number(counter: int) -> list[Message]:
    return [AskHeads("alerts", counter)]


def frames(count: int, key: bytes = KEY) -> list[bytes]:
    sealer = Sealer(key)
    return [sealer.seal(number(counter)) for counter in range(1, count + 1)]


# -- what was sealed opens -----------------------------------------------------------------------


@given(st.lists(st.lists(any_message, max_size=4), max_size=4))
def test_frames_open_to_what_was_sealed(turns: list[list[Message]]) -> None:
    sealer, framer, opener = Sealer(KEY), Framer(), Opener(KEY)
    stream = b"".join([sealer.seal(messages) for messages in turns])
    assert [opener.open(frame) for frame in framer.feed(stream)] == turns


def test_a_frame_is_as_the_format_says() -> None:
    payload, detached = encode_payload(MIXED)
    assert Sealer(KEY).seal(MIXED) == forge(payload, detached=b"".join(detached))


# -- altered -------------------------------------------------------------------------------------


def one_of_each_kind() -> list[Message]:
    """The shortest vector of every kind."""
    found: dict[type, Message] = {}
    for _, message in sorted(VECTORS.values(), key=lambda vector: _size(vector.message)):
        found.setdefault(type(message), message)
    assert set(found) == set(kinds().values())
    return list(found.values())


def test_every_flipped_bit_is_found_and_changes_nothing() -> None:
    """Under the tag, or in a detached body under its hash: no bit of a frame is left over."""
    sealer, opener = Sealer(KEY), Opener(KEY)
    for said in (one_of_each_kind(), [VECTORS["bodies-detached"].message]):
        frame = sealer.seal(said)
        for bit in range(8 * len(frame)):
            altered = bytearray(frame)
            altered[bit // 8] ^= 1 << bit % 8
            with pytest.raises(ProtocolError):
                opener.open(bytes(altered))
        assert opener.open(frame) == said


# -- any bytes -----------------------------------------------------------------------------------


def opened(frame: bytes) -> list[Message] | None:
    """What an opener makes of a frame; one that it takes, a sealer must make of the messages."""
    try:
        messages = Opener(KEY).open(frame)
    except ProtocolError:
        return None
    assert Sealer(KEY).seal(messages) == frame
    return messages


@given(st.binary(max_size=100), st.binary(max_size=40))
def test_any_bytes_give_messages_or_one_error(junk: bytes, more: bytes) -> None:
    assert opened(junk) is None  # who has no key
    opened(forge(junk, detached=more))  # who has it
    opened(forge(b"\x01" + junk, detached=more))


@pytest.mark.parametrize("name", VECTORS)
def test_mutated_payloads_under_the_right_key_give_messages_or_one_error(name: str) -> None:
    """A Byzantine peer has the link's key: behind the tag, every rule still counts."""
    rng = Random(name)
    payload, bodies = encode_payload([VECTORS[name].message])
    case = fuzz.Case(payload, b"".join(bodies))
    assert opened(forge(*case[:1], detached=case.detached)) == [VECTORS[name].message]
    answers = [
        opened(forge(mutated.payload, detached=mutated.detached))
        for mutated in (fuzz.mutate(rng, [case]) for _ in range(200))
    ]
    assert None in answers


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_any_chunks_from_a_stranger_give_nothing(chunks: list[bytes]) -> None:
    framer = Framer()
    for chunk in chunks:
        try:
            found = framer.feed(chunk)
        except ProtocolError:
            break
        assert [opened(frame) for frame in found] == [None] * len(found)


def test_every_shortened_or_extended_frame_is_found() -> None:
    frame, opener = Sealer(KEY).seal(MIXED), Opener(KEY)
    for size in range(len(frame)):
        with pytest.raises(ProtocolError):
            opener.open(frame[:size])
        if size >= 32:  # with a length that fits
            with pytest.raises(ProtocolError):
                opener.open((size - 4).to_bytes(4, "big") + frame[4:size])
    for more in (b"\x00", b"x" * 40, frame):
        with pytest.raises(ProtocolError):
            opener.open(frame + more)
        with pytest.raises(ProtocolError):
            opener.open((len(frame + more) - 4).to_bytes(4, "big") + (frame + more)[4:])
    assert opener.open(frame) == MIXED


def test_bytes_cannot_move_between_payload_and_detached_bodies() -> None:
    frame = bytearray(Sealer(KEY).seal(MIXED))
    size = int.from_bytes(frame[28:32], "big")
    for other in (size - 1, size + 1, size + len(LARGE)):
        frame[28:32] = other.to_bytes(4, "big")
        with pytest.raises(AuthError):
            Opener(KEY).open(bytes(frame))


def test_the_tag_is_checked_before_anything_inside() -> None:
    garbage = bytearray(forge(b"\xff\xff\xff"))
    with pytest.raises(ProtocolError, match="version 255") as inside:
        Opener(KEY).open(bytes(garbage))
    assert not isinstance(inside.value, AuthError)
    garbage[12] ^= 1
    with pytest.raises(AuthError):
        Opener(KEY).open(bytes(garbage))


@pytest.mark.parametrize("more", [1, 100, 2**32 - 2])
def test_a_payload_cannot_be_longer_than_its_frame(more: int) -> None:
    """Not even if whoever has the key says so: the frame would have two encodings."""
    head, length = (1).to_bytes(8, "big"), (1 + more).to_bytes(4, "big")
    tag = blake3(head + length + b"\x01", key=KEY).digest()[:16]
    rest = head + tag + length + b"\x01"
    with pytest.raises(ProtocolError, match="says other lengths"):
        Opener(KEY).open(len(rest).to_bytes(4, "big") + rest)


def test_a_frame_above_the_limit_is_refused_unread() -> None:
    with pytest.raises(ProtocolError, match="are possible"):
        Opener(KEY).open(forge(b"\x01", detached=bytes(FRAME_BYTES)))


# -- from elsewhere ------------------------------------------------------------------------------


def test_a_frame_sent_back_fails() -> None:
    """A link has a key for each direction."""
    with pytest.raises(AuthError):
        Opener(BACK).open(frames(1)[0])


def test_a_frame_of_another_connection_fails() -> None:
    with pytest.raises(AuthError):
        Opener(KEY).open(frames(1, key=b"o" * 32)[0])


def test_detached_bodies_of_another_frame_fail() -> None:
    sealer = Sealer(KEY)
    one = sealer.seal([Publish(STREAM, 1, (LARGE,))])
    two = sealer.seal([Publish(STREAM, 2, (OTHER,))])
    assert len(one) == len(two)
    size = len(LARGE)
    opener = Opener(KEY)
    with pytest.raises(ProtocolError, match="does not have its hash"):
        opener.open(one[:-size] + two[-size:])
    assert len(opener.open(one)) == 1
    with pytest.raises(ProtocolError, match="does not have its hash"):
        opener.open(two[:-size] + one[-size:])
    assert len(opener.open(two)) == 1


def test_the_payload_of_one_frame_fails_under_the_header_of_another() -> None:
    one, two = frames(2)
    with pytest.raises(AuthError):
        Opener(KEY).open(one[:28] + two[28:])
    with pytest.raises(AuthError):
        Opener(KEY).open(one[:12] + two[12:])


# -- order ---------------------------------------------------------------------------------------


def test_on_a_link_that_keeps_order_only_the_next_frame_opens() -> None:
    first, second, third = frames(3)
    opener = Opener(KEY)
    for early in (second, third):
        with pytest.raises(AuthError, match="whose next frame is 1"):
            opener.open(early)
    opener.open(first)
    with pytest.raises(AuthError, match="frame 1 on a link whose next frame is 2"):
        opener.open(first)
    with pytest.raises(AuthError, match="frame 3 on a link whose next frame is 2"):
        opener.open(third)
    opener.open(second)
    opener.open(third)


@pytest.mark.parametrize("window", [0, 5])
def test_no_frame_has_counter_0(window: int) -> None:
    with pytest.raises(AuthError):
        Opener(KEY, window).open(forge(b"\x01", counter=0))


@given(
    st.integers(1, 9), st.lists(st.integers(1, 24), max_size=60), st.sampled_from([1, 2**63 - 12])
)
def test_with_a_window_each_frame_opens_once_unless_it_is_late(
    window: int, arrivals: list[int], offset: int
) -> None:
    opener, seen = Opener(KEY, window), set[int]()
    for arrival in arrivals:
        counter = arrival + offset - 1
        frame = forge(b"\x01", counter=counter)
        late = bool(seen) and max(seen) - counter > window
        if counter in seen or late:
            with pytest.raises(AuthError):
                opener.open(frame)
        else:
            assert opener.open(frame) == []
            seen.add(counter)


def test_a_peer_that_jumps_far_ahead_takes_no_memory() -> None:
    opener = Opener(KEY, window=64)
    opener.open(forge(b"\x01", counter=1))
    opener.open(forge(b"\x01", counter=2**64 - 1))
    opener.open(forge(b"\x01", counter=2**64 - 65))
    for counter in (1, 2, 2**64 - 66, 2**64 - 65, 2**64 - 1):
        with pytest.raises(AuthError):
            opener.open(forge(b"\x01", counter=counter))


def test_what_an_opener_remembers_does_not_grow_with_the_frames() -> None:
    opener = Opener(KEY, window=1000)
    sent = [forge(b"\x01", counter=counter) for counter in range(1, 400_000, 1000)]
    opener.open(sent[0])
    tracemalloc.start()
    try:
        for frame in sent[1:]:
            opener.open(frame)
        assert tracemalloc.get_traced_memory()[0] < 8192  # a bit a frame number would be 50 kB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("window", [0, 8])
def test_a_body_altered_on_the_way_does_not_use_up_the_counter(window: int) -> None:
    frame, opener = Sealer(KEY).seal([Bodies(STREAM, 1, (LARGE,))]), Opener(KEY, window)
    with pytest.raises(ProtocolError, match="does not have its hash"):
        opener.open(frame[:-1] + b"?")
    assert len(opener.open(frame)) == 1
    with pytest.raises(AuthError):
        opener.open(frame)


# -- more than a frame holds -----------------------------------------------------------------------


@given(st.lists(any_message, max_size=12), st.integers(6000, 30_000))
def test_a_turn_of_any_size_goes_out_in_frames_that_fit(
    messages: list[Message], limit: int
) -> None:
    # The largest message that is drawn, six detached bodies and all, fits 30,000 bytes.
    largest = max((_size(message) for message in messages), default=0)
    sealer, opener = Sealer(KEY, limit=max(limit, largest + 33)), Opener(KEY)
    sealed = sealer.seal_all(messages)
    assert all(len(frame) <= max(limit, largest + 33) for frame in sealed)
    assert [message for frame in sealed for message in opener.open(frame)] == messages


def _size(message: Message) -> int:
    _, data, detached = encode_message(message)
    return len(data) + sum(map(len, detached))


def test_groups_are_as_full_as_they_can_be() -> None:
    encoded = [encode_message(message) for message in number(1) * 7]
    size = len(encoded[0][1])
    room = 33
    assert [len(group) for group in split(encoded, room + 3 * size)] == [3, 3, 1]
    assert [len(group) for group in split(encoded, room + 3 * size - 1)] == [2, 2, 2, 1]
    assert [len(group) for group in split(encoded, room + 7 * size)] == [7]
    assert split([], 100) == []


def test_what_is_too_much_for_one_frame_by_number_goes_out_in_several() -> None:
    asks: list[Message] = [AskHeads("ab", number) for number in range(FRAME_MESSAGES + 1)]
    frames = Sealer(KEY).seal_all(asks)
    opener = Opener(KEY)
    assert [opener.open(frame) for frame in frames] == [asks[:-1], asks[-1:]]
    assert b"".join(Sealer(KEY).seal_pieces(asks)) == b"".join(frames)


def test_usual_frames_are_read_at_once() -> None:
    said: list[Message] = [Publish(STREAM, 1 + at, (bytes(60_000),)) for at in range(10)]
    sealed = Sealer(KEY).seal_all(said)
    assert max(map(len, sealed)) <= USUAL_FRAME_BYTES + HEADER_BYTES + 1
    assert len(sealed) == 4
    opener = Opener(KEY)
    assert [message for frame in sealed for message in opener.open(frame)] == said


def test_a_long_body_has_a_frame_for_itself() -> None:
    body = bytes(BODY_BYTES)
    said: list[Message] = [Publish(STREAM, 1, (body,)), Publish(STREAM, 2, (body,)), *number(1)]
    sealed = Sealer(KEY).seal_all(said)
    assert len(sealed) == 3
    assert max(map(len, sealed)) <= FRAME_BYTES
    opener = Opener(KEY)
    assert [message for frame in sealed for message in opener.open(frame)] == said


def test_nothing_to_say_is_no_frame_or_an_empty_one() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY)
    assert sealer.seal_all([]) == []
    assert opener.open(sealer.seal([])) == []


def test_a_message_larger_than_a_frame_is_our_own_bug_and_takes_no_counter() -> None:
    sealer = Sealer(KEY)
    large = Publish(STREAM, 1, (bytes(BODY_BYTES),) * 2)
    for seal in (sealer.seal, sealer.seal_all):
        with pytest.raises(AssertionError, match="Publish of 1677"):
            seal([large])
    with pytest.raises(AssertionError, match="messages for 2 frames"):
        sealer.seal([Publish(STREAM, 1, (bytes(BODY_BYTES),))] * 2)
    assert Opener(KEY).open(sealer.seal(number(1))) == number(1)


@pytest.mark.parametrize("key", [b"", KEY[1:], KEY + b"x"])
def test_a_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(AssertionError):
        Sealer(key)
    with pytest.raises(AssertionError):
        Opener(key)


def test_a_memo_shared_by_a_turns_sealers_changes_no_frame() -> None:
    memo = Memo()
    for key in (KEY, BACK, KEY):
        assert Sealer(key).seal(MIXED, memo) == Sealer(key).seal(MIXED)
        assert Sealer(key).seal_all(MIXED, memo) == [Sealer(key).seal(MIXED)]
    assert len(memo) == len(MIXED)
