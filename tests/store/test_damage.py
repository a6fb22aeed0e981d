"""Damage is found and reported: of one stream, of the journal, of pages, of a whole file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from quorumcast.core.ids import FIRST
from quorumcast.core.records import Opened, ReadStream, ReadStreams
from quorumcast.store import DamagedRecord, Journal, StorageError, cells
from quorumcast.store.place import open_environment
from tests.store.making import (
    OPENED,
    OPENING,
    OTHER,
    STREAM,
    accepted,
    again,
    chain,
    confirmed,
    digests,
    fresh,
    state,
    stream_of,
)

MAP = 2**26
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with two streams; the first has three runs of votes above what is confirmed."""
    path = tmp_path / "journal"
    journal = fresh(path, map_bytes=MAP)
    journal.commit([OPENED, Opened(OTHER, OPENING, b""), accepted(1, 4), confirmed(4)])
    journal.commit([accepted(5, 6), accepted(1, 3, stream=OTHER)])
    journal.commit([accepted(7, 8)])
    journal.commit([accepted(9, 9)])
    journal.close()
    return path


def records(path: Path) -> dict[bytes, bytes]:
    environment = open_environment(path / "votes", MAP)
    with environment.begin() as reading:
        found = {bytes(key): bytes(value) for key, value in reading.cursor()}
    environment.close()
    return found


def change(path: Path, key: bytes, value: bytes | None) -> None:
    environment = open_environment(path / "votes", MAP)
    with environment.begin(write=True) as writing:
        if value is None:
            writing.delete(key)
        else:
            writing.put(key, value)
    environment.close()


def flip(path: Path, key: bytes, place: int) -> None:
    value = bytearray(records(path)[key])
    value[place] ^= 4
    change(path, key, bytes(value))


def key_of(path: Path, number: int, kind: int, index: int = 0) -> bytes:
    keys = [key for key in records(path) if cells.take_apart(key) is not None]
    return [key for key in keys if cells.take_apart(key)[:2] == (number, kind)][index]  # type: ignore[index]


def reopen(path: Path, boot: str = "boot-1") -> Journal:
    return again(path, boot=boot, map_bytes=MAP)


# -- records -----------------------------------------------------------------------------------


def test_a_whole_journal_reports_no_damage(path: Path) -> None:
    journal = reopen(path)
    assert (journal.damage, journal.reborn) == ((), "")
    assert state(journal).pledged == digests(5, 9)
    journal.close()


@pytest.mark.parametrize("place", [0, 10, 40, -1])
def test_a_damaged_vote_is_reported_and_silences_the_replica_in_its_stream(
    path: Path, place: int
) -> None:
    flip(path, key_of(path, 1, cells.VOTES, 1), place)
    journal = reopen(path)
    (damage,) = journal.damage
    assert isinstance(damage, DamagedRecord)
    assert damage.stream == STREAM
    assert "a vote record is damaged" in str(damage)
    assert journal.reborn == ""
    found = state(journal)
    assert found.closed  # no vote is cast here any more
    assert (found.confirmed, found.votes) == ((4, chain(4)), digests(5, 6))
    with pytest.raises(AssertionError, match="second vote"):  # what is readable binds all the same
        journal.commit([accepted(9, 9, "b")])
    other = state(journal, OTHER)
    assert (other.closed, other.pledged) == (False, digests(1, 3, stream=OTHER))
    journal.close()


def test_damage_is_found_again_at_every_opening(path: Path) -> None:
    flip(path, key_of(path, 1, cells.VOTES, 2), 20)
    for _ in range(2):
        journal = reopen(path)
        assert [each.stream for each in journal.damage] == [STREAM]
        assert state(journal).closed
        journal.commit([confirmed(6)])
        journal.close()


@pytest.mark.parametrize("gone", [False, True])
def test_a_stream_whose_state_is_damaged_is_closed(path: Path, gone: bool) -> None:
    key = key_of(path, 1, cells.MARKS)
    if gone:
        change(path, key, None)
    else:
        flip(path, key, 3)
    journal = reopen(path)
    assert [each.stream for each in journal.damage] == [STREAM]
    assert state(journal).closed
    assert journal.reborn == ""
    journal.close()


@pytest.mark.parametrize("number", [1, 2])
def test_where_it_is_not_known_whose_votes_are_damaged_a_new_life_begins(
    path: Path, number: int
) -> None:
    flip(path, key_of(path, number, cells.OPENING), 9)
    journal = reopen(path)
    assert journal.damage
    assert all(each.stream is None for each in journal.damage)
    assert "not known whose" in journal.reborn
    assert journal.life is not None
    assert journal.life.valid[-1][0].counter == 1000
    gone, there = (STREAM, OTHER) if number == 1 else (OTHER, STREAM)
    assert journal.read(ReadStream(gone)) is None
    assert state(journal, there).pledged
    journal.close()
    journal = reopen(path)  # one new life voids it all: there is nothing to report any more
    assert (journal.damage, journal.reborn) == ((), "")
    assert journal.life.valid[-1][0].counter == 1000
    journal.close()


def test_a_damaged_life_is_a_new_one(path: Path) -> None:
    flip(path, cells.LIFE_KEY, 2)
    journal = reopen(path)
    assert journal.life is not None
    assert journal.life.valid[-1][0] > FIRST
    assert [each.stream for each in journal.damage] == [None]
    assert state(journal).pledged == digests(5, 9)
    journal.close()


def test_a_record_in_another_ones_place_is_damage(path: Path) -> None:
    votes = key_of(path, 2, cells.VOTES)
    change(path, votes, records(path)[key_of(path, 1, cells.VOTES)])
    journal = reopen(path)
    assert [each.stream for each in journal.damage] == [OTHER]
    journal.close()


