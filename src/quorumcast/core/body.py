"""A publication's body: opaque bytes to every replica.

A body above `limits.INLINE_BODY_BYTES` travels detached: the frame's tag covers its hash, and the
hash was computed when its bytes were checked. `LargeBody` carries it along, so that a body is
hashed once per process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class LargeBody(bytes):
    """The bytes of a detached body, with their BLAKE3-256 hash.

    >>> body = LargeBody.of(b"x" * 2000, bytes(32))
    >>> len(body), body.hash == bytes(32)
    (2000, True)
    """

    hash: bytes

    @classmethod
    def of(cls, data: bytes | memoryview, digest: bytes) -> LargeBody:
        """Pair bytes with the hash that the caller computed over them.

        >>> LargeBody.of(b"y" * 1025, b"h" * 32).hash[:1]
        b'h'
        """
        body = cls(data)
        body.hash = digest
        return body


def portions(bodies: Sequence[bytes], most: int) -> Iterator[tuple[int, int]]:
    """Where to cut consecutive bodies so that each portion has at most so many bytes, or one body.

    >>> list(portions([b"aa", b"bb", b"cccccc", b"d"], 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    start = size = 0
    for index, body in enumerate(bodies):
        size += len(body)
        if size > most and index > start:
            yield start, index
            start, size = index, len(body)
    if start < len(bodies):
        yield start, len(bodies)
