"""What a publication's digest, a stream's chain and a session's name are, byte by byte.

Every input to the hash begins with a domain string of its own and has fields of fixed length
or with their length before them, so that two different things never have one input:

- c(0)      = H("quorumcast stream 1",  cluster, channel, publisher, session, lane)
- digest    = H("quorumcast publication 1", c(0), seq, length, body, or its hash if large)
- c(p)      = H("quorumcast chain 1", c(p-1), digest of p)
- session   = H("quorumcast session 1", cluster, epoch, publisher, key, nonce, incarnations)

The key is the publisher's signing key on a signed channel, and empty elsewhere. c(0) binds cluster,
channel and stream, so the digest need not repeat them.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from blake3 import blake3

from quorumcast.core.body import LargeBody
from quorumcast.core.ids import Opening, Stream
from quorumcast.core.limits import INLINE_BODY_BYTES

_STREAM = b"quorumcast stream 1\0"
_PUBLICATION = b"quorumcast publication 1"
_CHAIN = b"quorumcast chain 1\0"
_SESSION = b"quorumcast session 1"

_SEQ_LENGTH = Struct(">QQ").pack
_EPOCH = Struct(">Q").pack
_OPENING = Struct(">QI").pack
_INCARNATION = Struct(">QQ").pack


def lengths(*fields: bytes) -> bytes:
    """Fields, each with its length before it: different fields never give equal bytes.

    >>> lengths(b"ab", b"c") == lengths(b"a", b"bc")
    False
    """
    return b"".join([len(field).to_bytes(4, "big") + field for field in fields])


def origin(cluster: bytes, stream: Stream) -> bytes:
    """c(0): where a stream's chain begins.

    >>> from quorumcast.core.ids import Lane
    >>> len(origin(bytes(32), Stream("alerts", "probe", bytes(32), Lane.NORMAL)))
    32
    """
    channel, publisher = stream.channel.encode(), stream.publisher.encode()
    fields = lengths(cluster, channel, publisher, stream.session, bytes((stream.lane,)))
    return blake3(_STREAM + fields).digest()


def session_of(cluster: bytes, epoch: int, opening: Opening, key: bytes = b"") -> bytes:
    """The session that an opening names; on a signed channel it binds the publisher's `key`.

    A session is of one epoch: the votes of one set of replicas never count in another's. A
    publisher whose key was renewed has to open a new one, so that nobody takes the one key's
    signatures for forgeries of the other's.

    >>> one, other = Opening("p", 1, ()), Opening("p", 2, ())
    >>> session_of(bytes(32), 1, one) == session_of(bytes(32), 1, other)
    False
    """
    head = lengths(cluster, _EPOCH(epoch), opening.publisher.encode(), key)
    named = _OPENING(opening.nonce, len(opening.incarnations))
    tail = b"".join([_INCARNATION(*each) for each in opening.incarnations])
    return blake3(_SESSION + head + named + tail).digest()


def body_hash(body: bytes) -> bytes:
    """A large body's BLAKE3-256; one that was checked on arrival carries it.

    >>> body_hash(LargeBody.of(b"x" * 2000, b"h" * 32)) == b"h" * 32
    True
    """
    return body.hash if type(body) is LargeBody else blake3(body).digest()


class Digester:
    """Computes the digests of one stream's publications.

    >>> from quorumcast.core.ids import Lane
    >>> digester = Digester(bytes(32), Stream("alerts", "probe", bytes(32), Lane.NORMAL))
    >>> digester.digest(1, b"a") == digester.digest(2, b"a")
    False
    """

    __slots__ = ("_prefix", "origin")

    def __init__(self, cluster: bytes, stream: Stream) -> None:
        self.origin = origin(cluster, stream)
        self._prefix = _PUBLICATION + self.origin

    def digest(self, seq: int, body: bytes) -> bytes:
        """The digest of the publication with this body at this position."""
        size = len(body)
        if size > INLINE_BODY_BYTES:
            body = body_hash(body)
        return blake3(self._prefix + _SEQ_LENGTH(seq, size) + body).digest()

    def digests(self, first: int, bodies: Iterable[bytes]) -> bytes:
        """The digests of consecutive publications, concatenated."""
        digest = self.digest
        return b"".join([digest(seq, body) for seq, body in enumerate(bodies, first)])


def chain_after(chain: bytes, digest: bytes) -> bytes:
    """c(p) from c(p-1) and the digest of p.

    >>> chain_after(bytes(32), bytes(32)) == bytes(32)
    False
    """
    return blake3(_CHAIN + chain + digest).digest()


def chains_after(chain: bytes, digests: bytes) -> list[bytes]:
    """c at every position of a run of concatenated digests.

    >>> len(chains_after(bytes(32), bytes(64)))
    2
    """
    chains: list[bytes] = []
    for start in range(0, len(digests), 32):
        chain = blake3(_CHAIN + chain + digests[start : start + 32]).digest()
        chains.append(chain)
    return chains
