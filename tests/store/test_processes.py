"""Real processes: one that is killed loses nothing, two cannot have one journal, disks fill up."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.store import JournalInUse
from tests.store.committing import CONFIRMS
from tests.store.making import OTHER, again, digests, fresh, state

ROOT = Path(__file__).resolve().parents[2]


def run(how: str, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.committing", how, str(path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def kill_after(path: Path, lines: int) -> int:
    """Let a process commit, kill it after so many positions; returns the last that it printed."""
    with run("loop", path) as process:
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split("\n")[:-1]
        process.wait()
    assert process.returncode == -signal.SIGKILL
    return int(rest[-1]) if rest else lines


@pytest.mark.parametrize("lines", [1, 60, 400])
def test_what_a_killed_process_committed_is_there(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "journal"
    printed = kill_after(path, lines)
    journal = again(path)
    assert journal.reborn == ""
    assert journal.damage == ()
    first, second = state(journal), state(journal, OTHER)
    last = first.confirmed.seq + len(first.pledged) // D
    assert printed <= last <= printed + 1  # the last commit may not have been printed
    assert first.confirmed.seq == max(0, last // CONFIRMS * CONFIRMS - 2)
    assert first.pledged == digests(first.confirmed.seq + 1, last)
    # Both streams were written in one commit: all of it or nothing.
    assert second.pledged == digests(1, last, stream=OTHER)
    journal.close()


def test_a_journal_that_is_killed_again_and_again_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    before = 0
    for _ in range(3):
        kill_after(path, 25)
        journal = again(path)
        found = state(journal)
        last = found.confirmed.seq + len(found.pledged) // D
        assert last >= before + 25
        assert state(journal, OTHER).pledged == digests(1, last, stream=OTHER)
        before = last
        journal.close()


def test_two_processes_cannot_have_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with run("hold", path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(JournalInUse, match=rf"{path} is in use by process {process.pid}:"):
            again(path)
        process.communicate("")
    assert process.returncode == 0
    again(path).close()


def test_a_killed_process_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with run("hold", path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    again(path).close()


def test_one_process_cannot_open_it_twice_either(tmp_path: Path) -> None:
    journal = fresh(tmp_path / "journal")
    with pytest.raises(JournalInUse):
        again(tmp_path / "journal")
    journal.close()


def test_a_disk_that_is_full_is_a_clear_error_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with run("full", path) as process:
        told, _ = process.communicate("", timeout=60)
    assert process.returncode == 0
    error, committed, head, after = told.splitlines()
    assert error.startswith("Storage")
    assert f"{path}: nothing was stored" in error
    assert int(committed) > 0
    assert head == committed
    assert int(after) == int(committed) + 1  # there is room again, and it works on
    journal = again(path)
    assert journal.reborn == ""
    assert state(journal).pledged == digests(1, int(after))
    journal.close()
