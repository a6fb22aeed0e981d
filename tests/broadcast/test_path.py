"""Paths of digests agree exactly where their contents do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.digests import chain_after
from quorumcast.broadcast.path import Path, common_digests
from quorumcast.core.ids import Position
from tests.broadcast.cast import ZERO, digests, path

texts = st.text("ab", max_size=12)
bases = st.sampled_from((ZERO, Position(7, b"z" * 32)))


def shared(left: str, right: str) -> int:
    """How many letters two texts have in common from their beginning, counted one by one."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


@given(texts, texts, bases)
def test_paths_part_where_their_contents_do(left: str, right: str, base: Position) -> None:
    assert path(left, base).common(path(right, base)) == base.seq + shared(left, right)


@given(texts, texts)
def test_runs_of_digests_part_where_their_contents_do(left: str, right: str) -> None:
    assert common_digests(digests(left), bytearray(digests(right))) == shared(left, right)


@given(st.lists(st.text("ab", max_size=4), max_size=5), bases)
def test_a_path_in_pieces_is_the_path_at_once(pieces: list[str], base: Position) -> None:
    whole, grown = "".join(pieces), Path(base)
    for piece in pieces:
        grown.extend(digests(piece))
    chain, chains = base.chain, [base.chain]
    for letter in whole:
        chain = chain_after(chain, digests(letter))
        chains.append(chain)
    assert grown.end == base.seq + len(whole)
    assert grown.tip == Position(base.seq + len(whole), chain)
    assert [grown.chain(base.seq + index) for index in range(len(chains))] == chains
    for index, letter in enumerate(whole, 1):
        assert grown.digest(base.seq + index) == digests(letter)


def test_beyond_its_ends_a_path_says_nothing() -> None:
    base = Position(7, b"z" * 32)
    short = path("ab", base)
    assert (short.chain(6), short.chain(10), short.digest(7), short.digest(10)) == (None,) * 4
    assert short.chain(7) == base.chain


@given(texts, st.integers(0, 12), st.integers(0, 12), bases)
def test_a_trimmed_path_knows_the_same_above_its_base(
    text: str, cut: int, end: int, base: Position
) -> None:
    whole, trimmed = path(text, base), path(text, base)
    cut = min(cut, len(text))
    trimmed.trim(base.seq + cut)
    trimmed.trim(base.seq)  # below the base there is nothing to trim
    assert trimmed.base == Position(base.seq + cut, whole.chain(base.seq + cut) or b"")
    assert trimmed.tip == whole.tip
    for position in range(base.seq + cut + 1, whole.end + 1):
        assert trimmed.digest(position) == whole.digest(position)
        assert trimmed.chain(position) == whole.chain(position)
    first, last = base.seq + cut + 1, base.seq + max(cut, min(end, len(text)))
    assert trimmed.run(first, last) == whole.run(first, last) == digests(text[cut:end])


@given(texts, st.integers(-2, 14), bases)
def test_a_copy_up_to_a_position_is_independent(text: str, count: int, base: Position) -> None:
    whole = path(text, base)
    copy = whole.upto(base.seq + count)
    assert bytes(copy.digests) == digests(text[: max(0, count)])
    assert copy.tip == path(text[: max(0, count)], base).tip
    copy.extend(digests("ccc"))
    assert bytes(whole.digests) == digests(text)
    assert whole.tip == path(text, base).tip


def test_equal_contents_over_another_base_are_another_path() -> None:
    """The chain digest commits to everything below, not to the run alone."""
    assert path("ab").tip.chain != path("ab", Position(0, b"z" * 32)).tip.chain
