"""Frames in a stream of bytes, and how a frame is laid out.

A frame is, all integers big endian:

    u32  length of everything that follows
    u64  counter
    16   tag: over counter, payload length and payload, under the key of this link and direction
    u32  payload length
         payload
         detached bodies, in the order in which the payload names their hashes

The tag covers the first length too, if not by itself: it covers the payload's length and, in
the payload, the length of each detached body, and there is nothing else behind them.

A frame is handled whole, with its length, by everything here and in `link`.
"""

from __future__ import annotations

from contextlib import suppress
from struct import Struct

from quorumcast.auth.tags import TAG_BYTES
from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import FRAME_BYTES

LENGTH = Struct(">I")
"""The length of the rest of a frame."""

HEADER = Struct(f">IQ{TAG_BYTES}sI")
"""Length of the rest, counter, tag, payload length."""

HEADER_BYTES = HEADER.size

_LENGTH_BYTES = LENGTH.size

_LONG_BYTES = 32 * 1024
"""What must be missing of a frame for it to be worth reading it to its own place."""


class Framer:
    """Cuts what arrives on a link, in pieces of any size, into frames.

    It holds the bytes of one unfinished frame and nothing else: nothing when the link is idle,
    and no more than four times what has arrived, whatever length was announced. Every byte is
    copied a fixed number of times; those of a long frame not at all, where `room` is used: the
    rest of it is then read to the place where it belongs.

    `limit` is the longest frame, with its length: smaller than `FRAME_BYTES` where the peer is
    not yet known.

    >>> framer = Framer()
    >>> frame = (28).to_bytes(4, "big") + bytes(28)
    >>> framer.feed(frame[:9]), framer.feed(frame[9:] + frame + frame[:1]) == [frame, frame]
    ([], True)
    """

    __slots__ = ("_arrived", "_buffer", "_limit", "_need", "fault")

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        assert HEADER_BYTES <= limit <= FRAME_BYTES, f"frames of {limit} bytes"
        self._limit = limit
        self._buffer: bytearray | None = None
        self._arrived = 0
        self._need = 0
        self.fault: str | None = None
        """Why this link can give no more frames, once it is known; the next `feed` raises it."""

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[bytes | bytearray]:
        """The frames that this chunk completes, whole.

        A length that no frame has ends the link: nothing behind it can be understood. Frames
        before it are still handed out, however the bytes were cut; then, and for ever, `feed`
        raises `ProtocolError`, whose text stands in `fault` as soon as it is known.

        >>> Framer().feed(b"\\xff\\xff\\xff\\xff")
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ProtocolError: a frame of 4294967299 bytes: 32 to 16777216 ...
        """
        if self.fault is not None:
            raise ProtocolError(self.fault)
        if self._buffer is None:
            return self._cut(bytes(chunk))
        missing = self._need - self._arrived
        view = memoryview(chunk)
        self._add(view[:missing])
        if len(view) < missing:
            return []
        frames, rest = self._whole(), bytes(view[missing:])
        if not frames:  # it was the length of a frame that was missing, and now it is known
            return self.feed(rest)
        with suppress(ProtocolError):  # which does not undo the frame before it
            frames += self._cut(rest)
        return frames

    @property
    def held(self) -> int:
        """How many bytes the unfinished frame takes.

        >>> framer = Framer()
        >>> framer.feed((100_000).to_bytes(4, "big") + bytes(40_000))
        []
        >>> framer.held
        100004
        """
        return len(self._buffer) if self._buffer is not None else 0

    # -- long frames ---------------------------------------------------------------------------

    def room(self) -> memoryview | None:
        """Where the next bytes of a long frame belong, and no others; None where there is none.

        >>> framer = Framer()
        >>> framer.feed((100_000).to_bytes(4, "big") + bytes(40_000))
        []
        >>> room = framer.room()
        >>> len(room), len(framer.filled(60_000)[0])
        (60000, 100004)
        """
        buffer = self._buffer
        if buffer is None or self._need - self._arrived < _LONG_BYTES:
            return None
        if len(buffer) - self._arrived < _LONG_BYTES:
            self._grow(0)
        return memoryview(self._buffer or buffer)[self._arrived :]

    def filled(self, count: int) -> list[bytes | bytearray]:
        """So many bytes were written to `room`."""
        self._arrived += count
        return self._whole() if self._arrived == self._need else []

    def _grow(self, more: int) -> None:
        """Make room for so many more bytes, and for some behind them."""
        assert self._buffer is not None
        bigger = bytearray(min(self._need, 4 * (self._arrived + more)))
        bigger[: self._arrived] = memoryview(self._buffer)[: self._arrived]
        self._buffer = bigger

    def _add(self, chunk: memoryview) -> None:
        end = self._arrived + len(chunk)
        if self._buffer is None or len(self._buffer) < end:
            self._grow(len(chunk))
        assert self._buffer is not None
        self._buffer[self._arrived : end] = chunk
        self._arrived = end

    def _whole(self) -> list[bytes | bytearray]:
        """What was needed is there: a frame, or the length of one."""
        buffer, need = self._buffer, self._need
        assert buffer is not None
        assert len(buffer) == need == self._arrived
        self._buffer = None
        return self._cut(bytes(buffer)) if need == _LENGTH_BYTES else [buffer]

    # -- short ones ----------------------------------------------------------------------------

    def _cut(self, data: bytes) -> list[bytes | bytearray]:
        frames: list[bytes | bytearray] = []
        at, size = 0, len(data)
        need = _LENGTH_BYTES
        while size - at >= _LENGTH_BYTES:
            need = _LENGTH_BYTES + LENGTH.unpack_from(data, at)[0]
            if not HEADER_BYTES <= need <= self._limit:
                possible = f"{HEADER_BYTES} to {self._limit} are possible"
                self.fault = f"a frame of {need} bytes: {possible}"
                if frames:
                    return frames
                raise ProtocolError(self.fault)
            if size - at < need:
                break
            frames.append(data[at : at + need])
            at += need
            need = _LENGTH_BYTES
        if at < size:
            # What is left arrived with the last chunk, so it is copied for that chunk alone.
            self._buffer = bytearray()
            self._arrived = 0
            self._need = need
            self._add(memoryview(data)[at:])
        return frames
