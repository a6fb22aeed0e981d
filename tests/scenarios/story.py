"""One stream as a scenario tells it: a letter is a body, a word is a run of positions.

`story.held("AAB")` is HELD for A, A and B at positions 1 to 3; `story.ready("AAB")` is READY for
position 3 with the chain digest of just that content.
"""

from __future__ import annotations

from copy import copy

from blake3 import blake3

from quorumcast.auth.certificate import issue
from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.auth.identity import Identity
from quorumcast.auth.signatures import sign_publication
from quorumcast.core.ids import Cluster, Incarnation, Lane, Opening, Party, Position, Stream
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskOpening,
    AskVotes,
    Bodies,
    ConfirmedUpTo,
    Digests,
    FloorAt,
    Follow,
    Head,
    Held,
    HeldUpTo,
    Open,
    OpeningOf,
    Publish,
    ReadyUpTo,
)

CHANNEL = "news"


def identity(name: str) -> Identity:
    """One identity per name, the same in every run."""
    seeds = blake3(name.encode()).digest(length=64)
    return Identity.from_seeds(seeds[:32], seeds[32:])


OPERATOR = identity("operator")


def certificate(cluster: Cluster, name: Party) -> bytes:
    """The operator's certificate of a name."""
    return issue(OPERATOR, cluster.id, name, identity(name).public)


def bodies(text: str) -> tuple[bytes, ...]:
    """One body per letter."""
    return tuple(letter.encode() for letter in text)


class Story:
    """A stream, and every message that somebody may say about it."""

    def __init__(
        self,
        cluster: Cluster,
        opening: Opening,
        *,
        channel: str = CHANNEL,
        lane: Lane = Lane.NORMAL,
        signed: bool = False,
    ) -> None:
        self.cluster = cluster
        self.opening = opening
        self.certificate = certificate(cluster, opening.publisher) if signed else b""
        self._signer = identity(opening.publisher) if signed else None
        key = self._signer.public.sign if self._signer is not None else b""
        session = session_of(cluster.id, cluster.epoch, opening, key)
        self.stream = Stream(channel, opening.publisher, session, lane)
        self._digester = Digester(cluster.id, self.stream)

    def unsigned(self) -> Story:
        """The same stream, told by somebody without the publisher's key."""
        forger = copy(self)
        forger._signer = None
        return forger

    # -- what it consists of -------------------------------------------------------------------

    def digests(self, text: str, first: int = 1) -> bytes:
        """The digests of these contents from position `first` on."""
        return self._digester.digests(first, bodies(text))

    def position(self, text: str) -> Position:
        """The end of this content, counted from position 1."""
        chains = chains_after(self._digester.origin, self.digests(text))
        return Position(len(text), chains[-1] if chains else self._digester.origin)

    def signatures(self, text: str, first: int = 1) -> bytes:
        """The publisher's signatures of these contents; none on an unsigned channel."""
        if self._signer is None:
            return b""
        made = [
            sign_publication(
                self._signer, self.cluster.id, self.stream, seq, self.digests(letter, seq)
            )
            for seq, letter in enumerate(text, first)
        ]
        return b"".join(made)

    # -- the publisher -------------------------------------------------------------------------

    def open(self) -> Open:
        return Open(self.stream, self.opening, self.certificate)

    def publish(self, text: str, first: int = 1) -> Publish:
        return Publish(self.stream, first, bodies(text), self.signatures(text, first))

    # -- replicas ------------------------------------------------------------------------------

    def held(self, text: str, first: int = 1) -> Held:
        return Held(self.stream, first, self.digests(text, first), self.signatures(text, first))

    def held_up_to(self, text: str) -> HeldUpTo:
        return HeldUpTo(self.stream, *self.position(text))

    def ready(self, text: str) -> ReadyUpTo:
        return ReadyUpTo(self.stream, *self.position(text))

    def confirmed(self, text: str) -> ConfirmedUpTo:
        return ConfirmedUpTo(self.stream, *self.position(text))

    def floor(self, text: str) -> FloorAt:
        """A confirmed floor at the end of this content."""
        return FloorAt(self.stream, *self.position(text), confirmed=True)

    def open_floor(self, position: int) -> FloorAt:
        """A floor over unconfirmed positions."""
        return FloorAt(self.stream, position, bytes(32), confirmed=False)

    def bodies(self, text: str, first: int = 1) -> Bodies:
        return Bodies(self.stream, first, bodies(text), self.signatures(text, first))

    def digests_under(self, text: str, first: int = 1) -> Digests:
        return Digests(self.stream, first, self.digests(text, first))

    def opening_of(self) -> OpeningOf:
        return OpeningOf(self.stream, self.opening, self.certificate)

    def head(self, last: int, confirmed: int = 0, floor: int = 0) -> Head:
        return Head(self.stream, floor, last, confirmed)

    # -- questions -----------------------------------------------------------------------------

    def ask_opening(self) -> AskOpening:
        return AskOpening(self.stream)

    def ask_votes(self, first: int = 1) -> AskVotes:
        return AskVotes(self.stream, first)

    def ask_confirmed(self, position: int) -> AskConfirmed:
        return AskConfirmed(self.stream, position)

    def ask_digests(self, first: int, last: int) -> AskDigests:
        return AskDigests(self.stream, first, last)

    def ask_bodies(self, text: str, first: int = 1) -> AskBodies:
        return AskBodies(self.stream, first, self.digests(text, first))

    def follow(self, first: int, through: int, version: int = 1) -> Follow:
        return Follow(self.stream, version, first, through)


def opening(publisher: Party, nonce: int, lives: list[Incarnation]) -> Opening:
    """An opening that names these incarnations."""
    return Opening(publisher, nonce, tuple(lives))
