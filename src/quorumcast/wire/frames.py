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


class Framer:
    """Cuts what arrives on a link, in pieces of any size, into frames.

    It holds the bytes of one unfinished frame and nothing else: nothing when the link is idle,
    and never more than has arrived, whatever length was announced. Every byte is copied a fixed
    number of times.

    `limit` is the longest frame, with its length: smaller than `FRAME_BYTES` where the peer is
    not yet known.

    >>> framer = Framer()
    >>> frame = (28).to_bytes(4, "big") + bytes(28)
    >>> framer.feed(frame[:9]), framer.feed(frame[9:] + frame + frame[:1]) == [frame, frame]
    ([], True)
    """

    __slots__ = ("_buffer", "_limit", "_need", "fault")

    def __init__(self, limit: int = FRAME_BYTES) -> None:
        assert HEADER_BYTES <= limit <= FRAME_BYTES, f"frames of {limit} bytes"
        self._limit = limit
        self._buffer: bytearray | None = None
        self._need = 0
        self.fault: str | None = None
        """Why this link can give no more frames, once it is known; the next `feed` raises it."""

    def feed(self, chunk: bytes | bytearray | memoryview) -> list[bytes]:
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
        buffer = self._buffer
        if buffer is None:
            data = bytes(chunk)
        else:
            buffer += chunk
            if len(buffer) < self._need:
                return []
            data = bytes(buffer)
            self._buffer = None
        return self._cut(data)

    def _cut(self, data: bytes) -> list[bytes]:
        frames: list[bytes] = []
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
            self._buffer = bytearray(memoryview(data)[at:])
            self._need = need
        return frames
