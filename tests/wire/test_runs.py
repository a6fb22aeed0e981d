"""Pieces by themselves: each says at once that its bytes are not all there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorumcast.core.errors import ProtocolError
from quorumcast.wire import Reader
from quorumcast.wire.runs import (
    check_range,
    pack_bodies,
    read_bodies,
    read_digests,
    read_signatures,
)
from tests.wire.vectors import LARGE, LAST

MIXED: list[bytes] = []
PACKED = pack_bodies((b"ab", LARGE, b"c"), MIXED)


PIECES: list[tuple[bytes, Callable[[Reader], object]]] = [
    (bytes(7), lambda reader: reader.fixed(7)),
    (b"\x00\x03abc", lambda reader: reader.blob(3, "a blob")),
    (b"\x00\x03abc", lambda reader: reader.text(3, "a text")),
    (b"\x05probe", lambda reader: reader.name("a name")),
    (b"\x02" + bytes(32), Reader.incarnations),
    (b"\x01p" + bytes(8) + b"\x01" + bytes(16), Reader.opening),
    (bytes(96), lambda reader: read_digests(reader, 3)),
    (b"\x01" + bytes(128), lambda reader: read_signatures(reader, 2)),
    (pack_bodies((b"ab", b"c"), []), lambda reader: read_bodies(reader, 2)),
    (PACKED, lambda reader: read_bodies(reader, 3)),
]


@pytest.mark.parametrize(("whole", "read"), PIECES, ids=range(len(PIECES)))
def test_a_piece_cut_short_is_refused(whole: bytes, read: Callable[[Reader], object]) -> None:
    reader = Reader(whole, 0, LARGE)
    read(reader)
    assert reader.at == len(whole)
    with pytest.raises(ProtocolError, match="ends inside a message"):
        read(Reader(whole[:-1], 0, LARGE))


def test_lengths_cut_short_are_refused() -> None:
    with pytest.raises(ProtocolError, match="ends inside a message"):
        read_bodies(Reader(bytes(4 * 9 - 1)), 9)


def test_only_the_hash_of_a_large_body_stands_in_the_payload() -> None:
    assert MIXED == [LARGE]
    assert len(PACKED) == 3 * 4 + 2 + 32 + 1


@pytest.mark.parametrize(
    ("first", "count"), [(1, 1), (1, 65_536), (LAST, 1), (LAST - 65_535, 65_536)]
)
def test_runs_at_the_edges_are_possible(first: int, count: int) -> None:
    check_range(first, count)


@pytest.mark.parametrize(
    ("first", "count"), [(0, 1), (-1, 1), (1, 0), (1, 65_537), (LAST, 2), (LAST - 65_534, 65_536)]
)
def test_runs_beyond_the_edges_are_not(first: int, count: int) -> None:
    with pytest.raises(ProtocolError):
        check_range(first, count)
