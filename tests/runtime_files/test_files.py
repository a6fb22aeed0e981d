"""Files are whole or not there, and secrets are their owner's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.files import NotPermitted, only_one, read_secret, unwritable, write_file


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def loose_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("loose_umask")
def test_a_secret_is_its_owners_whatever_the_umask(tmp_path: Path) -> None:
    write_file(tmp_path / "a.key", "x", secret=True)
    assert mode(tmp_path / "a.key") == 0o600
    (tmp_path / "a.key").chmod(0o644)
    write_file(tmp_path / "a.key", "y", secret=True)
    assert mode(tmp_path / "a.key") == 0o600
    assert read_secret(tmp_path / "a.key") == "y"


def test_a_public_file_follows_the_umask_and_keeps_its_mode(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o640
    (tmp_path / "a").chmod(0o604)
    write_file(tmp_path / "a", "y")
    assert mode(tmp_path / "a") == 0o604


def test_nothing_is_left_beside_a_file(tmp_path: Path) -> None:
    write_file(tmp_path / "a", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="folder: cannot be written: Is a directory"):
        write_file(tmp_path / "folder", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
    with pytest.raises(ConfigError, match="b: cannot be written: No such file or directory"):
        write_file(tmp_path / "missing" / "b", "x")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("loose", [0o640, 0o604, 0o644, 0o620, 0o660, 0o601])
def test_a_secret_that_others_may_use_is_refused_with_the_command(
    tmp_path: Path, loose: int
) -> None:
    path = tmp_path / "it's.key"
    write_file(path, "x", secret=True)
    path.chmod(loose)
    with pytest.raises(ConfigError) as raised:
        read_secret(path)
    assert f"others may use it (mode {loose:04o})" in str(raised.value)
    command = str(raised.value).rpartition(": ")[2]
    subprocess.run(command, shell=True, check=True)
    assert read_secret(path) == "x", "the advice helps"


def test_secrets_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a: cannot be read: No such file"):
        read_secret(tmp_path / "a")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_secret(tmp_path)
    (tmp_path / "b").write_bytes(b"\xff")
    (tmp_path / "b").chmod(0o600)
    with pytest.raises(ConfigError, match="not UTF-8: this is not a file of keys"):
        read_secret(tmp_path / "b")


def test_a_missing_right_is_told_from_a_wrong_path() -> None:
    denied = unwritable(Path("a"), PermissionError(13, "Permission denied"))
    full = unwritable(Path("a"), OSError(28, "No space left on device"))
    assert isinstance(denied, NotPermitted)
    assert isinstance(full, ConfigError)
    assert str(full) == "a: cannot be written: No space left on device"


HOLD = """
import sys
from pathlib import Path
from quorumcast.runtime.files import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_command_at_a_time_changes_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with (
            pytest.raises(ConfigError, match="another command is changing this cluster"),
            only_one(tmp_path),
        ):
            raise AssertionError("held twice")
        other.communicate(timeout=60)
    with only_one(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    with (
        pytest.raises(ConfigError, match="cannot be opened: No such file"),
        only_one(tmp_path / "missing"),
    ):
        raise AssertionError("held nothing")
