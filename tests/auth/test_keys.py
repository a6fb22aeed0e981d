"""Pairwise keys: one per cluster, epoch and direction, the same at both ends."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.keys import NONCE_BYTES, connection_key, pair_info, pair_key
from quorumcast.auth.tags import check_tag, tag
from quorumcast.core.errors import AuthError
from tests.auth.parties import CLUSTER, identity

NAMES = ("r1", "r2", "probe-7")
WHO = {name: identity(name) for name in NAMES}

fields = st.tuples(
    st.sampled_from((b"x" * 32, b"y" * 32)),
    st.sampled_from((b"x" * 32, b"y" * 32, b"z" * 32)),
    st.binary(max_size=4),
    st.integers(0, 2**64 - 1),
    st.text("ab\0", max_size=3),
    st.text("ab\0", max_size=3),
)


def key(me: str, sender: str, receiver: str, cluster: bytes = CLUSTER, epoch: int = 1) -> bytes:
    """The key for a direction, as `me`, one of the two, derives it."""
    peer = receiver if me == sender else sender
    return pair_key(WHO[me], WHO[peer].public.agree, cluster, epoch, sender, receiver)


def test_both_ends_derive_the_key_of_each_direction() -> None:
    for sender, receiver in permutations(NAMES, 2):
        assert key(sender, sender, receiver) == key(receiver, sender, receiver)
        assert len(key(sender, sender, receiver)) == 32


def test_keys_differ_by_direction_pair_cluster_and_epoch() -> None:
    clusters, epochs = (CLUSTER, b"d" * 32), (0, 1, 2)
    directions = list(permutations(NAMES, 2))
    keys = [
        key(sender, sender, receiver, cluster, epoch)
        for (sender, receiver), cluster, epoch in product(directions, clusters, epochs)
    ]
    assert len(set(keys)) == len(directions) * len(clusters) * len(epochs)


def test_a_tag_thrown_back_fails() -> None:
    there, back = key("r1", "r1", "r2"), key("r1", "r2", "r1")
    made = tag(there, b"frame")
    assert check_tag(key("r2", "r1", "r2"), b"frame", made)
    assert not check_tag(back, b"frame", made)


def test_a_tag_of_another_epoch_or_cluster_fails() -> None:
    made = tag(key("r1", "r1", "r2"), b"frame")
    assert not check_tag(key("r2", "r1", "r2", epoch=2), b"frame", made)
    assert not check_tag(key("r2", "r1", "r2", cluster=b"d" * 32), b"frame", made)


def test_a_third_party_derives_another_key() -> None:
    stranger = identity("stranger")
    guess = pair_key(stranger, WHO["r2"].public.agree, CLUSTER, 1, "r1", "r2")
    assert guess != key("r1", "r1", "r2")


def test_nobody_has_a_link_to_itself() -> None:
    """One key for both directions: what I send could be thrown back at me as my peer's."""
    with pytest.raises(AuthError, match="itself"):
        pair_key(WHO["r1"], WHO["r1"].public.agree, CLUSTER, 1, "r1", "r1")


@pytest.mark.parametrize("bad", [bytes(32), (1).to_bytes(32, "little"), b"short", b""])
def test_bad_points_are_refused(bad: bytes) -> None:
    with pytest.raises(AuthError):
        pair_key(WHO["r1"], bad, CLUSTER, 1, "r1", "r2")


@given(fields, fields)
def test_different_bindings_are_different_bytes(
    one: tuple[bytes, bytes, bytes, int, str, str], other: tuple[bytes, bytes, bytes, int, str, str]
) -> None:
    same = {*one[:2]} == {*other[:2]} and one[2:] == other[2:]
    assert (pair_info(*one) == pair_info(*other)) == same


def test_connection_keys_need_both_nonces_in_their_order() -> None:
    pair, other = b"k" * 32, b"l" * 32
    a, b, c = b"a" * NONCE_BYTES, b"b" * NONCE_BYTES, b"c" * NONCE_BYTES
    keys = [
        connection_key(secret, *nonces)
        for secret, nonces in product((pair, other), permutations((a, b, c), 2))
    ]
    assert len(set(keys)) == 12
    assert all(len(each) == 32 for each in keys)
    assert pair not in keys


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_nonces_have_32_bytes(size: int) -> None:
    good, bad = b"a" * NONCE_BYTES, b"b" * size
    for nonces in ((good, bad), (bad, good)):
        with pytest.raises(AuthError, match=f"nonce has {size} bytes"):
            connection_key(b"k" * 32, *nonces)


def test_connection_keys_differ_by_nonces_epoch_cluster_and_direction() -> None:
    """What binds the pair key binds every connection's key that is made of it."""
    a, b, c = (bytes((number,)) * NONCE_BYTES for number in b"abc")
    directions = list(permutations(NAMES, 2))
    keys = [
        connection_key(key(sender, sender, receiver, cluster, epoch), *nonces)
        for (sender, receiver), cluster, epoch, nonces in product(
            directions, (CLUSTER, b"d" * 32), (1, 2), permutations((a, b, c), 2)
        )
    ]
    assert len(set(keys)) == len(directions) * 2 * 2 * 6


def test_both_ends_derive_the_key_of_a_connection() -> None:
    mine, theirs = b"m" * NONCE_BYTES, b"t" * NONCE_BYTES
    there = connection_key(key("r1", "r1", "r2"), mine, theirs)
    assert there == connection_key(key("r2", "r1", "r2"), mine, theirs)
    back = connection_key(key("r1", "r2", "r1"), theirs, mine)
    assert back == connection_key(key("r2", "r2", "r1"), theirs, mine)
    assert there != back
