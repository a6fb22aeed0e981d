"""Incarnations: the first life, and a new one whenever votes may be missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quorumcast.core.ids import FIRST, Incarnation
from quorumcast.core.records import Incarnated
from quorumcast.store import Journal, StorageError, boot_id, create
from tests.store.making import OPENED, accepted, again, digests, fresh, noise, state

NOISE = int.from_bytes(noise(8), "big")


def current(journal: Journal) -> Incarnation:
    assert journal.life is not None
    return journal.life.valid[-1][0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "journal"


def test_a_new_replica_lives_the_first_life(path: Path) -> None:
    journal = fresh(path)
    assert journal.life == Incarnated(((FIRST, 0.0),), (FIRST,) * 4)
    assert journal.reborn == ""
    journal.close()


def test_a_journal_is_not_made_twice(path: Path) -> None:
    fresh(path).close()
    with pytest.raises(StorageError, match="already"):
        create(path, 1, 4)
    shutil.rmtree(path / "votes")  # the votes are gone, and that they were there is known
    with pytest.raises(StorageError, match="already"):
        create(path, 1, 4)


def test_a_journal_that_is_gone_draws_a_life(path: Path) -> None:
    journal = again(path, now_ms=5000)
    drawn = Incarnation(5000, NOISE)
    assert journal.life == Incarnated(((drawn, 5.0),), (FIRST, drawn, FIRST, FIRST))
    assert "new or gone" in journal.reborn
    journal.close()
    journal = again(path, now_ms=6000)
    assert (current(journal), journal.reborn) == (drawn, "")
    journal.close()


def test_the_votes_alone_deleted_is_a_life_above_the_old_one(path: Path) -> None:
    again(path, now_ms=5000).close()
    shutil.rmtree(path / "votes")
    journal = again(path, now_ms=7)  # the clock went back, too
    assert current(journal).counter == 5001
    journal.close()


def test_a_closed_journal_lives_on_under_another_boot(path: Path) -> None:
    journal = fresh(path, boot="boot-1")
    journal.commit([OPENED, accepted(1, 2)])
    journal.close()
    journal = again(path, boot="boot-2")
    assert (current(journal), journal.reborn) == (FIRST, "")
    assert state(journal).pledged == digests(1, 2)
    journal.close()


def left_open(path: Path, journal: Journal, to: Path) -> None:
    """What the disk has when the process ends without closing: a copy of the folder."""
    shutil.copytree(path, to)
    journal.close()


def test_a_process_that_ended_loses_nothing_under_the_same_boot(path: Path, tmp_path: Path) -> None:
    journal = fresh(path, boot="boot-1")
    journal.commit([OPENED, accepted(1, 2)])
    left_open(path, journal, tmp_path / "left")
    journal = again(tmp_path / "left", boot="boot-1")
    assert (current(journal), journal.reborn) == (FIRST, "")
    assert state(journal).pledged == digests(1, 2)
    journal.close()


@pytest.mark.parametrize("boot", ["boot-2", ""])
def test_a_machine_that_stopped_begins_a_new_life_with_the_votes_it_finds(
    path: Path, tmp_path: Path, boot: str
) -> None:
    seen = (Incarnation(3, 3), FIRST, FIRST, Incarnation(4, 4))
    journal = fresh(path, boot="boot-1")
    journal.commit([OPENED, accepted(1, 2), Incarnated(((FIRST, 0.0),), seen)])
    left_open(path, journal, tmp_path / "left")
    journal = again(tmp_path / "left", boot=boot, now_ms=9000)
    drawn = Incarnation(9000, NOISE)
    assert journal.life == Incarnated(((drawn, 9.0),), (seen[0], drawn, FIRST, seen[3]))
    assert "the machine stopped" in journal.reborn
    assert state(journal).pledged == digests(1, 2)
    journal.close()
    journal = again(tmp_path / "left", boot="boot-3")  # it was closed: one new life is enough
    assert (current(journal), journal.reborn) == (drawn, "")
    journal.close()


def test_where_the_system_does_not_tell_its_boot_only_a_clean_end_counts(
    path: Path, tmp_path: Path
) -> None:
    journal = fresh(path, boot="")
    left_open(path, journal, tmp_path / "left")
    journal = again(tmp_path / "left", boot="")
    assert "the machine stopped" in journal.reborn
    journal.close()
    journal = again(tmp_path / "left", boot="")
    assert journal.reborn == ""
    journal.close()


def test_a_life_that_was_rotated_is_never_drawn_again(path: Path, tmp_path: Path) -> None:
    journal = fresh(path, boot="boot-1")
    rotated = Incarnation(8000, 1)
    journal.commit([Incarnated(((FIRST, 0.0), (rotated, 1.0)), (FIRST, rotated, FIRST, FIRST))])
    left_open(path, journal, tmp_path / "left")
    shutil.rmtree(tmp_path / "left" / "votes")
    journal = again(tmp_path / "left", boot="boot-1", now_ms=10)
    assert current(journal).counter == 8001
    journal.close()


@pytest.mark.parametrize("how", ["missing", "damaged", "empty"])
def test_without_its_mark_a_journal_begins_a_new_life(path: Path, how: str) -> None:
    journal = fresh(path)
    journal.commit([OPENED, accepted(1, 2)])
    journal.close()
    mark = path / "mark"
    if how == "missing":
        mark.unlink()
    else:
        mark.write_bytes(b"" if how == "empty" else mark.read_bytes()[:-1] + b"!")
    journal = again(path, now_ms=2)
    assert (current(journal).counter, "mark" in journal.reborn) == (2, True)
    assert state(journal).pledged == digests(1, 2)
    journal.close()


def test_the_system_names_its_boot() -> None:
    assert len(boot_id()) >= 16
