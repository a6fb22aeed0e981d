"""What a journal keeps over a restart, and what it refuses; a commit is stored whole or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.core.ids import Lane, Opening, Position, Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Forgotten,
    Incarnated,
    MadeReady,
    Opened,
    Placed,
    ReadRange,
    ReadStream,
    ReadStreams,
    Record,
    SessionConfirmed,
    SessionEnded,
    SessionOpened,
    Tainted,
)
from quorumcast.store import Journal, StorageError, StorageFull
from tests.store.making import (
    OPENED,
    OPENING,
    OTHER,
    STREAM,
    accepted,
    again,
    bodies,
    chain,
    confirmed,
    digests,
    fresh,
    installed,
    slots,
    state,
)

SMALL_MAP = 256 * 1024


class Shelf:
    """A journal that can be closed and opened again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = fresh(path)

    def commit(self, *records: Record) -> None:
        self.journal.commit(list(records))

    def reopen(self) -> None:
        self.journal.close()
        self.journal = again(self.path)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path / "journal")
    shelf.commit(OPENED)
    yield shelf
    shelf.journal.close()


# -- over a restart ----------------------------------------------------------------------------


def test_votes_are_pledged_after_a_restart_and_bodies_are_gone(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 3), accepted(4, 5))
    assert state(shelf.journal).votes == digests(1, 5)
    shelf.reopen()
    found = state(shelf.journal)
    assert (found.head, found.votes) == (0, b"")
    assert found.pledged == digests(1, 5)
    kept = slots(shelf.journal, 1, 5)
    assert (kept.digests, kept.bodies) == (digests(1, 5), (None,) * 5)


def test_a_body_that_comes_back_ends_its_pledge(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 5))
    shelf.reopen()
    shelf.commit(accepted(1, 2))
    found = state(shelf.journal)
    assert (found.head, found.votes, found.pledged) == (2, digests(1, 2), digests(3, 5))
    assert slots(shelf.journal, 1, 5).bodies == (*bodies(1, 2), None, None, None)
    shelf.reopen()
    assert state(shelf.journal).pledged == digests(1, 5)


def test_what_is_confirmed_is_a_floor_with_its_chain_after_a_restart(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 5), confirmed(3))
    assert state(shelf.journal).floor.seq == 0
    shelf.reopen()
    found = state(shelf.journal)
    assert (found.floor, found.floor_confirmed) == (Position(3, chain(3)), True)
    assert (found.confirmed, found.head) == (Position(3, chain(3)), 3)
    assert found.pledged == digests(4, 5)
    kept = slots(shelf.journal, 1, 9)
    assert (kept.first, kept.chain_before, kept.digests) == (4, chain(3), digests(4, 5))


def test_a_run_that_is_confirmed_in_part_keeps_the_rest_bound(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 9), confirmed(4))
    shelf.reopen()
    shelf.commit(installed(5, 6, "b"), Confirmed(STREAM, 6, b"x" * 32))
    shelf.reopen()
    found = state(shelf.journal)
    assert (found.floor, found.pledged) == (Position(6, b"x" * 32), digests(7, 9))


def test_installed_content_stays_in_its_slot_over_a_restart(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 4), installed(2, 3, "b"))
    shelf.reopen()
    assert state(shelf.journal).pledged == digests(1, 1) + digests(2, 3, "b") + digests(4, 4)


def test_everything_said_is_there_after_a_restart(shelf: Shelf) -> None:
    other = Opened(OTHER, Opening("p1", 8, ()), b"other")
    shelf.commit(other, accepted(1, 2, stream=OTHER), Tainted(OTHER))
    shelf.commit(accepted(1, 3), MadeReady(STREAM, 3, b"r" * 32, 1, b"z" * 3 * D))
    shelf.commit(Floored(STREAM, 2, bytes(32), confirmed=False), Closed(STREAM))
    before = [state(shelf.journal), state(shelf.journal, OTHER)]
    shelf.reopen()
    after = state(shelf.journal)
    assert after == before[0]
    assert (after.ready, after.ready_digests) == (Position(3, b"r" * 32), b"z" * 3 * D)
    assert (after.floor.seq, after.floor_confirmed, after.closed) == (2, False, True)
    assert after.votes == digests(1, 3)  # a closed stream states its votes without bodies
    found = state(shelf.journal, OTHER)
    assert found.tainted
    assert (found.opening, found.certificate) == (other.opening, b"other")
    page = shelf.journal.read(ReadStreams(0, 9))
    assert isinstance(page, list)
    assert [each.stream for each in page] == [STREAM, OTHER]


