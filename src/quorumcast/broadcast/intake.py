"""Publications as they come from their publisher: duplicates, early ones, the limit, votes."""

from __future__ import annotations

from quorumcast.auth.signatures import verify_publication
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.core.evidence import SignedDigest, Weight
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.messages import SIGNATURE_BYTES as S
from quorumcast.core.messages import Publish


class Intake:
    """Takes a publisher's runs into a stream: in order, once, within the limit.

    What arrives before its predecessors waits; what was voted for already changes nothing.
    """

    def __init__(self, stream: ReplicaStream) -> None:
        self._stream = stream
        self._early: dict[int, tuple[bytes, bytes]] = {}

    @property
    def idle(self) -> bool:
        """Whether nothing waits for its predecessors."""
        return not self._early

    def publish(self, message: Publish, limit: int) -> str | None:
        """Take a run, up to position `limit`; returns why something in it is not acceptable."""
        stream = self._stream
        first, bodies, signatures = message.first, message.bodies, message.signatures
        if not stream.context.channel.signed:
            signatures = b""
        elif len(signatures) != len(bodies) * S:
            return "this channel takes signed publications only"
        head = stream.head
        if first <= head:
            self._compare(message)
            known = head + 1 - first
            first, bodies, signatures = head + 1, bodies[known:], signatures[known * S :]
        room = limit + 1 - first
        if room < len(bodies):
            bodies = bodies[: max(0, room)]
        if not bodies:
            return None
        if first > head + 1:
            self._wait(first, bodies, signatures)
            return None
        return self._vote(bodies, signatures[: len(bodies) * S])

    def _vote(self, bodies: tuple[bytes, ...] | list[bytes], signatures: bytes) -> str | None:
        stream = self._stream
        first = stream.head + 1
        digests = stream.digester.digests(first, bodies)
        if stream.context.channel.signed:
            for index in range(len(bodies)):
                if not verify_publication(
                    stream.sign_key,
                    stream.context.cluster.id,
                    stream.stream,
                    first + index,
                    digests[index * D : index * D + D],
                    signatures[index * S : index * S + S],
                ):
                    return f"the signature at position {first + index} is not the publisher's"
        stream.vote(digests, list(bodies), signatures)
        return self._drain()

    def _wait(self, first: int, bodies: tuple[bytes, ...], signatures: bytes) -> None:
        for index, body in enumerate(bodies):
            if first + index in self._early:
                continue
            if not self._stream.context.waits(self._stream.stream.publisher, len(body) + 1):
                break
            self._early[first + index] = (body, signatures[index * S : index * S + S])

    def _drain(self) -> str | None:
        """Vote for what waited and is next now."""
        if not self._early:
            return None
        head = self._stream.head
        for position in [position for position in self._early if position <= head]:
            self._take(position)
        bodies: list[bytes] = []
        signatures: list[bytes] = []
        while head + 1 + len(bodies) in self._early:
            body, signature = self._take(head + 1 + len(bodies))
            bodies.append(body)
            signatures.append(signature)
        return self._vote(bodies, b"".join(signatures)) if bodies else None

    def _take(self, position: int) -> tuple[bytes, bytes]:
        waiting = self._early.pop(position)
        self._stream.context.waits(self._stream.stream.publisher, -len(waiting[0]) - 1)
        return waiting

    def drop(self) -> None:
        """Forget what waits: its publisher sends it again."""
        for position in list(self._early):
            self._take(position)

    def _compare(self, message: Publish) -> None:
        """A publisher that sends an id again with other content lies; note it, change nothing."""
        stream = self._stream
        base = stream.path.base.seq
        for index, body in enumerate(message.bodies):
            position = message.first + index
            mine = stream.path.digest(position)
            if position <= base or mine is None:
                continue
            digest = stream.digester.digest(position, body)
            if digest == mine:
                continue
            accused = frozenset({stream.stream.publisher})
            reason = f"two contents for position {position}"
            at = (position - base - 1) * S
            earlier = SignedDigest(position, mine, bytes(stream.signatures[at : at + S]))
            signature = message.signatures[index * S : index * S + S]
            now = SignedDigest(position, digest, signature)
            if stream.context.channel.signed:
                if verify_publication(
                    stream.sign_key,
                    stream.context.cluster.id,
                    stream.stream,
                    position,
                    digest,
                    signature,
                ):
                    stream.context.accuse(Weight.PROOF, accused, reason, stream, earlier, now)
            else:
                stream.context.accuse(Weight.LOCAL, accused, reason, stream, earlier, now)
            return
