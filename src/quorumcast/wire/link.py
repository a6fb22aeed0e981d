"""Frames under a link's key: sealed by one end, opened by the other.

Each direction of each connection has a key of its own, so that a frame counts for one
connection and one direction alone: a frame sent back, or taken from another connection, fails.
Within it the counter tells the frames apart: repeated, left out or exchanged, they fail.

Upon a frame the opener checks its tag before it looks at anything inside, then its counter, then
the payload and the hashes of detached bodies. What fails changes nothing here: a byte altered on
the way cannot use up the counter of the frame that was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct

from quorumcast.auth.tags import check_tag, tag
from quorumcast.core.errors import AuthError, ProtocolError
from quorumcast.core.limits import FRAME_BYTES, FRAME_MESSAGES, USUAL_FRAME_BYTES
from quorumcast.core.messages import Message
from quorumcast.wire.codec import VERSION_BYTE, Encoded, Memo, decode_payload, encode_message
from quorumcast.wire.frames import HEADER, HEADER_BYTES, LENGTH, Frame

_KEY_BYTES = 32

_TAGGED = Struct(">QI")
"""What the tag covers before the payload: counter, payload length."""

_COUNTER_AT = LENGTH.size
_COUNTER_END = _COUNTER_AT + 8
_PAYLOAD_LENGTH_AT = HEADER_BYTES - 4


def split(messages: Iterable[Encoded], limit: int) -> list[list[Encoded]]:
    """Encoded messages in groups, in order, each of which fits a frame of `limit` bytes.

    A frame has room for `FRAME_MESSAGES`, too. A message that is larger than a usual frame has one
    for itself; one that is larger than a frame is our own bug: whoever makes runs bounds them.

    >>> from quorumcast.core.messages import AskHeads
    >>> encoded = [encode_message(AskHeads("alerts", since)) for since in range(5)]
    >>> [len(group) for group in split(encoded, 65)]
    [2, 2, 1]
    """
    most = limit - HEADER_BYTES - len(VERSION_BYTE)
    room = min(most, USUAL_FRAME_BYTES)
    groups: list[list[Encoded]] = []
    group: list[Encoded] = []
    left = 0
    for encoded in messages:
        message, data, detached = encoded
        size = len(data) + sum(map(len, detached)) if detached else len(data)
        if size > left or len(group) == FRAME_MESSAGES:
            assert size <= most, f"{type(message).__name__} of {size} bytes, a frame takes {most}"
            group = []
            groups.append(group)
            left = room
        group.append(encoded)
        left -= size
    return groups


class Sealer:
    """The sending end of one direction of a link.

    >>> from quorumcast.core.messages import AskHeads
    >>> sealer, opener = Sealer(b"k" * 32), Opener(b"k" * 32)
    >>> opener.open(sealer.seal([AskHeads("alerts", 3)]))
    [AskHeads(channel='alerts', since=3)]
    """

    __slots__ = ("_counter", "_key", "_limit")

    def __init__(self, key: bytes, limit: int = FRAME_BYTES) -> None:
        assert len(key) == _KEY_BYTES, f"a key of {len(key)} bytes"
        assert HEADER_BYTES < limit <= FRAME_BYTES, f"frames of {limit} bytes"
        self._key = key
        self._limit = limit
        self._counter = 0

    def seal(self, messages: Iterable[Message], memo: Memo | None = None) -> bytes:
        """One whole frame of these messages, which fit one.

        With a `memo` that the caller shares among the sealers of a turn, a message that goes to
        several receivers is encoded once.

        >>> len(Sealer(b"k" * 32).seal([]))
        33
        """
        groups = split([encode_message(message, memo) for message in messages], self._limit)
        assert len(groups) <= 1, f"messages for {len(groups)} frames: seal_all takes them"
        return b"".join(self._pieces(groups[0] if groups else []))

    def seal_all(self, messages: Iterable[Message], memo: Memo | None = None) -> list[bytes]:
        """As many frames as these messages need, in order; none for none.

        >>> from quorumcast.core.messages import AskHeads
        >>> len(Sealer(b"k" * 32, limit=65).seal_all([AskHeads("alerts", 3)] * 5))
        3
        """
        encoded = [encode_message(message, memo) for message in messages]
        return [b"".join(self._pieces(group)) for group in split(encoded, self._limit)]

    def seal_pieces(self, messages: Iterable[Message], memo: Memo | None = None) -> list[bytes]:
        """The same frames in pieces, to be written one behind the other: large bodies as they are.

        >>> from quorumcast.core.messages import AskHeads
        >>> len(Sealer(b"k" * 32).seal_pieces([AskHeads("alerts", 3)]))
        1
        """
        encoded = [encode_message(message, memo) for message in messages]
        groups = split(encoded, self._limit)
        if len(groups) == 1:
            return self._pieces(groups[0])
        return [piece for group in groups for piece in self._pieces(group)]

    def _pieces(self, group: Sequence[Encoded]) -> list[bytes]:
        pieces = [VERSION_BYTE]
        detached: list[bytes] = []
        for _, data, bodies in group:
            pieces.append(data)
            if bodies:
                detached += bodies
        payload_bytes = sum(map(len, pieces))
        self._counter += 1
        tagged = b"".join((_TAGGED.pack(self._counter, payload_bytes), *pieces))
        rest = HEADER_BYTES - LENGTH.size + payload_bytes + sum(map(len, detached))
        front = (LENGTH.pack(rest), tagged[:8], tag(self._key, tagged), memoryview(tagged)[8:])
        return [b"".join(front), *detached]


class Opener:
    """The receiving end of one direction of a link.

    On a link that keeps order, `window` is 0: the counter must be the next one. On one that
    loses and reorders, a frame is taken once, unless it is more than `window` behind the highest.

    >>> from quorumcast.core.messages import AskHeads
    >>> sealer, opener = Sealer(b"k" * 32), Opener(b"k" * 32)
    >>> frame = sealer.seal([AskHeads("alerts", 3)])
    >>> opener.open(frame)
    [AskHeads(channel='alerts', since=3)]
    >>> opener.open(frame)
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.AuthError: frame 1 on a link whose next frame is 2
    """

    __slots__ = ("_highest", "_key", "_seen", "_window")

    def __init__(self, key: bytes, window: int = 0) -> None:
        assert len(key) == _KEY_BYTES, f"a key of {len(key)} bytes"
        assert window >= 0, f"a window of {window}"
        self._key = key
        self._window = window
        self._highest = 0
        self._seen = 1
        """Bit i: frame `highest - i` was taken; frame 0 does not exist and counts as taken."""

    def open(self, frame: Frame) -> list[Message]:
        """The messages of a whole frame, or `ProtocolError` (`AuthError`: tag, counter)."""
        size = len(frame)
        if not HEADER_BYTES <= size <= FRAME_BYTES:
            raise ProtocolError(
                f"a frame of {size} bytes: {HEADER_BYTES} to {FRAME_BYTES} are possible"
            )
        rest, counter, its_tag, payload_bytes = HEADER.unpack_from(frame)
        end = HEADER_BYTES + payload_bytes
        if rest != size - LENGTH.size or end > size:
            raise ProtocolError(f"a frame of {size} bytes says other lengths")
        view = memoryview(frame)
        tagged = b"".join((view[_COUNTER_AT:_COUNTER_END], view[_PAYLOAD_LENGTH_AT:end]))
        if not check_tag(self._key, tagged, its_tag):
            raise AuthError("a frame's tag is not of this link")
        self._check(counter)
        detached = view[end:] if end < size else b""
        messages = decode_payload(tagged, detached, _TAGGED.size)
        self._take(counter)
        return messages

    def _check(self, counter: int) -> None:
        behind = self._highest - counter
        if self._window == 0:
            if behind != -1:
                raise AuthError(
                    f"frame {counter} on a link whose next frame is {self._highest + 1}"
                )
        elif behind > self._window:
            raise AuthError(f"frame {counter} is {behind} behind, more than {self._window}")
        elif behind >= 0 and self._seen >> behind & 1:
            raise AuthError(f"frame {counter} came before")

    def _take(self, counter: int) -> None:
        ahead = counter - self._highest
        if ahead <= 0:
            self._seen |= 1 << -ahead
            return
        self._highest = counter
        if ahead > self._window:  # a peer may jump by 2**63: no bits are made for that
            self._seen = 1
        else:
            self._seen = (self._seen << ahead | 1) & ((1 << self._window + 1) - 1)