def test_signatures_are_kept_with_the_votes(shelf: Shelf) -> None:
    signed = b"1" * 64 + b"2" * 64
    shelf.commit(Accepted(STREAM, 1, digests(1, 2), bodies(1, 2), signed))
    assert state(shelf.journal).signatures == signed
    shelf.reopen()
    assert slots(shelf.journal, 2, 2).signatures == b"2" * 64


def test_ready_without_digests_clears_earlier_ones(shelf: Shelf) -> None:
    shelf.commit(MadeReady(STREAM, 1, b"r" * 32, 1, b"z" * D))
    shelf.commit(accepted(1, 2), MadeReady(STREAM, 2, chain(2), 1, b""))
    shelf.reopen()
    assert (state(shelf.journal).ready, state(shelf.journal).ready_digests) == ((2, chain(2)), b"")


def test_a_forgotten_stream_is_gone_and_can_be_opened_anew(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 3), MadeReady(STREAM, 1, b"r" * 32, 1, b"z" * D))
    shelf.commit(Opened(OTHER, OPENING, b""), Forgotten(STREAM))
    assert shelf.journal.read(ReadStream(STREAM)) is None
    shelf.commit(OPENED, accepted(1, 1, "b"))
    shelf.reopen()
    assert state(shelf.journal).pledged == digests(1, 1, "b")
    assert state(shelf.journal).ready_digests == b""
    page = shelf.journal.read(ReadStreams(0, 9))
    assert isinstance(page, list)
    assert [each.stream for each in page] == [OTHER, STREAM]


def test_a_stream_without_a_record_is_none(shelf: Shelf) -> None:
    stranger = Stream("alerts", "p9", bytes(32), Lane.URGENT)
    assert shelf.journal.read(ReadStream(stranger)) is None
    assert shelf.journal.read(ReadRange(stranger, 1, 5, 100)) is None


def test_votes_that_are_confirmed_take_no_room_on_the_disk(shelf: Shelf) -> None:
    size = 0
    for turn in range(400):
        first = turn * 64 + 1
        run = Accepted(STREAM, first, b"d" * D * 64, (b"x",) * 64, b"")
        shelf.commit(run, Confirmed(STREAM, first + 63, b"c" * 32))
        if turn == 200:
            size = (shelf.path / "votes" / "data.mdb").stat().st_size
    assert (shelf.path / "votes" / "data.mdb").stat().st_size == size


# -- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("first", "last"), [(1, 1), (3, 4), (2, 6), (5, 5)])
def test_a_second_vote_for_other_content_is_refused(
    shelf: Shelf, restarts: bool, first: int, last: int
) -> None:
    shelf.commit(accepted(1, 5))
    if restarts:
        shelf.reopen()
    before = state(shelf.journal)
    with pytest.raises(AssertionError, match=f"a second vote for position {first}"):
        shelf.commit(Tainted(STREAM), accepted(first, last, "b"))
    assert state(shelf.journal) == before
    shelf.reopen()
    assert state(shelf.journal).pledged == digests(1, 5)
    assert not state(shelf.journal).tainted


@pytest.mark.parametrize(
    "record",
    [
        SessionOpened(STREAM, OPENING),
        Placed(STREAM, 1, (b"x",)),
        SessionConfirmed(STREAM, 1, bytes(32)),
        SessionEnded(STREAM),
        Accepted(OTHER, 1, bytes(32), (b"x",), b""),
        Accepted(STREAM, 1, bytes(31), (b"x",), b""),
        Tainted(OTHER),
    ],
)
def test_records_that_have_no_place_here_are_refused(shelf: Shelf, record: Record) -> None:
    with pytest.raises(AssertionError):
        shelf.commit(accepted(1, 2), record)
    assert state(shelf.journal).head == 0


