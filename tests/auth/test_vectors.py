"""The bytes of every derivation, written out by hand with other means than the code's own.

A change that makes one of these fail parts new replicas from old ones, and from their own logs.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from blake3 import blake3

from quorumcast.auth.keys import connection_key, pair_key
from quorumcast.auth.signatures import publication_message
from quorumcast.auth.tags import statement_tag, tag
from tests.auth.parties import CLUSTER, OPERATOR, SESSION, STREAM, identity, manifest

KEY = b"k" * 32


def field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def hkdf(secret: bytes, info: bytes) -> bytes:
    """HKDF-SHA256 of 32 bytes without salt, as RFC 5869 has it."""
    extracted = hmac.digest(bytes(32), secret, sha256)
    return hmac.digest(extracted, info + b"\1", sha256)


def test_pair_key() -> None:
    a, b = identity("a"), identity("b")
    low, high = sorted((a.public.agree, b.public.agree))
    info = b"quorumcast pair 1\0" + field(low) + field(high) + field(CLUSTER)
    info += field(b"\0\0\0\0\0\0\0\7") + field(b"a") + field(b"b")
    expected = hkdf(a.shared(b.public.agree), info)
    assert pair_key(a, b.public.agree, CLUSTER, 7, "a", "b") == expected


def test_connection_key() -> None:
    data = b"quorumcast connection 1\0" + b"1" * 32 + b"2" * 32
    assert connection_key(KEY, b"1" * 32, b"2" * 32) == blake3(data, key=KEY).digest()


def test_link_tag() -> None:
    assert tag(KEY, b"frame") == blake3(b"frame", key=KEY).digest()[:16]


def test_statement_tag() -> None:
    data = b"quorumcast statement 1\0" + field(b"chain") + field(CLUSTER)
    data += field(b"\0\0\0\0\0\0\0\7") + field(b"alerts") + field(b"instance") + field(b"d" * 32)
    expected = blake3(data, key=KEY).digest()[:16]
    assert statement_tag(KEY, "chain", CLUSTER, 7, "alerts", b"instance", b"d" * 32) == expected


def test_publication_message() -> None:
    stream = field(CLUSTER) + field(b"alerts") + field(b"probe-7") + field(SESSION) + field(b"\0")
    origin = blake3(b"quorumcast stream 1\0" + stream).digest()
    expected = b"quorumcast signature 1\0" + origin + b"\0\0\0\0\0\0\0\4" + b"d" * 32
    assert publication_message(CLUSTER, STREAM, 4, b"d" * 32) == expected


def test_manifest() -> None:
    made = manifest(1, 0, epoch=7, lab=True)
    operator, (replica,) = OPERATOR.public.sign, made.replicas
    cluster = blake3(b"quorumcast cluster 1\0" + operator + b"\1" + b"n" * 32).digest()
    assert made.cluster_id == cluster
    numbers = b"\0\0\0\0\0\0\0\7" + bytes(8) + b"\0\0\0\0\0\0\0\1"
    first = blake3(b"quorumcast manifest cluster 1\0" + cluster + operator + numbers).digest()
    second = blake3(
        b"quorumcast manifest replica 1\0"
        + bytes(4)
        + field(b"r1")
        + field(replica.keys.sign)
        + field(replica.keys.agree)
        + field(b"")
    ).digest()
    assert made.table_digests() == {"cluster": first, "replica r1": second}
    assert made.digest() == blake3(b"quorumcast manifest 1\0" + first + second).digest()
