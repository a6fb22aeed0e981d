"""What a replica makes durable, and what it reads back.

The driver applies a turn's records in order, all or none, before anything of that turn leaves.
The records of one stream describe slots by position: the content that stands there and this
replica's state around it. A later record for a position overrides an earlier one.

A store keeps, per stream, in the order in which streams were first recorded:
opening, slots (digest, body, signature), READY with its digests, confirmed position, floor,
and the marks tainted and closed. `StreamState` is how it hands them back.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from quorumcast.core.ids import Incarnation, Opening, Position, Stream


class _Record(msgspec.Struct, frozen=True):
    """The base of all records; compared by value."""


class Opened(_Record, frozen=True):
    """The stream exists here; whoever states something about it serves its opening."""

    stream: Stream
    opening: Opening
    certificate: bytes


class Accepted(_Record, frozen=True):
    """Bodies and votes from `first` on: the one vote per id, stored before it is stated."""

    stream: Stream
    first: int
    digests: bytes
    bodies: tuple[bytes, ...]
    signatures: bytes


class Installed(_Record, frozen=True):
    """Confirmed content that takes its slot, whatever stood there; not a vote."""

    stream: Stream
    first: int
    digests: bytes
    bodies: tuple[bytes, ...]
    signatures: bytes


class MadeReady(_Record, frozen=True):
    """READY up to `position`, with the digests from `first` (just above confirmed) to it.

    Where `digests` is empty they are those of the votes."""

    stream: Stream
    position: int
    chain: bytes
    first: int
    digests: bytes


class Confirmed(_Record, frozen=True):
    """CONFIRMED up to `position`; the bodies up to it are stored."""

    stream: Stream
    position: int
    chain: bytes


class Tainted(_Record, frozen=True):
    """f+1 votes contradict mine: nothing more of this stream is taken from its publisher."""

    stream: Stream


class Closed(_Record, frozen=True):
    """Unconfirmed bodies went by age: votes stay, and this replica casts no more here."""

    stream: Stream


class Floored(_Record, frozen=True):
    """Bodies at or below `position` may go; with `confirmed`, their votes and digests too."""

    stream: Stream
    position: int
    chain: bytes
    confirmed: bool


class Forgotten(_Record, frozen=True):
    """Everything about the stream may go."""

    stream: Stream


class Incarnated(_Record, frozen=True):
    """This replica's incarnations that are valid, the current one last, with their birth times.

    Also the highest incarnation seen of every replica, in manifest order.
    """

    valid: tuple[tuple[Incarnation, float], ...]
    seen: tuple[Incarnation, ...]


# -- a publisher's journal ---------------------------------------------------------------------


class SessionOpened(_Record, frozen=True):
    """A publisher with a journal opened a session on this stream."""

    stream: Stream
    opening: Opening


class Placed(_Record, frozen=True):
    """Publications that were given positions from `first` on; stored before they are sent."""

    stream: Stream
    first: int
    bodies: tuple[bytes, ...]


class SessionConfirmed(_Record, frozen=True):
    """Everything up to `position` is confirmed: its bodies need not be kept."""

    stream: Stream
    position: int
    chain: bytes


class SessionEnded(_Record, frozen=True):
    """Nothing is left to do in this session."""

    stream: Stream


class SessionState(msgspec.Struct, frozen=True):
    """An unfinished session as a journal hands it back: the bodies above the confirmed position.

    >>> from quorumcast.core.ids import Lane
    >>> opening = Opening("probe", 1, ())
    >>> stream = Stream("alerts", "probe", bytes(32), Lane.NORMAL)
    >>> SessionState(stream, opening, Position(0, bytes(32)), (b"a",)).bodies
    (b'a',)
    """

    stream: Stream
    opening: Opening
    confirmed: Position
    bodies: tuple[bytes, ...]


Record: TypeAlias = (
    Opened
    | Accepted
    | Installed
    | MadeReady
    | Confirmed
    | Tainted
    | Closed
    | Floored
    | Forgotten
    | Incarnated
    | SessionOpened
    | Placed
    | SessionConfirmed
    | SessionEnded
)


# -- reading back ------------------------------------------------------------------------------


class ReadStreams(NamedTuple):
    """Every stream from the `after`-th on, at most `limit`: answered by a list of `StreamState`
    without votes and READY digests (`votes` and `ready_digests` empty)."""

    after: int
    limit: int


class ReadStream(NamedTuple):
    """One stream's whole state: answered by a `StreamState`, or None where it is unknown."""

    stream: Stream


class ReadRange(NamedTuple):
    """Slots from `first` to `last`, as many as fit in `max_bytes` of bodies (at least one):
    answered by a `Range`, whose slots may end earlier, and begin above a confirmed floor.

    With `max_bytes` 0 the bodies are not read: all are None, and the range is whole."""

    stream: Stream
    first: int
    last: int
    max_bytes: int


Read: TypeAlias = ReadStreams | ReadStream | ReadRange


class StreamState(msgspec.Struct, frozen=True):
    """A stream as the store has it; `votes` are the digests above `confirmed`, to the head.

    `pledged` are the digests of votes above the head, whose bodies are gone.
    """

    stream: Stream
    opening: Opening
    certificate: bytes
    floor: Position
    floor_confirmed: bool
    confirmed: Position
    votes: bytes
    head: int
    ready: Position
    ready_first: int
    ready_digests: bytes
    tainted: bool
    closed: bool
    signatures: bytes
    """Signatures of `votes`, where the channel is signed."""
    pledged: bytes = b""


class Range(msgspec.Struct, frozen=True):
    """Consecutive slots from `first`, with c(first - 1); a body that is gone is None."""

    first: int
    chain_before: bytes
    digests: bytes
    bodies: tuple[bytes | None, ...]
    signatures: bytes


Loaded: TypeAlias = list[StreamState] | StreamState | Range | None
"""What `loaded(request, result)` brings."""
