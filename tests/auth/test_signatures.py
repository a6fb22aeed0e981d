"""Publishers' signatures, and proofs that anybody can check, or must throw out."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.certificate import check, issue
from quorumcast.auth.identity import verify
from quorumcast.auth.signatures import (
    check_proof,
    publication_message,
    sign_publication,
    verify_publication,
)
from quorumcast.auth.tags import Statement, statement_tag
from quorumcast.core.errors import AuthError
from quorumcast.core.evidence import Evidence, SignedDigest, Weight
from quorumcast.core.ids import Cluster, Lane, Stream
from quorumcast.core.messages import Held
from tests.auth.parties import OPERATOR, PROBE, SESSION, STREAM, identity, manifest

CLUSTER = manifest().cluster()
ID = CLUSTER.id
A, B = b"A" * 32, b"B" * 32
CERTIFICATE = issue(OPERATOR, ID, "probe-7", PROBE.public)

OTHER_STREAMS = (
    STREAM._replace(channel="alert"),
    STREAM._replace(publisher="probe-8"),
    STREAM._replace(session=b"t" * 32),
    STREAM._replace(lane=Lane.URGENT),
)

streams = st.builds(
    Stream,
    st.text("ab", max_size=2),
    st.text("ab", max_size=2),
    st.just(SESSION),
    st.sampled_from(Lane),
)
digests = st.sampled_from((A, B))
messages = st.tuples(st.sampled_from((ID, b"d" * 32)), streams, st.integers(1, 3), digests)


def signed(
    digest: bytes, position: int = 4, stream: Stream = STREAM, cluster: bytes = ID
) -> SignedDigest:
    signature = sign_publication(PROBE, cluster, stream, position, digest)
    return SignedDigest(position, digest, signature)


def proof(first: object, second: object, **changes: object) -> Evidence:
    evidence = Evidence(
        Weight.PROOF, frozenset({"probe-7"}), "two digests", STREAM, None, None, CERTIFICATE
    )
    return msgspec.structs.replace(evidence, first=first, second=second, **changes)


GOOD = proof(signed(A), signed(B))


@given(messages, messages)
def test_different_publications_are_signed_as_different_bytes(
    one: tuple[bytes, Stream, int, bytes], other: tuple[bytes, Stream, int, bytes]
) -> None:
    assert (publication_message(*one) == publication_message(*other)) == (one == other)


def test_a_signature_is_for_one_digest_at_one_position_of_one_stream() -> None:
    key, signature = PROBE.public.sign, signed(A).signature
    assert len(signature) == 64
    assert verify_publication(key, ID, STREAM, 4, A, signature)
    assert not verify_publication(identity("x").public.sign, ID, STREAM, 4, A, signature)
    assert not verify_publication(key, b"d" * 32, STREAM, 4, A, signature)
    assert not verify_publication(key, ID, STREAM, 5, A, signature)
    assert not verify_publication(key, ID, STREAM, 4, B, signature)
    for other in OTHER_STREAMS:
        assert not verify_publication(key, ID, other, 4, A, signature)


@pytest.mark.parametrize("position", [-1, 0, 2**64, 2**200])
def test_positions_that_do_not_exist_give_false(position: int) -> None:
    assert not verify_publication(PROBE.public.sign, ID, STREAM, position, A, bytes(64))


@pytest.mark.parametrize(
    "stream", [STREAM._replace(channel="\ud800"), STREAM._replace(publisher="\udfff")]
)
def test_streams_that_are_no_text_give_false(stream: Stream) -> None:
    assert not verify_publication(PROBE.public.sign, ID, stream, 1, A, bytes(64))


@pytest.mark.parametrize("lane", [2, 255, 256, -1])
def test_lanes_that_do_not_exist_give_false(lane: int) -> None:
    stream = STREAM._replace(lane=lane)  # type: ignore[arg-type]
    assert not verify_publication(PROBE.public.sign, ID, stream, 1, A, bytes(64))


@pytest.mark.parametrize("digest", [b"", b"A" * 31, b"A" * 33])
def test_digests_of_another_length_give_false(digest: bytes) -> None:
    message = publication_message(ID, STREAM, 4, digest)
    assert not verify_publication(PROBE.public.sign, ID, STREAM, 4, digest, PROBE.sign(message))


def test_the_highest_position_can_be_signed() -> None:
    top = signed(A, position=2**64 - 1)
    assert verify_publication(PROBE.public.sign, ID, STREAM, top.position, A, top.signature)


def test_a_proof_convinces_anybody_with_the_operators_key() -> None:
    assert check_proof(GOOD, CLUSTER)
    assert check_proof(proof(signed(B), signed(A)), CLUSTER)
    later = msgspec.structs.replace(CLUSTER, epoch=9, replicas=("x",), faults=0)
    assert check_proof(GOOD, later)  # a proof outlives the epoch


def bad_signature(made: SignedDigest) -> SignedDigest:
    return msgspec.structs.replace(made, signature=made.signature[:-1] + b"\0")


def moved(made: SignedDigest, position: int) -> SignedDigest:
    return msgspec.structs.replace(made, position=position)


def foreign(name: str, by: str, cluster: bytes = ID) -> bytes:
    return issue(identity(by), cluster, name, PROBE.public)


NO_PROOFS: dict[str, Callable[[], Evidence]] = {
    "one digest twice": lambda: proof(signed(A), signed(A)),
    "two positions": lambda: proof(signed(A, 4), signed(B, 5)),
    "two positions, one of them relabelled": lambda: proof(signed(A, 4), moved(signed(B, 5), 4)),
    "position 0": lambda: proof(signed(A, 0), signed(B, 0)),
    "first signature bad": lambda: proof(bad_signature(signed(A)), signed(B)),
    "second signature bad": lambda: proof(signed(A), bad_signature(signed(B))),
    "no signature": lambda: proof(signed(A), SignedDigest(4, B, b"")),
    "digests of another length": lambda: proof(signed(A[:31]), signed(B[:31])),
    "another cluster": lambda: proof(signed(A, cluster=b"d" * 32), signed(B, cluster=b"d" * 32)),
    "no certificate": lambda: proof(signed(A), signed(B), certificate=b""),
    "a damaged certificate": lambda: proof(
        signed(A), signed(B), certificate=CERTIFICATE[:-1] + bytes((CERTIFICATE[-1] ^ 1,))
    ),
    "signed by another operator": lambda: proof(
        signed(A), signed(B), certificate=foreign("probe-7", "another operator")
    ),
    "a certificate of another cluster": lambda: proof(
        signed(A), signed(B), certificate=foreign("probe-7", "operator", b"d" * 32)
    ),
    "a certificate of another name": lambda: proof(
        signed(A), signed(B), certificate=foreign("probe-8", "operator")
    ),
    "another's key under the name": lambda: proof(
        signed(A), signed(B), certificate=issue(OPERATOR, ID, "probe-7", identity("x").public)
    ),
    "blames nobody": lambda: proof(signed(A), signed(B), parties=frozenset()),
    "blames a replica": lambda: proof(signed(A), signed(B), parties=frozenset({"r1"})),
    "blames a replica too": lambda: proof(
        signed(A), signed(B), parties=frozenset({"probe-7", "r1"})
    ),
    "no stream": lambda: proof(signed(A), signed(B), stream=None),
    "half a proof": lambda: proof(signed(A), None),
    "the other half": lambda: proof(None, signed(B)),
    "statements": lambda: proof(Held(STREAM, 4, A), Held(STREAM, 4, B)),
    "local": lambda: proof(signed(A), signed(B), weight=Weight.LOCAL),
    "suspicion": lambda: proof(signed(A), signed(B), weight=Weight.SUSPICION),
}


@pytest.mark.parametrize("what", NO_PROOFS)
def test_what_is_no_proof(what: str) -> None:
    assert not check_proof(NO_PROOFS[what](), CLUSTER)


@pytest.mark.parametrize("stream", OTHER_STREAMS)
def test_a_proof_for_another_stream(stream: Stream) -> None:
    assert not check_proof(proof(signed(A), signed(B), stream=stream), CLUSTER)
    assert not check_proof(proof(signed(A), signed(B, stream=stream)), CLUSTER)


def test_two_streams_of_one_publisher_make_no_proof() -> None:
    """The same position in two sessions holds two digests, rightly."""
    other = STREAM._replace(session=b"t" * 32)
    assert not check_proof(proof(signed(A), signed(B, stream=other)), CLUSTER)
    assert not check_proof(proof(signed(A), signed(B, stream=other), stream=other), CLUSTER)


def test_a_proof_under_another_operator_or_cluster() -> None:
    others: list[Cluster] = [
        msgspec.structs.replace(CLUSTER, operator=identity("x").public.sign),
        msgspec.structs.replace(CLUSTER, operator=bytes(32)),
        msgspec.structs.replace(CLUSTER, operator=b""),
        msgspec.structs.replace(CLUSTER, id=b"d" * 32),
    ]
    assert not any(check_proof(GOOD, other) for other in others)


def test_a_signature_counts_in_its_own_domain_alone() -> None:
    """What a publisher signed as a publication is no certificate, and the other way round."""
    signature = signed(A).signature
    message = publication_message(ID, STREAM, 4, A)
    assert verify(PROBE.public.sign, message, signature)
    assert message.startswith(b"quorumcast signature 1\0")
    body = message.removeprefix(b"quorumcast signature 1\0")
    for domain in (b"", b"quorumcast certificate 1\0", b"quorumcast statement 1\0"):
        assert not verify(PROBE.public.sign, domain + body, signature)
    with pytest.raises(AuthError):
        check(message + signature, PROBE.public.sign, ID)


def test_tags_prove_nothing_to_others() -> None:
    """Whoever can check a tag could have made it: two of them, however good, are no proof."""
    statement = Statement("vote", ID, 1, "alerts", b"4", A)
    tags = [statement_tag(b"k" * 32, *statement._replace(digest=each)) for each in (A, B)]
    shown = [SignedDigest(4, digest, tag * 4) for digest, tag in zip((A, B), tags, strict=True)]
    assert not check_proof(proof(*shown), CLUSTER)
