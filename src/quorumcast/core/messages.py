"""Every message of the fifo protocols, as a frozen struct.

The sender is never a field: the driver authenticates it and hands it to `step(sender, message)`.
`digests` are 32-byte publication digests, concatenated; `signatures` are the publisher's 64-byte
Ed25519 signatures over stream, position and digest, concatenated, or empty on unsigned channels.
Positions count from 1; a chain digest c(p) commits to all positions up to p.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeAlias

import msgspec

from quorumcast.core.ids import Incarnation, Opening, Stream

DIGEST_BYTES = 32
SIGNATURE_BYTES = 64


class _Message(msgspec.Struct, frozen=True):
    """The base of all messages; compared by value."""


class StatusCode(IntEnum):
    """How a replica answers a publisher.

    >>> StatusCode.BLOCKED.name
    'BLOCKED'
    """

    OK = 0
    WAIT = 1
    """No credit: the publisher's fair share is used up."""
    BLOCKED = 2
    """The stream is 2α beyond the confirmed position."""
    REJECTED = 3
    """Never going to be accepted; the reason says why."""
    CLOSED = 4
    """This replica votes no more in this stream: open a new session."""


# -- replicas and clients, when a link comes up ---------------------------------------------


class Hello(_Message, frozen=True):
    """A replica's own incarnation, and the last one it saw of each replica (manifest order).

    >>> Hello(Incarnation(1, 7), (Incarnation(1, 7),)).incarnation.counter
    1
    """

    incarnation: Incarnation
    known: tuple[Incarnation, ...]


# -- publisher and replica -------------------------------------------------------------------


class Open(_Message, frozen=True):
    """A publisher opens a stream; `certificate` is its operator-signed certificate."""

    stream: Stream
    opening: Opening
    certificate: bytes


class Release(_Message, frozen=True):
    """A publisher that found no quorum gives its place up: drop the stream if it is empty."""

    stream: Stream


class Publish(_Message, frozen=True):
    """A run of consecutive publications, from position `first`."""

    stream: Stream
    first: int
    bodies: tuple[bytes, ...]
    signatures: bytes = b""


class Status(_Message, frozen=True):
    """A replica's answer about a stream: what it takes, up to where, and why not."""

    stream: Stream
    code: StatusCode
    position: int
    reason: str = ""


class Credit(_Message, frozen=True):
    """Send me positions up to `through`; a replica to a publisher, a subscriber to a replica."""

    stream: Stream
    through: int


class HeldUpTo(_Message, frozen=True):
    """HELD as a publisher sees it: every position up to `position` is voted for and stored."""

    stream: Stream
    position: int
    chain: bytes


# -- statements, replica to replica and to subscribers ---------------------------------------


class Held(_Message, frozen=True):
    """These bodies are here at the channel's level, and these are my votes."""

    stream: Stream
    first: int
    digests: bytes
    signatures: bytes = b""


class ReadyUpTo(_Message, frozen=True):
    """READY: Q replicas hold, or f+1 are READY for, everything up to `position`."""

    stream: Stream
    position: int
    chain: bytes


class ConfirmedUpTo(_Message, frozen=True):
    """CONFIRMED: nothing else can ever stand at or below `position`, and the bodies are here."""

    stream: Stream
    position: int
    chain: bytes


class FloorAt(_Message, frozen=True):
    """Nothing at or below `position` can be had from me any more.

    With `confirmed` it counts as CONFIRMED there; without, `chain` means nothing and is zero.
    """

    stream: Stream
    position: int
    chain: bytes
    confirmed: bool


# -- pulls -------------------------------------------------------------------------------------


class AskOpening(_Message, frozen=True):
    """Which opening is this stream's session the hash of?"""

    stream: Stream


class OpeningOf(_Message, frozen=True):
    """The answer to `AskOpening`; its hash proves it."""

    stream: Stream
    opening: Opening
    certificate: bytes


class AskVotes(_Message, frozen=True):
    """State all you have to state about this stream from position `first` on."""

    stream: Stream
    first: int


