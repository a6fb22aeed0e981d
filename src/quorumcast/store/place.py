"""The journal's folder: its lock, its mark, its environment, and what is done after a crash.

- `lock`: held by the process that has the journal open, with its process id
- `mark`: under which boot of the machine it was opened, whether it was closed since, and the
  highest incarnation it ever had; replaced in one piece and synced
- `votes`: the LMDB environment; commits are not synced, so that they survive the end of the
  process at any moment, and may be lost when the machine stops
- `votes.lost`: an environment that could not be trusted, set aside for a person to look at

LMDB reuses pages, so that after a crash of the machine an unsynced environment may be torn
anywhere. It is then read by a process of its own, which may fail without harm, and everything
that can be read is copied to a new one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import lmdb
import msgspec

from quorumcast.store.cells import pack, seal, unseal
from quorumcast.store.errors import JournalInUse, StorageError, StorageFull

MAP_BYTES = 4 * 2**30
"""The most that the environment's file may grow to; the file is as large as it needs to be."""

SALVAGE_SECONDS = 60
"""How long a torn environment is read before it is given up."""

_LOCK_ATTEMPTS = 10
_LOCK_SECONDS = 0.01
"""Who asks for the holder has the lock for a moment: that is not a replica that runs."""

_MARK = b"mark"

TORN = (
    lmdb.BadChecksumError,
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
)
"""Errors that say that the environment is not what LMDB wrote."""


_NO_ROOM = ("No space left", "File too large", "quota exceeded")


class Mark(msgspec.Struct, array_like=True, frozen=True):
    """Under which boot the journal was opened, if it was closed since, the highest incarnation.

    >>> Mark("", True, 1).clean
    True
    """

    boot: str
    clean: bool
    highest: int


_decoder = msgspec.msgpack.Decoder(Mark)


class Place:
    """A journal's folder, locked by this process until `release`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.votes = path / "votes"
        self._mark = path / "mark"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise trouble(path, error) from error
        try:
            _lock(self._lock)
        except BlockingIOError:
            found = _written(self._lock) or "unknown"
            os.close(self._lock)
            raise JournalInUse(
                f"{path} is in use by process {found}: a replica runs once; stop that one first"
            ) from None
        except OSError as error:
            os.close(self._lock)
            raise trouble(path, error) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others open it; the lock's file stays."""
        os.ftruncate(self._lock, 0)
        os.close(self._lock)

    # -- the mark ------------------------------------------------------------------------------

    def mark(self) -> Mark | None:
        """What was marked last; None where nothing was, or it is damaged."""
        try:
            value = unseal(_MARK, self._mark.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise trouble(self.path, error) from error
        if value is None:
            return None
        try:
            return _decoder.decode(value)
        except msgspec.DecodeError:
            return None

    def set_mark(self, mark: Mark) -> None:
        """Replace the mark, durably."""
        fresh = self._mark.with_name("mark.new")
        try:
            with fresh.open("wb") as file:
                file.write(seal(_MARK, pack(mark)))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._mark)
            self._sync_folder()
        except OSError as error:
            raise trouble(self.path, error) from error

    def _sync_folder(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    # -- the environment -----------------------------------------------------------------------

    def open(self, map_bytes: int) -> lmdb.Environment:
        """The environment, made where there is none."""
        try:
            return open_environment(self.votes, map_bytes)
        except TORN:
            raise
        except (lmdb.Error, OSError) as error:
            raise trouble(self.path, error) from error

    def salvage(self, map_bytes: int) -> str:
        """Replace an environment that may be torn by what can be read of it; says what happened.

        Where it cannot be read at all, an empty one takes its place.
        """
        fresh, lost = self.path / "votes.new", self.path / "votes.lost"
        if not self.votes.exists():
            return "there were no votes"
        for old in (fresh, lost):
            shutil.rmtree(old, ignore_errors=True)
        command = [sys.executable, "-m", "quorumcast.store.salvage"]
        command += [str(self.votes), str(fresh), str(map_bytes)]
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, timeout=SALVAGE_SECONDS, text=True, check=False
            )
            code = done.returncode
        except subprocess.TimeoutExpired:
            code = 1
        try:
            self.votes.rename(lost)
            if code == 0:
                fresh.rename(self.votes)
                shutil.rmtree(lost)
                told = "the votes that could be read were kept"
            else:
                shutil.rmtree(fresh, ignore_errors=True)
                told = f"the votes could not be read, and were set aside in {lost}"
            self._sync_folder()
        except OSError as error:
            raise trouble(self.path, error) from error
        return told


def holder(path: Path) -> int | None:
    """The living process that has the journal in this folder open; None if there is none.

    >>> holder(Path("nowhere"))
    """
    try:
        lock = os.open(path / "lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        found = _written(lock)
        return int(found) if found.isdecimal() and _lives(int(found)) else None
    except OSError:
        return None
    finally:
        os.close(lock)  # which unlocks it
    return None


def _lock(file: int) -> None:
    for _ in range(_LOCK_ATTEMPTS):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_SECONDS)
    return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _written(lock: int) -> str:
    return os.pread(lock, 32, 0).decode("ascii", "replace").strip()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is somebody else's, and lives
    return True


def open_environment(folder: Path, map_bytes: int) -> lmdb.Environment:
    """An LMDB environment whose commits reach the system and are not synced.

    LMDB's own lock is not used: `lock` keeps other processes away. Nor are pages written through
    the map: a full disk would kill the process, where a write gives an error.
    """
    # LMDB would make the folder with the mode of its files, and then only root could enter it.
    folder.mkdir(mode=0o700, exist_ok=True)
    return lmdb.open(
        str(folder),
        map_size=map_bytes,
        mode=0o600,
        sync=False,
        metasync=False,
        lock=False,
        max_dbs=0,
    )


def trouble(path: Path, error: Exception) -> StorageError:
    """The error to raise where the system or LMDB gave one.

    >>> trouble(Path("r1/journal"), OSError(28, "No space left on device"))
    StorageFull('r1/journal: ... no room on the disk ...')
    """
    if isinstance(error, lmdb.MapFullError):
        return StorageFull(
            f"{path}: nothing was stored, the journal's map is full: open it with larger map_bytes"
        )
    if isinstance(error, lmdb.DiskError) or any(each in str(error) for each in _NO_ROOM):
        return StorageFull(
            f"{path}: nothing was stored, there is no room on the disk ({error}): make some, then "
            "start the replica again"
        )
    return StorageError(f"{path}: nothing was stored: {error}")
