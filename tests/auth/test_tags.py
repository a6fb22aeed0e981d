"""Tags: each field is covered, each receiver has its own, nothing malformed passes or raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth import tags as module
from quorumcast.auth.tags import (
    TAG_BYTES,
    Authenticator,
    Statement,
    check_statement_tag,
    check_tag,
    make_authenticator,
    statement_tag,
    tag,
)
from tests.auth.parties import CLUSTER

KEY, OTHER_KEY = b"k" * 32, b"l" * 32
STATEMENT = Statement("chain", CLUSTER, 1, "alerts", b"instance", b"d" * 32)
CHANGED = {
    "domain": "chains",
    "cluster": b"d" * 32,
    "epoch": 2,
    "channel": "alert",
    "instance": b"instance 2",
    "digest": b"e" * 32,
}
KEYS = {"r1": b"1" * 32, "r2": b"2" * 32, "r3": b"3" * 32}

texts = st.text("a\0b", max_size=3)
statements = st.builds(
    Statement,
    texts,
    st.binary(max_size=3),
    st.integers(0, 2**64 - 1),
    texts,
    st.binary(max_size=3),
    st.binary(max_size=3),
)


@given(st.binary(max_size=3000))
def test_a_tag_is_for_its_bytes_and_key(data: bytes) -> None:
    made = tag(KEY, data)
    assert len(made) == TAG_BYTES
    assert check_tag(KEY, data, made)
    assert check_tag(KEY, memoryview(data), bytearray(made))
    assert not check_tag(OTHER_KEY, data, made)
    assert not check_tag(KEY, data + b"\0", made)


def test_every_flipped_bit_of_tag_and_data() -> None:
    data, made = b"a frame of some bytes", tag(KEY, b"a frame of some bytes")
    for bit in range(8 * TAG_BYTES):
        bad = bytearray(made)
        bad[bit // 8] ^= 1 << bit % 8
        assert not check_tag(KEY, data, bad)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert not check_tag(KEY, changed, made)


def test_tags_of_another_length_fail() -> None:
    made = tag(KEY, b"frame")
    for size in range(TAG_BYTES):
        assert not check_tag(KEY, b"frame", made[:size])
    assert not check_tag(KEY, b"frame", made + b"\0")
    assert not check_tag(KEY, b"frame", made * 2)


def test_a_statement_tag_covers_every_field() -> None:
    assert set(CHANGED) == set(Statement._fields)
    made = statement_tag(KEY, *STATEMENT)
    assert len(made) == TAG_BYTES
    assert check_statement_tag(KEY, made, *STATEMENT)
    assert not check_statement_tag(OTHER_KEY, made, *STATEMENT)
    for field, value in CHANGED.items():
        assert not check_statement_tag(KEY, made, *STATEMENT._replace(**{field: value}))


@given(statements, statements)
def test_different_statements_are_different_bytes(one: Statement, other: Statement) -> None:
    assert (one.encode() == other.encode()) == (one == other)


def test_a_statement_tag_is_no_tag_of_its_bare_fields() -> None:
    made = statement_tag(KEY, *STATEMENT)
    assert not check_tag(KEY, STATEMENT.digest, made)
    assert STATEMENT.encode().startswith(b"quorumcast statement 1\0")


def test_each_receiver_checks_its_own_entry() -> None:
    made = make_authenticator(KEYS, STATEMENT)
    assert made.receivers == ("r1", "r2", "r3")
    assert len(made.tags) == 3 * TAG_BYTES
    for name, key in KEYS.items():
        assert made.check(name, key, STATEMENT)
        assert made.entry(name) == statement_tag(key, *STATEMENT)
        assert not made.check(name, OTHER_KEY, STATEMENT)
        for field, value in CHANGED.items():
            assert not made.check(name, key, STATEMENT._replace(**{field: value}))
    assert not made.check("r4", KEYS["r1"], STATEMENT)
    assert not made.check("r2", KEYS["r1"], STATEMENT)


def test_a_partly_valid_authenticator_fails_for_whom_it_wrongs() -> None:
    made = make_authenticator(KEYS, STATEMENT)
    bad = Authenticator(made.receivers, made.tags[:TAG_BYTES] + bytes(2 * TAG_BYTES))
    checked = [bad.check(name, key, STATEMENT) for name, key in KEYS.items()]
    assert checked == [True, False, False]


def test_a_malformed_vector_has_no_entries() -> None:
    made = make_authenticator(KEYS, STATEMENT)
    for tags in (made.tags[:-1], made.tags + b"\0", made.tags[TAG_BYTES:], b""):
        bad = Authenticator(made.receivers, tags)
        assert [bad.entry(name) for name in KEYS] == [None] * 3
        assert not any(bad.check(name, key, STATEMENT) for name, key in KEYS.items())
    twice = Authenticator(("r1", "r1", "r3"), made.tags)
    assert twice.entry("r1") is None
    assert twice.entry("r3") == made.entry("r3")
    assert Authenticator((), b"").entry("r1") is None


def test_every_check_of_a_tag_compares_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is `compare_digest`'s alone: its time tells nothing about a guess."""
    seen: list[tuple[bytes, bytes]] = []

    def accepts(made: bytes, given_: bytes) -> bool:
        seen.append((bytes(made), bytes(given_)))
        return True

    authenticator = make_authenticator(KEYS, STATEMENT)
    monkeypatch.setattr(module, "compare_digest", accepts)
    wrong = bytes(TAG_BYTES)
    assert check_tag(KEY, b"frame", wrong)
    assert check_statement_tag(KEY, wrong, *STATEMENT)
    assert authenticator.check("r1", OTHER_KEY, STATEMENT)
    assert seen == [
        (tag(KEY, b"frame"), wrong),
        (tag(KEY, STATEMENT.encode()), wrong),
        (tag(OTHER_KEY, STATEMENT.encode()), authenticator.entry("r1")),
    ]


@pytest.mark.parametrize("mask", range(8))
def test_whom_an_authenticator_convinces_is_exactly_whom_it_is_right_for(mask: int) -> None:
    """All masks: what one receiver finds says nothing about what another will."""
    made = make_authenticator(KEYS, STATEMENT)
    pieces = [made.entry(name) or b"" for name in KEYS]
    damaged = [piece if mask >> at & 1 else piece[::-1] for at, piece in enumerate(pieces)]
    partial = Authenticator(made.receivers, b"".join(damaged))
    checked = [partial.check(name, key, STATEMENT) for name, key in KEYS.items()]
    assert checked == [bool(mask >> at & 1) for at in range(3)]


def test_entries_cannot_be_moved_to_another_receiver() -> None:
    made = make_authenticator(KEYS, STATEMENT)
    moved = Authenticator(("r2", "r3", "r1"), made.tags)
    assert not any(moved.check(name, key, STATEMENT) for name, key in KEYS.items())