def test_confirmed_does_not_go_back(shelf: Shelf) -> None:
    shelf.commit(accepted(1, 3), confirmed(3))
    with pytest.raises(AssertionError, match="only grows"):
        shelf.commit(confirmed(2))
    assert state(shelf.journal).confirmed.seq == 3


# -- all or none -------------------------------------------------------------------------------


def everything(journal: Journal) -> list[object]:
    requests = [ReadStreams(0, 99), ReadStream(STREAM), ReadStream(OTHER)]
    ranges = [ReadRange(each, 1, 99, 10**6) for each in (STREAM, OTHER)]
    return [journal.read(request) for request in (*requests, *ranges)]


def test_a_commit_that_fails_changes_nothing_in_memory_or_on_the_disk(shelf: Shelf) -> None:
    life = shelf.journal.life
    assert life is not None
    shelf.commit(accepted(1, 6), confirmed(2), MadeReady(STREAM, 3, b"r" * 32, 3, b"z" * D))
    before, used = everything(shelf.journal), shelf.journal.used_bytes("alerts")
    changes: list[list[Record]] = [
        [accepted(7, 8), confirmed(8), Floored(STREAM, 5, chain(5), confirmed=True)],
        [installed(3, 4, "b"), Tainted(STREAM), Closed(STREAM)],
        [Floored(STREAM, 5, bytes(32), confirmed=False)],
        [MadeReady(STREAM, 4, b"q" * 32, 3, b""), Opened(STREAM, OPENING, b"new")],
        [Opened(OTHER, OPENING, b""), accepted(1, 1, stream=OTHER)],
        [Forgotten(STREAM), OPENED, accepted(1, 1, "c")],
        [Opened(OTHER, OPENING, b""), Forgotten(OTHER), Forgotten(STREAM)],
        [Incarnated(life.valid, ())],
    ]
    for change in changes:
        with pytest.raises(AssertionError, match="does not keep"):
            shelf.commit(*change, SessionEnded(STREAM))
        assert everything(shelf.journal) == before
        assert shelf.journal.life == life
        assert shelf.journal.used_bytes("alerts") == used
    shelf.commit(accepted(7, 7))  # it works on
    assert slots(shelf.journal, 7, 7).bodies == (b"a7",)
    shelf.reopen()
    assert state(shelf.journal).pledged == digests(3, 7)
    assert state(shelf.journal).ready_digests == b"z" * D


def test_a_map_that_is_full_is_a_clear_error_and_changes_nothing(tmp_path: Path) -> None:
    journal = fresh(tmp_path / "journal", map_bytes=SMALL_MAP)
    journal.commit([OPENED, accepted(1, 3)])
    before = everything(journal)
    large = Accepted(STREAM, 4, b"d" * D * 20_000, (b"",) * 20_000, b"")
    with pytest.raises(StorageFull, match=f"{tmp_path}.*map is full.*map_bytes"):
        journal.commit([Tainted(STREAM), large])
    assert everything(journal) == before
    journal.commit([accepted(4, 4)])
    journal.close()
    journal = again(tmp_path / "journal", map_bytes=64 * SMALL_MAP)
    assert state(journal).pledged == digests(1, 4)
    assert not state(journal).tainted
    journal.commit([Accepted(STREAM, 5, large.digests, large.bodies, b"")])
    journal.close()


def test_an_empty_commit_is_none(shelf: Shelf) -> None:
    shelf.commit()
    assert state(shelf.journal).head == 0


def test_nothing_is_taken_after_close(tmp_path: Path) -> None:
    journal = fresh(tmp_path / "journal")
    journal.close()
    journal.close()  # once more is no harm
    with pytest.raises(AssertionError, match="closed"):
        journal.commit([OPENED])


def test_a_journal_of_another_cluster_is_refused(shelf: Shelf) -> None:
    shelf.journal.close()
    with pytest.raises(StorageError, match="another cluster"):
        Journal(shelf.path, b"d" * 32, 1, 4, boot="boot-1", now_ms=1, entropy=bytes)
    shelf.journal = again(shelf.path)
    assert shelf.journal.reborn == ""


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file"):
        again(tmp_path / "file" / "journal")
