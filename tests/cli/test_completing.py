"""What a shell completes: quickly, from files alone, and without a word about what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from quorumcast.cli import app
from quorumcast.cli.app import COMMANDS, Commands
from quorumcast.runtime.folder import add_client, make_cluster

HEAVY = ("pyarrow", "uvloop", "asyncio", "cryptography", "quorumcast.api", "quorumcast.broker")
"""What nobody waits for who presses Tab."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completing") / "cluster"
    make_cluster(folder)
    add_client(folder, "probe-7")
    text = (folder / "cluster.toml").read_text()
    changed = text.replace('name = "alerts"', 'name = "alerts"\nschema = { severity = "int8" }')
    (folder / "cluster.toml").write_text(changed)
    return folder


def candidates(folder: Path, *words: str) -> list[str]:
    """The same within this process."""
    done = CliRunner().invoke(
        app,
        [],
        prog_name="quorumcast",
        env={
            "QUORUMCAST_CLUSTER": str(folder),
            "_QUORUMCAST_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["quorumcast", *words]),
            "COMP_CWORD": str(len(words)),
        },
    )
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ch"], ["channels", "channel"]),
        (["pub", ""], ["alerts", "events", "metrics"]),
        (["sub", "e"], ["events"]),
        (["stop", ""], ["r1", "r2", "r3", "r4"]),
        (["start", "r3"], ["r3"]),
        (["replica", "r4"], ["r4"]),
        (["keys", "revoke", ""], ["local", "probe-7"]),
        (["pub", "events", "--as", "p"], ["probe-7"]),
        (["sub", "events", "--from", ""], ["earliest", "latest"]),
        (["pub", "alerts", "--set", "s"], ["severity="]),
        (["pub", "nowhere", "--set", "s"], []),
        (["channel", "add", "--protocol", ""], ["ab", "bracha", "plain"]),
        (["channel", ""], ["add", "sign"]),
    ],
)
def test_names_are_completed(folder: Path, words: list[str], expected: list[str]) -> None:
    assert candidates(folder, *words) == expected


def test_an_option_of_the_line_says_which_cluster(folder: Path, tmp_path: Path) -> None:
    words = ["stop", "--cluster", str(folder), ""]
    assert candidates(tmp_path / "nowhere", *words) == ["r1", "r2", "r3", "r4"]


@pytest.mark.parametrize("text", ["", "no TOML [", "channel = 3", "[[channel]]\nnme = 1", "\xff"])
def test_whatever_is_wrong_with_the_files_nothing_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.toml").write_bytes(text.encode("latin-1"))
    for words in (["pub", ""], ["stop", ""], ["pub", "x", "--set", ""], ["pub", "x", "--as", ""]):
        assert candidates(tmp_path, *words) == []


@pytest.mark.parametrize("words", [["pub", ""], ["stop", ""], ["sub", "events", "--as", ""], [""]])
def test_completion_imports_nothing_heavy(folder: Path, words: list[str]) -> None:
    code = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print(*[each for each in {HEAVY!r} if each in sys.modules]))\n"
        "from quorumcast.cli import app\n"
        "app(prog_name='quorumcast')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={
            **os.environ,
            "QUORUMCAST_CLUSTER": str(folder),
            "_QUORUMCAST_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["quorumcast", *words]),
            "COMP_CWORD": str(len(words)),
        },
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) > 1, "it completes something"
    assert lines[-1] == "", "of what is heavy nothing was imported"


def test_help_imports_nothing_heavy() -> None:
    for arguments in ([], ["pub"], ["sub"], ["up"], ["status"], ["channels"], ["keys", "add"]):
        code = (
            "import sys\n"
            "from quorumcast.cli import app\n"
            f"app({[*arguments, '--help']!r}, standalone_mode=False)\n"
            f"print(*[each for each in {HEAVY!r} if each in sys.modules])\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        assert "Usage" in done.stdout
        assert done.stdout.splitlines()[-1] == "", arguments


@pytest.mark.parametrize("name", ["quorumcast", "qc"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_the_shell_is_shown_for_both_names(name: str, shell: str) -> None:
    code = (
        f"from quorumcast.cli import app\napp(['--show-completion', {shell!r}], prog_name={name!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert f"_{name.upper()}_COMPLETE=complete_{shell}" in done.stdout
    assert name in done.stdout.split()


@pytest.mark.parametrize("name", ["quorumcast", "qc"])
def test_bash_completes_with_the_script_that_is_shown(
    name: str, folder: Path, tmp_path: Path
) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / name
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom quorumcast.cli import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    script = (
        f'eval "$({name} --show-completion)"\n'
        f"COMP_WORDS=({name} stop r) COMP_CWORD=2\n"
        f"$(complete -p {name} | sed 's/.*-F \\([^ ]*\\) .*/\\1/') {name} r stop\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "QUORUMCAST_CLUSTER": str(folder),
        },
    )
    assert done.stdout == "r1 r2 r3 r4\n", done.stderr


def test_the_help_of_all_says_of_each_command_what_its_own_does() -> None:
    commands = Commands()
    root = typer.main.get_command(app)
    context = root.make_context("quorumcast", ["status"])
    assert root.list_commands(context) == list(COMMANDS)  # type: ignore[attr-defined]
    for name, source in COMMANDS.items():
        told = commands.load(name).help
        assert told.split("\n")[0] == source.help, name


def test_every_command_has_examples_in_its_help() -> None:
    for name in sorted(set(COMMANDS) - {"demo"}):
        done = CliRunner().invoke(app, [name, "--help"])
        assert "Examples:" in done.stdout, name
        assert f"quorumcast {name}" in done.stdout, name
