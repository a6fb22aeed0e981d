"""The tree is tidy, and every check of `tests/tidy.py` can fail."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests import tidy

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / tidy.PACKAGE


def python_files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }


def tracked_files() -> list[Path]:
    """What git tracks or would; outside a checkout, everything that is not hidden."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        paths = [path for path in ROOT.rglob("*") if "/." not in path.relative_to(ROOT).as_posix()]
    else:
        paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def report(faults: list[str]) -> None:
    assert not faults, "\n" + "\n".join(faults)


# -- the real tree -----------------------------------------------------------------------------


def test_imports_point_downward() -> None:
    files = python_files(PACKAGE)
    report([each for path in files for each in tidy.direction_faults(path, files[path])])


def test_machines_do_no_io() -> None:
    files = python_files(PACKAGE)
    assert any(path.startswith("core/") for path in files)
    report([each for path in files for each in tidy.sans_io_faults(path, files[path])])


def test_files_and_functions_are_short() -> None:
    faults: list[str] = []
    for folder, functions in ((PACKAGE, True), (ROOT / "tests", False)):
        for path, source in python_files(folder).items():
            faults += tidy.size_faults(f"{folder.name}/{path}", source, functions=functions)
    report(faults)


def test_every_room_says_what_it_is_for() -> None:
    report(tidy.room_faults(python_files(PACKAGE)))


def test_no_text_names_hosts_or_machines() -> None:
    paths = tracked_files()
    assert Path(__file__).resolve() in paths
    faults: list[str] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not a text
        faults += tidy.text_faults(path.relative_to(ROOT).as_posix(), text)
    report(faults)


def test_the_contracts_of_import_linter_name_the_same_rows() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(
        contract["layers"]
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    rows = [
        {name.strip(" ()") for name in layer.replace("|", ":").split(":")}
        for layer in reversed(layers)
    ]
    assert rows == [set(row) for row in tidy.ROWS]
    apart = {
        frozenset(name.strip(" ()") for name in layer.split("|"))
        for layer in layers
        if "|" in layer
    }
    assert apart == set(tidy.APART)


# -- directions can fail -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("core/a.py", "from quorumcast.auth import tags"),
        ("core/a.py", "import quorumcast.auth.tags"),
        ("core/a.py", "from quorumcast import auth"),
        ("core/a.py", "import quorumcast"),
        ("core/a.py", "from quorumcast import connect"),
        ("core/a.py", "from .. import auth"),
        ("core/a.py", "from .ids import Stream"),
        ("core/a.py", "def f():\n    import quorumcast.wire"),
        ("core/a.py", "if TYPE_CHECKING:\n    from quorumcast.wire.frames import Frame"),
        ("auth/a.py", "from quorumcast.wire import frames"),
        ("wire/a.py", "from quorumcast.events import batch"),
        ("events/a.py", "from quorumcast.wire import frames"),
        ("broadcast/a.py", "from quorumcast.broker import replica"),
        ("broadcast/a.py", "from quorumcast.events import batch"),
        ("broker/a.py", "from quorumcast.client import publisher"),
        ("client/a.py", "from quorumcast.broker import replica"),
        ("client/a.py", "from quorumcast.sim import world"),
        ("broker/a.py", "import pyarrow as pa"),
        ("broker/a.py", "from pyarrow import ipc"),
        ("broker/a.py", "import quorumcast.events"),
        ("sim/a.py", "from quorumcast.api import connect"),
        ("api/a.py", "from quorumcast.cli import main"),
        ("attic/a.py", ""),
    ],
)
def test_a_wrong_direction_is_found(path: str, source: str) -> None:
    assert len(tidy.direction_faults(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("__init__.py", "from quorumcast.api import connect"),
        ("auth/a.py", "from quorumcast.core.ids import Stream"),
        ("auth/a.py", "from quorumcast.auth.tags import tag"),
        ("wire/a.py", "from quorumcast.auth import tags"),
        ("events/a.py", "import pyarrow"),
        ("client/a.py", "from quorumcast.events import batch"),
        ("runtime/a.py", "from quorumcast.store import log"),
        ("api/a.py", "from quorumcast import __version__"),
        ("cli/a.py", "from quorumcast import connect"),
        ("spark/a.py", "import quorumcast"),
        ("core/a.py", "import quorumcastle"),
    ],
)
def test_a_right_direction_is_left_alone(path: str, source: str) -> None:
    assert tidy.direction_faults(path, source) == []


# -- sans-IO can fail --------------------------------------------------------------------------