@pytest.mark.parametrize("key", [b"what", b"\xff" * 9, b"\xff" * 17, bytes(7) + b"\1", bytes(9)])
def test_a_key_of_no_known_kind_is_damage_that_ends_with_a_new_life(path: Path, key: bytes) -> None:
    change(path, key, b"is this")
    journal = reopen(path)
    assert [each.stream for each in journal.damage] == [None]
    assert journal.reborn
    stream = stream_of(99)
    journal.commit([Opened(stream, OPENING, b""), accepted(1, 1, stream=stream)])
    journal.close()
    journal = reopen(path)
    assert (journal.damage, journal.reborn) == ((), "")
    assert state(journal, stream).pledged == digests(1, 1, stream=stream)
    assert state(journal).pledged == digests(5, 9)
    journal.close()


def test_another_format_is_not_touched(path: Path) -> None:
    value = cells.seal(cells.HEADER_KEY, cells.pack(cells.Header(cells.FORMAT + 1)))
    change(path, cells.HEADER_KEY, value)
    before = records(path)
    with pytest.raises(StorageError, match="has format 2"):
        reopen(path)
    assert records(path) == before


# -- files -------------------------------------------------------------------------------------


def tear_meta(file: Path, draws: Random) -> None:
    """Both pages that an environment begins with."""
    data = bytearray(file.read_bytes())
    data[: 2 * PAGE] = draws.randbytes(2 * PAGE)
    file.write_bytes(data)


def tear_pages(file: Path, draws: Random) -> None:
    """Pages that were never written: zeros, or what stood there before."""
    data = bytearray(file.read_bytes())
    pages = range(2, len(data) // PAGE)
    for page in draws.sample(pages, len(pages) // 3):
        fill = draws.choice((bytes(PAGE), draws.randbytes(PAGE), bytes(data[-PAGE:])))
        data[page * PAGE : (page + 1) * PAGE] = fill
    file.write_bytes(data)


def cut_short(file: Path, draws: Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: draws.randrange(1, len(data) // PAGE) * PAGE])


def emptied(file: Path, draws: Random) -> None:
    file.write_bytes(b"")


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """The folder of a journal with many streams that was open when the machine stopped."""
    path = tmp_path / "before"
    journal = fresh(path, map_bytes=MAP)
    for number in range(40):
        stream = stream_of(number)
        journal.commit([Opened(stream, OPENING, b"x" * 300), accepted(1, 40, stream=stream)])
    shutil.copytree(path, tmp_path / "crashed")
    journal.close()
    return tmp_path / "crashed"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tear", [tear_meta, tear_pages, cut_short, emptied])
def test_whatever_a_crash_of_the_machine_leaves_a_replica_starts_with_a_new_life(
    crashed: Path, tear: Callable[[Path, Random], None], seed: int
) -> None:
    tear(crashed / "votes" / "data.mdb", Random(seed))
    journal = reopen(crashed, boot="boot-2")
    assert "the machine stopped" in journal.reborn
    assert journal.life is not None
    assert journal.life.valid[-1][0].counter == 1000
    page = journal.read(ReadStreams(0, 99))
    assert isinstance(page, list)
    for found in page:  # what is there is what was written, or says that it is not whole
        whole = digests(1, 40, stream=found.stream)
        assert found.closed or whole.startswith(found.pledged)
    journal.commit([Opened(OTHER, OPENING, b""), accepted(1, 1, stream=OTHER)])
    journal.close()
    journal = reopen(crashed, boot="boot-2")
    assert journal.reborn == ""
    assert state(journal, OTHER).pledged
    journal.close()


def test_a_machine_that_stopped_with_whole_pages_keeps_everything(crashed: Path) -> None:
    journal = reopen(crashed, boot="boot-2")
    assert "were kept" in journal.reborn
    page = journal.read(ReadStreams(0, 99))
    assert isinstance(page, list)
    assert [found.pledged for found in page] == [
        digests(1, 40, stream=stream_of(number)) for number in range(40)
    ]
    assert not (crashed / "votes.lost").exists()
    journal.close()


def test_a_damaged_record_is_reported_after_a_crash_too(crashed: Path) -> None:
    flip(crashed, key_of(crashed, 7, cells.VOTES), 30)
    flip(crashed, key_of(crashed, 9, cells.OPENING), 30)
    journal = reopen(crashed, boot="boot-2")
    silent = stream_of(6)
    assert {each.stream for each in journal.damage} == {silent, None}
    assert state(journal, silent).closed
    assert journal.read(ReadStream(stream_of(8))) is None
    journal.close()
    journal = reopen(crashed, boot="boot-2")
    assert [each.stream for each in journal.damage] == [silent]
    assert journal.reborn == ""
    journal.close()


def test_an_environment_that_cannot_be_opened_is_set_aside(path: Path) -> None:
    tear_meta(path / "votes" / "data.mdb", Random(1))
    torn = (path / "votes" / "data.mdb").read_bytes()
    journal = reopen(path)
    assert "set aside" in journal.reborn
    assert (path / "votes.lost" / "data.mdb").read_bytes()[: 2 * PAGE] == torn[: 2 * PAGE]
    assert journal.read(ReadStreams(0, 9)) == []
    journal.close()
    assert reopen_life(path) == 1000


def reopen_life(path: Path) -> int:
    journal = reopen(path)
    assert journal.reborn == ""
    assert journal.life is not None
    counter = journal.life.valid[-1][0].counter
    journal.close()
    return counter


def test_only_what_is_owed_stands_on_the_disk(path: Path) -> None:
    assert len(records(path)) == 2 + 2 * 2 + 4  # the journal's own, two a stream, runs of votes
