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
from typing import TypeAlias

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

_SPARE_LEAST_BYTES = 64 * 1024
"""Buffers below this are made anew each time."""

SPARE_BYTES = 8 * 2**20
"""Buffers that wait to be used again."""

Frame: TypeAlias = bytes | bytearray | memoryview
"""A whole frame with its length, wherever its bytes are."""


class Spares:
    """Buffers for long frames that are used again and again.

    A new one has to be cleared, and its pages come from the kernel one by one: at hundreds of
    megabytes a second that is most of the work of taking frames in.

    >>> spares = Spares()
    >>> buffer = spares.take(100_000)
    >>> spares.give(buffer); spares.take(90_000) is buffer
    True
    """

    __slots__ = ("_kept", "kept_bytes")

    def __init__(self) -> None:
        self._kept: dict[int, list[bytearray]] = {}
        self.kept_bytes = 0

    def take(self, size: int) -> bytearray:
        """A buffer of at least this size and less than twice as much; its content is anything."""
        if size < _SPARE_LEAST_BYTES:
            return bytearray(size)
        size = 1 << (size - 1).bit_length()
        kept = self._kept.get(size)
        if kept:
            self.kept_bytes -= size
            return kept.pop()
        return bytearray(size)

    def give(self, buffer: bytearray) -> None:
        """Nobody looks at this buffer any more."""
        size = len(buffer)
        if size >= _SPARE_LEAST_BYTES and self.kept_bytes + size <= SPARE_BYTES:
            self._kept.setdefault(size, []).append(buffer)
            self.kept_bytes += size


class Framer:
    """Cuts what arrives on a link, in pieces of any size, into frames.

    It holds the bytes of one unfinished frame and nothing else: nothing when the link is idle,
    and no more than eight times what has arrived, whatever length was announced. A long frame is
    not copied where `room` is used: the rest of it is then read to the place where it belongs.

    Frames are views: of the chunk, or of a buffer that `done` gives back. Whoever wants to keep one
    copies it first.

    `limit` is the longest frame, with its length: smaller than `FRAME_BYTES` where the peer is
    not yet known.

    >>> framer = Framer()
    >>> frame = (28).to_bytes(4, "big") + bytes(28)
    >>> framer.feed(frame[:9]), framer.feed(frame[9:] + frame + frame[:1]) == [frame, frame]
    ([], True)
    """

    __slots__ = ("_arrived", "_buffer", "_limit", "_need", "_spares", "_used", "fault")

    def __init__(self, limit: int = FRAME_BYTES, spares: Spares | None = None) -> None:
        assert HEADER_BYTES <= limit <= FRAME_BYTES, f"frames of {limit} bytes"
        self._limit = limit
        self._spares = spares
        self._buffer: bytearray | None = None
        self._used: bytearray | None = None
        """The buffer of the frame that was handed out last."""
        self._arrived = 0
        self._need = 0
        self.fault: str | None = None
        """Why this link can give no more frames, once it is known; the next `feed` raises it."""

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[Frame]:
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
        view = memoryview(chunk)
        if self._buffer is None:
            return self._cut(view)
        missing = self._need - self._arrived
        self._add(view[:missing])
        if len(view) < missing:
            return []
        rest = view[missing:]
        frames = self._whole()
        if not frames:  # it was the length of a frame that was missing, and now it is known
            return self.feed(rest)
        with suppress(ProtocolError):  # which does not undo the frame before it
            frames += self._cut(rest)
        return frames

    def done(self) -> None:
        """The frames that were handed out are not looked at any more."""
        if self._used is not None and self._spares is not None:
            self._spares.give(self._used)
        self._used = None

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
        >>> framer.feed((100_000).to_bytes(4, "big") + bytes(60_000))
        []
        >>> room = framer.room()
        >>> len(room), len(framer.filled(40_000)[0])
        (40000, 100004)
        """
        buffer = self._buffer
        if buffer is None or self._need - self._arrived < _LONG_BYTES:
            return None
        if len(buffer) - self._arrived < _LONG_BYTES:
            buffer = self._grow(buffer, 0)
        return memoryview(buffer)[self._arrived : self._need]

    def filled(self, count: int) -> list[Frame]:
        """So many bytes were written to `room`."""
        self._arrived += count
        return self._whole() if self._arrived == self._need else []

    def _grow(self, buffer: bytearray, more: int) -> bytearray:
        """Make room for so many more bytes, and for some behind them."""
        size = min(self._need, 4 * (self._arrived + more))
        bigger = bytearray(size) if self._spares is None else self._spares.take(size)
        bigger[: self._arrived] = memoryview(buffer)[: self._arrived]
        if self._spares is not None:
            self._spares.give(buffer)
        self._buffer = bigger
        return bigger

    def _add(self, chunk: memoryview) -> None:
        buffer, end = self._buffer, self._arrived + len(chunk)
        assert buffer is not None
        if len(buffer) < end:
            buffer = self._grow(buffer, len(chunk))
        buffer[self._arrived : end] = chunk
        self._arrived = end

    def _whole(self) -> list[Frame]:
        """What was needed is there: a frame, or the length of one."""
        buffer, need = self._buffer, self._need
        assert buffer is not None
        assert need == self._arrived
        self._buffer = None
        if need == _LENGTH_BYTES:
            return self._cut(memoryview(bytes(buffer[:need])))
        if self._spares is not None:
            self.done()
            self._used = buffer
        return [memoryview(buffer)[:need]]

    # -- short ones ----------------------------------------------------------------------------

    def _cut(self, data: memoryview) -> list[Frame]:
        frames: list[Frame] = []
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
            self._add(data[at:])
        return frames
