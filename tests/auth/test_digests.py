"""Digests, chains and sessions: different things never share an input."""

from __future__ import annotations

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth import certificate, digests, keys, manifest, signatures, tags
from quorumcast.auth.digests import (
    Digester,
    body_hash,
    chain_after,
    chains_after,
    lengths,
    origin,
    session_of,
)
from quorumcast.core.body import LargeBody
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.limits import INLINE_BODY_BYTES
from tests.auth.parties import CLUSTER, STREAM

names = st.text("ab\0é", max_size=3)
streams = st.builds(Stream, names, names, st.binary(max_size=2), st.sampled_from(Lane))
fields = st.lists(st.binary(max_size=5), max_size=4)
numbers = st.integers(0, 3)
openings = st.builds(
    Opening,
    names,
    numbers,
    st.lists(st.builds(Incarnation, numbers, numbers), max_size=3).map(tuple),
)


@given(fields, fields)
def test_fields_with_their_lengths_never_run_together(one: list[bytes], other: list[bytes]) -> None:
    assert (lengths(*one) == lengths(*other)) == (one == other)


@given(st.tuples(st.binary(max_size=2), streams), st.tuples(st.binary(max_size=2), streams))
def test_an_origin_names_one_stream_of_one_cluster(
    one: tuple[bytes, Stream], other: tuple[bytes, Stream]
) -> None:
    assert (origin(*one) == origin(*other)) == (one == other)


sessions = st.tuples(st.binary(max_size=2), st.integers(0, 2), openings, st.binary(max_size=2))


@given(sessions, sessions)
def test_a_session_names_one_opening_of_one_epoch_and_key(
    one: tuple[bytes, int, Opening, bytes], other: tuple[bytes, int, Opening, bytes]
) -> None:
    assert (session_of(*one) == session_of(*other)) == (one == other)


@given(
    st.tuples(st.integers(1, 3), st.binary(max_size=3)),
    st.tuples(st.integers(1, 3), st.binary(max_size=3)),
)
def test_a_digest_names_one_body_at_one_position(
    one: tuple[int, bytes], other: tuple[int, bytes]
) -> None:
    digester = Digester(CLUSTER, STREAM)
    assert (digester.digest(*one) == digester.digest(*other)) == (one == other)


def test_a_digest_binds_its_stream_and_cluster() -> None:
    others = [
        Digester(b"d" * 32, STREAM),
        Digester(CLUSTER, STREAM._replace(channel="other")),
        Digester(CLUSTER, STREAM._replace(publisher="other")),
        Digester(CLUSTER, STREAM._replace(session=b"t" * 32)),
        Digester(CLUSTER, STREAM._replace(lane=Lane.URGENT)),
    ]
    found = {each.digest(1, b"body") for each in (Digester(CLUSTER, STREAM), *others)}
    assert len(found) == 6


@pytest.mark.parametrize("size", [INLINE_BODY_BYTES - 1, INLINE_BODY_BYTES])
def test_a_small_body_stands_in_its_digest_as_it_is(size: int) -> None:
    digester = Digester(CLUSTER, STREAM)
    body = b"x" * size
    lying = LargeBody.of(body, b"h" * 32)
    assert digester.digest(1, lying) == digester.digest(1, body)


def test_a_large_body_stands_in_its_digest_as_its_hash() -> None:
    digester = Digester(CLUSTER, STREAM)
    body = b"x" * (INLINE_BODY_BYTES + 1)
    carried = LargeBody.of(body, blake3(body).digest())
    assert digester.digest(1, carried) == digester.digest(1, body)
    assert body_hash(body) == carried.hash
    # The hash itself, as a body, is another publication; so is one of another length.
    assert digester.digest(1, carried.hash) != digester.digest(1, body)
    longer = LargeBody.of(body + b"x", carried.hash)
    assert digester.digest(1, longer) != digester.digest(1, body)


def test_runs_of_digests_and_chains_are_their_parts() -> None:
    digester = Digester(CLUSTER, STREAM)
    bodies = [b"a", b"", b"x" * 2000]
    singly = [digester.digest(seq, body) for seq, body in enumerate(bodies, 5)]
    assert digester.digests(5, bodies) == b"".join(singly)
    assert digester.digests(5, []) == b""
    chain, expected = digester.origin, []
    for digest in singly:
        chain = chain_after(chain, digest)
        expected.append(chain)
    assert chains_after(digester.origin, b"".join(singly)) == expected
    assert chains_after(digester.origin, b"") == []


def test_a_chain_depends_on_all_before_it_and_on_their_order() -> None:
    a, b, start = b"a" * 32, b"b" * 32, bytes(32)
    ends = {chains_after(start, run)[-1] for run in (a + b, b + a, a + a, a, b)}
    assert len(ends) == 5


def test_the_bytes_are_those_that_the_module_describes() -> None:
    """Written out by hand: a change here changes every stored digest."""
    fields = (CLUSTER, b"alerts", b"probe-7", STREAM.session, b"\0")
    start = blake3(
        b"quorumcast stream 1\0" + b"".join(len(f).to_bytes(4, "big") + f for f in fields)
    ).digest()
    assert origin(CLUSTER, STREAM) == start
    size = (4).to_bytes(8, "big")
    first = blake3(
        b"quorumcast publication 1" + start + (1).to_bytes(8, "big") + size + b"body"
    ).digest()
    assert Digester(CLUSTER, STREAM).digest(1, b"body") == first
    assert chain_after(start, first) == blake3(b"quorumcast chain 1\0" + start + first).digest()


def test_no_domain_is_the_beginning_of_another() -> None:
    """Whatever follows it, an input of one kind is never one of another kind."""
    domains = [
        value
        for module in (certificate, digests, keys, manifest, signatures, tags)
        for value in vars(module).values()
        if isinstance(value, bytes) and value.startswith(b"quorumcast ")
    ]
    assert len(domains) == len(set(domains)) == 13
    for one in domains:
        assert [other for other in domains if other.startswith(one)] == [one]
