"""Files that are whole or not there, and secrets that nobody else can read.

A file is written beside its place, synced and renamed, so that a crash leaves the old one or the
new one. A secret has mode 0600 from its first byte on; one that others can read is refused when it
is loaded, since who copied it cannot be told.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from secrets import token_hex

from quorumcast.core.errors import ConfigError, QuorumcastError

CLUSTER_FILE = "cluster.toml"
CLIENT_SUFFIX = ".qc"
"""How the file of a cluster and those of clients are called."""

SECRET = 0o600
PUBLIC = 0o644
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NotPermitted(QuorumcastError):
    """What somebody may not do here, for want of a key or of a right to a file.

    >>> issubclass(NotPermitted, QuorumcastError)
    True
    """


class Busy(ConfigError):
    """Another process is changing the cluster's folder.

    >>> issubclass(Busy, ConfigError)
    True
    """


def write_file(path: Path, text: str, *, secret: bool = False) -> None:
    """Write a file whole, in place of the one that is there; a secret is readable by its owner.

    A public file that is replaced keeps its mode.
    """
    path = path.resolve()  # a link stays a link to the file that is replaced
    beside = path.with_name(f".{path.name[:100]}.{token_hex(8)}")
    mode = SECRET
    if not secret:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else PUBLIC & ~_umask()
    try:
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise unwritable(path, error) from None
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_secret(path: Path) -> str:
    """The text of a file that nobody else can read, or `ConfigError`.

    The mode is that of the file that is read, not of whatever has its name a moment later.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & _OTHERS:
                raise ConfigError(
                    f"{path}: holds private keys and others may use it (mode "
                    f"{stat.S_IMODE(mode):04o}): chmod 600 {shlex.quote(str(path))}"
                )
            return file.read().decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8: this is not a file of keys") from None
    except PermissionError:
        raise NotPermitted(f"{path}: only its owner may read it") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def unwritable(path: Path, error: OSError) -> QuorumcastError:
    """The error for a file or folder that cannot be written.

    >>> str(unwritable(Path("a"), PermissionError(13, "Permission denied")))
    'a: cannot be written: Permission denied'
    """
    kind = NotPermitted if isinstance(error, PermissionError) else ConfigError
    return kind(f"{path}: cannot be written: {error.strerror}")


@contextmanager
def only_one(folder: Path) -> Generator[None]:
    """Hold the folder against other processes that would change it at the same time."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be opened: {error.strerror}") from None
    try:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except OSError:
            raise Busy(
                f"{folder}: another command is changing this cluster: try again when it is done"
            ) from None
        yield
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
