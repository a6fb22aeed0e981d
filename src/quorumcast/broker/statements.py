"""Statements of peers about streams: who may make them, and which contradict each other."""

from __future__ import annotations

from quorumcast.auth.signatures import verify_publication
from quorumcast.broadcast.context import Context
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.broker.shelf import Shelf
from quorumcast.core.evidence import SignedDigest, Weight
from quorumcast.core.ids import Party, Position
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import (
    ConfirmedUpTo,
    FloorAt,
    Held,
    OpeningOf,
    ReadyUpTo,
)


class Statements:
    """Hands peers' statements to their stream and reports contradictions.

    What contradicts: two HELD of one sender on one position above the confirmed one; two READY, or
    two CONFIRMED, of one sender for one position with different chains. HELD against the sender's
    own later READY or CONFIRMED is legal: these do not depend on what it voted.
    """

    def __init__(self, context: Context, shelf: Shelf) -> None:
        self._context = context
        self._channel = context.channel
        self._shelf = shelf

    def held(self, active: ReplicaStream, sender: Party, message: Held) -> None:
        """HELD from a peer."""
        if self._channel.signed and active.sign_key and not self._signed(active, sender, message):
            return
        clash = active.held(sender, message.first, message.digests)
        if clash is None:
            return
        run = active.tally.runs[sender]
        before = Held(message.stream, clash, run.digest(clash) or b"")
        at = (clash - message.first) * D
        after = Held(message.stream, clash, message.digests[at : at + D])
        self._context.accuse(
            Weight.LOCAL,
            frozenset({sender}),
            f"{sender} voted twice at position {clash}",
            active,
            before,
            after,
        )

    def _signed(self, active: ReplicaStream, sender: Party, message: Held) -> bool:
        """Whether a peer forwards the publisher's signature for whatever is not my own vote.

        That tells a lying replica from its publisher: two valid signatures for one position are a
        proof against the publisher, a missing one convinces me that the replica lies.
        """
        base, cluster = active.path.base.seq, self._context.cluster.id
        for index in range(len(message.digests) // D):
            position = message.first + index
            digest = message.digests[index * D : index * D + D]
            mine = active.path.digest(position)
            if position <= base or digest == mine:
                continue
            signature = message.signatures[index * S : index * S + S]
            at = (position - base - 1) * S
            earlier = None
            if mine is not None:
                earlier = SignedDigest(position, mine, bytes(active.signatures[at : at + S]))
            if not verify_publication(
                active.sign_key, cluster, active.stream, position, digest, signature
            ):
                reason = f"{sender} states position {position} without the publisher's signature"
                self._context.accuse(
                    Weight.LOCAL, frozenset({sender}), reason, active, earlier, message
                )
                return False
            if earlier is not None:
                theirs = SignedDigest(position, digest, signature)
                accused = frozenset({active.stream.publisher})
                reason = f"the publisher signed two contents for position {position}"
                self._context.accuse(Weight.PROOF, accused, reason, active, earlier, theirs)
                return True
        return True

    def ready(self, active: ReplicaStream, sender: Party, message: ReadyUpTo) -> None:
        """READY from a peer."""
        statement = Position(message.position, message.chain)
        earlier = active.ready_at(sender, statement)
        if earlier is not None:
            self._two_chains(active, sender, ReadyUpTo(message.stream, *earlier), message)

    def confirmed(self, active: ReplicaStream, sender: Party, message: ConfirmedUpTo) -> None:
        """CONFIRMED from a peer."""
        statement = Position(message.position, message.chain)
        earlier = active.confirmed_at(sender, statement)
        if earlier is not None:
            self._two_chains(active, sender, ConfirmedUpTo(message.stream, *earlier), message)

    def floor(self, active: ReplicaStream, sender: Party, message: FloorAt) -> None:
        """A peer's floor: a confirmed one counts as CONFIRMED there."""
        if message.confirmed:
            self.confirmed(
                active, sender, ConfirmedUpTo(message.stream, message.position, message.chain)
            )
            active.repair.floors.floor(sender, Position(message.position, message.chain))

    def _two_chains(
        self,
        active: ReplicaStream,
        sender: Party,
        before: ReadyUpTo | ConfirmedUpTo,
        after: ReadyUpTo | ConfirmedUpTo,
    ) -> None:
        name = "READY" if isinstance(after, ReadyUpTo) else "CONFIRMED"
        reason = f"{sender} states {name} for two contents up to position {after.position}"
        self._context.accuse(Weight.LOCAL, frozenset({sender}), reason, active, before, after)

    def opening(self, active: ReplicaStream, sender: Party, message: OpeningOf) -> None:
        """The opening of a stream that peers spoke of; its hash proves it."""
        if active.opening is not None:
            return
        opening, stream = message.opening, message.stream
        channel = self._context.channel
        if channel.signed and not channel.admits_publisher(stream.publisher):
            # One signature is enough to adopt, so nobody else vouches for the right to publish.
            self._context.out.reject(sender, f"{stream.publisher} may not publish here")
            return
        key = self._shelf.sign_key(stream, message.certificate)
        if key is None:
            self._context.out.reject(sender, "the opening's certificate does not serve")
            return
        if opening.publisher != stream.publisher or not self._shelf.names(stream, opening, key):
            self._context.out.reject(sender, "the opening is not the session's")
            return
        active.open(opening, message.certificate, key)
        active.repair.run()
        active.touch()