class AskConfirmed(_Message, frozen=True):
    """State CONFIRMED for exactly this position, if you have it."""

    stream: Stream
    position: int


class AskDigests(_Message, frozen=True):
    """The digests under your READY or CONFIRMED, from `first` to `last`."""

    stream: Stream
    first: int
    last: int


class Digests(_Message, frozen=True):
    """The answer to `AskDigests`: a claim, worth what a chain digest makes of it."""

    stream: Stream
    first: int
    digests: bytes


class AskBodies(_Message, frozen=True):
    """The bodies with these digests, at consecutive positions from `first`."""

    stream: Stream
    first: int
    digests: bytes


class Bodies(_Message, frozen=True):
    """Bodies at consecutive positions; whoever takes them recomputes the digest."""

    stream: Stream
    first: int
    bodies: tuple[bytes, ...]
    signatures: bytes = b""


class AskHeads(_Message, frozen=True):
    """Which streams of this channel changed after your counter `since`?"""

    channel: str
    since: int


class Head(NamedTuple):
    """One stream in `Heads`: what is gone, what is voted for, what is confirmed.

    >>> Head(Stream("c", "p", bytes(32), 0), 0, 12, 10).last
    12
    """

    stream: Stream
    floor: int
    last: int
    confirmed: int


class Heads(_Message, frozen=True):
    """Streams in the order in which they last changed, up to the sender's `counter`."""

    channel: str
    counter: int
    heads: tuple[Head, ...]
    more: bool


# -- subscriptions -----------------------------------------------------------------------------


class Subscribe(_Message, frozen=True):
    """Send me what matches; the highest `version` is in force.

    Streams that this replica first heard of after its counter `begin` are followed from
    position 1 with `window` positions of credit; older ones only where `Follow` names them.
    With `blocks` publishers get no more credit than this subscriber gives: for trusted ones alone.
    """

    channel: str
    version: int
    patterns: tuple[str, ...]
    begin: int
    window: int
    blocks: bool = False


class Follow(_Message, frozen=True):
    """Send me this stream from position `first`, up to `through`.

    A replica says it to a subscriber whose credit stops a publisher: this is what it has of you.
    """

    stream: Stream
    version: int
    first: int
    through: int


class Unsubscribe(_Message, frozen=True):
    """Send me nothing more of this channel; overrides every version up to this one."""

    channel: str
    version: int


class SubscribeStatus(_Message, frozen=True):
    """A replica's answer to a subscription: in force, or refused with a reason."""

    channel: str
    version: int
    accepted: bool
    reason: str = ""


# -- beside the protocol: between processes, not machines ---------------------------------------


class CharterAt(_Message, frozen=True):
    """This version of the operator's channels and revoked names is the newest that I know.

    `digest` is of its content: two contents of one version differ in it.
    """

    version: int
    digest: bytes


class CharterIs(_Message, frozen=True):
    """The charter that I announced, under the operator's signature, for one who knows an older."""

    packed: bytes


class AskReport(_Message, frozen=True):
    """How are you? From the operator alone.

    >>> AskReport() == AskReport()
    True
    """


class Report(_Message, frozen=True):
    """A replica's own statement about itself, as JSON."""

    text: bytes


ASIDE: frozenset[type] = frozenset((CharterAt, CharterIs, AskReport, Report))
"""What is not for machines: drivers hand it to whoever speaks for the process."""


Message: TypeAlias = (
    Hello
    | Open
    | Release
    | Publish
    | Status
    | Credit
    | HeldUpTo
    | Held
    | ReadyUpTo
    | ConfirmedUpTo
    | FloorAt
    | AskOpening
    | OpeningOf
    | AskVotes
    | AskConfirmed
    | AskDigests
    | Digests
    | AskBodies
    | Bodies
    | AskHeads
    | Heads
    | Subscribe
    | Follow
    | Unsubscribe
    | SubscribeStatus
    | CharterAt
    | CharterIs
    | AskReport
    | Report
)
"""Anything that a link carries; machines reject what is aside."""
