"""Frames come out of a stream of bytes the same however it is cut."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import FRAME_BYTES
from quorumcast.wire import HEADER_BYTES, Framer
from quorumcast.wire.frames import SPARE_BYTES, Spares


def frame(size: int, fill: int = 7) -> bytes:
    """A frame of so many bytes behind its length."""
    return size.to_bytes(4, "big") + bytes((fill,)) * size


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(place % (len(stream) + 1) for place in places)
    return [stream[a:b] for a, b in zip([0, *ends], [*ends, len(stream)], strict=True)]


def outcome(chunks: list[bytes]) -> tuple[list[bytes], str | None]:
    """All frames, and the error at the end if there is one."""
    framer, frames = Framer(), list[bytes]()
    try:
        for chunk in [*chunks, b""]:
            frames += framer.feed(chunk)
    except ProtocolError as error:
        return frames, str(error)
    assert framer.fault is None
    return frames, None


sizes = st.lists(st.integers(28, 90), max_size=6)
places = st.lists(st.integers(0, 1000), max_size=12)


@given(sizes, places, st.integers(0, 60))
def test_any_cutting_gives_the_same_frames(sizes: list[int], places: list[int], rest: int) -> None:
    frames = [frame(size, fill) for fill, size in enumerate(sizes)]
    stream = b"".join(frames) + frame(90)[:rest]
    assert outcome(cut(stream, places)) == (frames, None)
    assert outcome([bytes((byte,)) for byte in stream]) == (frames, None)


@given(sizes, places, st.sampled_from([0, 27, FRAME_BYTES - 3, 2**32 - 1]))
def test_any_cutting_gives_the_same_frames_before_a_bad_length(
    sizes: list[int], places: list[int], bad: int
) -> None:
    frames = [frame(size, fill) for fill, size in enumerate(sizes)]
    stream = b"".join(frames) + bad.to_bytes(4, "big") + bytes(40)
    found, error = outcome(cut(stream, places))
    assert found == frames
    assert error is not None
    assert str(bad + 4) in error


def test_after_a_bad_length_nothing_more_is_taken() -> None:
    framer = Framer()
    good = frame(40)
    assert framer.feed(good + bytes(4)) == [good]
    assert framer.fault is not None
    for chunk in (good, b"", good):
        with pytest.raises(ProtocolError, match="a frame of 4 bytes"):
            framer.feed(chunk)


def test_the_shortest_and_the_longest_frame_are_taken() -> None:
    assert Framer().feed(frame(HEADER_BYTES - 4)) == [frame(HEADER_BYTES - 4)]
    longest = frame(FRAME_BYTES - 4)
    framer = Framer()
    assert framer.feed(longest[:-1]) == []
    assert framer.feed(longest[-1:]) == [longest]


def test_a_peer_not_yet_known_gets_shorter_frames() -> None:
    assert Framer(limit=100).feed(frame(96)) == [frame(96)]
    with pytest.raises(ProtocolError, match="a frame of 101 bytes: 32 to 100 are possible"):
        Framer(limit=100).feed(frame(97)[:4])


def test_frames_are_views_and_what_is_left_is_a_copy() -> None:
    shared = bytearray(frame(40) + frame(50)[:20])
    framer = Framer()
    (first,) = framer.feed(memoryview(shared))
    assert first == frame(40)
    shared[:] = bytes(len(shared))
    assert first == bytes(44)
    assert framer.feed(bytearray(frame(50)[20:])) == [frame(50)]


def test_buffers_of_long_frames_are_used_again() -> None:
    spares = Spares()
    links = [Framer(spares=spares) for _ in range(3)]
    places = set[int]()
    for number in range(30):
        whole, framer = frame(200_000 + number, number), links[number % 3]
        assert framer.feed(whole[:150_000]) == []
        room = framer.room()
        assert room is not None
        assert len(room) == len(whole) - 150_000
        room[:] = whole[150_000:]
        (found,) = framer.filled(len(room))
        assert found == whole
        assert isinstance(found, memoryview)
        places.add(id(found.obj))
        framer.done()
    assert len(places) < 4
    assert spares.kept_bytes <= SPARE_BYTES


def test_a_frame_is_not_overwritten_before_it_is_done_with() -> None:
    spares = Spares()
    one, other = Framer(spares=spares), Framer(spares=spares)
    for framer in (one, other):
        framer.feed(frame(100_000)[:60_000])
    (first,) = one.feed(frame(100_000)[60_000:])
    (second,) = other.feed(frame(100_000, 9)[60_000:])
    assert first == frame(100_000)
    assert second == frame(100_000)[:60_000] + frame(100_000, 9)[60_000:]


def test_few_spare_buffers_are_kept() -> None:
    spares = Spares()
    for _ in range(4):
        taken = [spares.take(FRAME_BYTES // 4) for _ in range(4)]
        for buffer in taken:
            spares.give(buffer)
        assert spares.kept_bytes <= SPARE_BYTES


def test_an_announced_length_takes_no_memory_and_an_idle_link_none() -> None:
    whole = frame(2**20)
    tracemalloc.start()
    try:
        framer = Framer()
        framer.feed((FRAME_BYTES - 4).to_bytes(4, "big"))
        for _ in range(100):
            framer.feed(bytes(10))
        assert tracemalloc.get_traced_memory()[1] < 16_384
        framer = Framer()
        for at in range(0, len(whole), 4000):
            framer.feed(whole[at : at + 4000])
        assert tracemalloc.get_traced_memory()[0] < 16_384
    finally:
        tracemalloc.stop()


def test_a_large_frame_in_single_bytes_takes_linear_time() -> None:
    whole = frame(400_000)  # copying what is there for each byte would be 80 GB
    framer = Framer()
    frames = [each for byte in whole for each in framer.feed(bytes((byte,)))]
    assert frames == [whole]
