"""Publishers' signatures, and the proofs that two of them make.

A digest binds its stream and position by a hash alone: who sees two digests of one signer cannot
tell whether they contradict. So the signature is over stream and position in the open as well,
and anybody who knows the operator's key can check a proof without a single body:

- message = "quorumcast signature 1", c(0) of cluster and stream, position, digest
"""

from __future__ import annotations

from quorumcast.auth.certificate import check
from quorumcast.auth.digests import origin
from quorumcast.auth.identity import Identity, verify
from quorumcast.core.errors import AuthError
from quorumcast.core.evidence import Evidence, SignedDigest, Weight
from quorumcast.core.ids import Cluster, Lane, Stream
from quorumcast.core.messages import DIGEST_BYTES

_DOMAIN = b"quorumcast signature 1\0"
_POSITIONS = 2**64


def publication_message(cluster: bytes, stream: Stream, position: int, digest: bytes) -> bytes:
    """What a publisher signs: that this digest, and no other, stands at that position.

    >>> stream = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)
    >>> one = publication_message(bytes(32), stream, 1, bytes(32))
    >>> one == publication_message(bytes(32), stream, 2, bytes(32))
    False
    """
    return _DOMAIN + origin(cluster, stream) + position.to_bytes(8, "big") + digest


def sign_publication(
    identity: Identity, cluster: bytes, stream: Stream, position: int, digest: bytes
) -> bytes:
    """The publisher's signature of 64 bytes for one publication.

    >>> probe = Identity.from_seeds(b"s" * 32, b"a" * 32)
    >>> stream = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)
    >>> signature = sign_publication(probe, bytes(32), stream, 1, bytes(32))
    >>> verify_publication(probe.public.sign, bytes(32), stream, 1, bytes(32), signature)
    True
    """
    return identity.sign(publication_message(cluster, stream, position, digest))


def verify_publication(
    sign_key: bytes,
    cluster: bytes,
    stream: Stream,
    position: int,
    digest: bytes,
    signature: bytes,
) -> bool:
    """Whether the owner of `sign_key` put this digest at that position of the stream.

    >>> stream = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)
    >>> verify_publication(bytes(32), bytes(32), stream, 1, bytes(32), bytes(64))
    False
    """
    if not _well_formed(stream, position, digest):
        return False
    return verify(sign_key, publication_message(cluster, stream, position, digest), signature)


def check_proof(evidence: Evidence, cluster: Cluster) -> bool:
    """Whether this evidence convicts its stream's publisher, for anybody who asks.

    It does if it carries two signatures of that publisher, under the key that the operator
    certified, for two digests at one position of one stream. Evidence comes from anywhere:
    whatever else is in it gives False.

    >>> nothing = Evidence(Weight.PROOF, frozenset({"probe-7"}), "", None, None, None)
    >>> check_proof(nothing, Cluster(bytes(32), 1, ("r1",), 0, bytes(32)))
    False
    """
    stream, first, second = evidence.stream, evidence.first, evidence.second
    if evidence.weight is not Weight.PROOF or stream is None:
        return False
    if not isinstance(first, SignedDigest) or not isinstance(second, SignedDigest):
        return False
    if first.position != second.position or first.digest == second.digest:
        return False
    try:
        certificate = check(evidence.certificate, cluster.operator, cluster.id)
    except AuthError:
        return False
    if certificate.name != stream.publisher or evidence.parties != frozenset((stream.publisher,)):
        return False
    key = certificate.keys.sign
    return all(
        verify_publication(key, cluster.id, stream, each.position, each.digest, each.signature)
        for each in (first, second)
    )


def _well_formed(stream: Stream, position: int, digest: bytes) -> bool:
    try:
        stream.channel.encode()
        stream.publisher.encode()
        Lane(stream.lane)
    except ValueError:  # lone surrogates, or no lane
        return False
    return 1 <= position < _POSITIONS and len(digest) == DIGEST_BYTES
