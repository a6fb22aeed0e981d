"""What is said on a link and not handed to its transport yet: pieces of output, in order.

A transport takes all that it is given, however much that is, and one with TLS does not say how much
of it waits. So it is given a bounded part at a time, and no more before the peer has read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

AT_ONCE_BYTES = 2**20
_AT_ONCE_TLS_BYTES = 2**16
"""What a transport is given before it is asked whether the peer reads. With TLS about as much
again waits unseen, on each link."""


class Backlog:
    """Pieces of output, from whose front so many bytes at a time are taken.

    >>> backlog = Backlog()
    >>> backlog.add([b"abc", b"defgh"])
    >>> backlog.size
    8
    >>> [bytes(piece) for piece in backlog.take(5)], backlog.size
    ([b'abc', b'de'], 3)
    """

    __slots__ = ("_pieces", "full", "said", "size")

    def __init__(self) -> None:
        self._pieces: deque[bytes | memoryview] = deque()
        self.size = 0
        """Bytes in all of them."""
        self.said = 0
        """Bytes that were ever added."""
        self.full = False
        """Whether the transport has enough: it says so, and when it takes more."""

    def add(self, pieces: Sequence[bytes]) -> None:
        """Put these behind all others.

        >>> backlog = Backlog(); backlog.add([b"abc"]); backlog.add([b"d"]); backlog.said
        4
        """
        size = sum(map(len, pieces))
        self._pieces += pieces
        self.size += size
        self.said += size

    def hand_over(self, transport: asyncio.Transport) -> None:
        """Give a transport as much as it takes."""
        tls = transport.get_extra_info("ssl_object") is not None
        most = _AT_ONCE_TLS_BYTES if tls else AT_ONCE_BYTES
        while self.size and not self.full and not transport.is_closing():
            pieces = self.take(most)
            if len(pieces) == 1:
                transport.write(pieces[0])
            else:
                transport.writelines(pieces)

    def take(self, most: int) -> list[bytes | memoryview]:
        """Pieces from the front, of so many bytes at most; a long one is cut, not copied.

        >>> backlog = Backlog(); backlog.add([b"abc"])
        >>> backlog.take(9), backlog.take(9)
        ([b'abc'], [])
        """
        waiting = self._pieces
        if self.size <= most:
            taken = list(waiting)
            self.clear()
            return taken
        taken: list[bytes | memoryview] = []
        while most:
            piece = waiting.popleft()
            if len(piece) > most:
                view = memoryview(piece)
                waiting.appendleft(view[most:])
                piece = view[:most]
            taken.append(piece)
            most -= len(piece)
            self.size -= len(piece)
        return taken

    def clear(self) -> None:
        """Forget what waits."""
        self._pieces.clear()
        self.size = 0