@pytest.mark.parametrize("room", sorted(tidy.SANS_IO_ROOMS))
@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "import socket",
        "import time as clock",
        "from time import monotonic",
        "import random",
        "import os.path",
        "from os import urandom",
        "import logging",
        "import threading, struct",
        "import subprocess",
        "from pathlib import Path",
        "import secrets",
        "import selectors",
        "import ssl",
        "import uuid",
        "def f():\n    import importlib",
        "from datetime import datetime\nx = datetime.now()",
        "from datetime import datetime as dt\nx = dt.utcnow()",
        "import datetime\nx = datetime.date.today()",
        "open('x')",
        "print(1)",
        "say = print",
        "x = input()",
        "__import__('os')",
        "Ed25519PrivateKey.generate()",
        "AESGCM.generate_key(128)",
        "from Crypto import urandom",
    ],
)
def test_io_time_and_entropy_are_found(room: str, source: str) -> None:
    assert len(tidy.sans_io_faults(f"{room}/a.py", source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Call open() and print() and time.time()."""',
        "stream.open(x)",
        "class A:\n    def open(self): ...\n    def print(self): ...",
        "self.now = now\nself.agenda.due(self.now)",
        "from datetime import datetime\nx = datetime.fromisoformat(y)",
        "import re\nx = re.compile('a')",
        "from quorumcast.core.machine import Out",
    ],
)
def test_pure_code_is_left_alone(source: str) -> None:
    assert tidy.sans_io_faults("core/a.py", source) == []


def test_drivers_may_do_io() -> None:
    assert tidy.sans_io_faults("runtime/a.py", "import asyncio\nprint(open('x'))") == []


# -- the others can fail -----------------------------------------------------------------------


def test_a_long_file_is_found() -> None:
    longest = "x = 1\n" * tidy.FILE_LINES
    assert tidy.size_faults("a.py", longest, functions=True) == []
    assert len(tidy.size_faults("a.py", longest + "x = 1\n", functions=False)) == 1


@pytest.mark.parametrize("head", ["def f():\n", "async def f():\n", "@cache\ndef f():\n"])
def test_a_long_function_is_found(head: str) -> None:
    longest = head + "    x = 1\n" * (tidy.FUNCTION_LINES - 1)
    assert tidy.size_faults("a.py", longest, functions=True) == []
    assert len(tidy.size_faults("a.py", longest + "    x = 1\n", functions=True)) == 1
    assert tidy.size_faults("a.py", longest + "    x = 1\n", functions=False) == []


def test_a_long_method_is_found_and_its_docstring_does_not_count() -> None:
    lines = ["class A:", "    def f(self):", '        """Say.', *[""] * 50, '        """']
    lines += ["        x = 1"] * (tidy.FUNCTION_LINES - 1)
    assert tidy.size_faults("a.py", "\n".join(lines), functions=True) == []
    lines.append("        x = 1")
    assert len(tidy.size_faults("a.py", "\n".join(lines), functions=True)) == 1


def test_a_silent_room_is_found() -> None:
    good = {"__init__.py": '"""All."""', "core/__init__.py": '"""Words."""', "core/a.py": ""}
    assert tidy.room_faults(good) == []
    assert len(tidy.room_faults(good | {"core/__init__.py": "x = 1"})) == 1
    assert len(tidy.room_faults(good | {"core/__init__.py": '""""""'})) == 1
    assert len(tidy.room_faults(good | {"wire/frames.py": ""})) == 1
    assert len(tidy.room_faults(good | {"core/deep/a.py": ""})) == 1


@pytest.mark.parametrize("host", tidy.HOSTS)
def test_a_registry_host_is_found(host: str) -> None:
    assert len(tidy.text_faults("a.txt", f"x==1 from https://files.{host.upper()}/x")) == 1


@pytest.mark.parametrize("folder", ["work", "root", "home"])
@pytest.mark.parametrize("frame", ["{}", "cd {}/x", "path={}/me", '"{}"', "({}/a)", "file:{}/b"])
def test_a_folder_of_one_machine_is_found(folder: str, frame: str) -> None:
    text = "first\n" + frame.format("/" + folder)
    assert [each.split(" ")[0] for each in tidy.text_faults("a.txt", text)] == ["a.txt:2:"]


@pytest.mark.parametrize(
    "text", ["net/work", "./work", "~/work", "/workers", "/homework", "chain/root", "/root-cause"]
)
def test_other_paths_are_left_alone(text: str) -> None:
    assert tidy.text_faults("a.txt", text) == []
