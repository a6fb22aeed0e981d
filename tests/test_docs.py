"""What the documentation says is true: code runs, links lead somewhere, commands parse."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import typer

from quorumcast.cli.app import COMMANDS as COMMANDS_BY_NAME
from quorumcast.cli.app import Commands
from quorumcast.core.errors import ConfigError
from quorumcast.sim.campaign import spread
from quorumcast.sim.scenario import Scenario

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")


class Block(NamedTuple):
    """Fenced text, and where it begins."""

    path: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line}"


def blocks_of(path: str, text: str) -> list[Block]:
    return [
        Block(path, text.count("\n", 0, found.start(2)) + 1, found[1], found[2])
        for found in _FENCE.finditer(text)
    ]


def links_of(text: str) -> list[str]:
    """Where the links and pictures of a text point, fenced text left out."""
    return _LINK.findall(_FENCE.sub("", text))


def anchors_of(text: str) -> set[str]:
    """The names of a text's headings, as links spell them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def link_fault(path: str, link: str) -> str | None:
    """What is wrong with a link in that file; None if nothing is."""
    if _ELSEWHERE.match(link):
        return None
    target, _, anchor = unquote(link).partition("#")
    there = (ROOT / path).parent / target if target else ROOT / path
    if not there.exists():
        return f"{path}: {link} does not exist"
    if not there.resolve().is_relative_to(ROOT):
        return f"{path}: {link} is outside"
    if anchor and anchor not in anchors_of(there.read_text(encoding="utf-8")):
        return f"{path}: {link} has no such heading"
    return None


def commands_of(block: Block) -> list[list[str]]:
    """The command lines of a console block: after a prompt if it has any, without comments."""
    lines = block.text.replace("\\\n", " ").splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    found = [shlex.split(line, comments=True) for line in prompted or lines]
    return [words for words in found if words]


BLOCKS = [block for path, text in TEXTS.items() for block in blocks_of(path, text)]
TUTORIAL = "docs/tutorial.md"
"""Its blocks are one story: they are run in their order, in one folder, and not one by one."""

PYTHON = [block for block in BLOCKS if block.language == "python" and block.path != TUTORIAL]
COMMANDS = [
    (block.name, words)
    for block in BLOCKS
    if block.language == "console" and block.path != TUTORIAL
    for words in commands_of(block)
]


WRONG_USAGE = typer.BadParameter.__mro__[1]
"""What the command line's parser raises; one typer has it inside, another imports it."""


def check_quorumcast(arguments: list[str]) -> None:
    """Parse what `quorumcast` is given, to the last option and value, without running it."""
    name, *rest = arguments
    assert name in COMMANDS_BY_NAME, (
        f"{name} is no command: there are {', '.join(COMMANDS_BY_NAME)}"
    )
    with Commands().load(name).make_context(name, rest) as context:
        if name == "sim":  # names that it looks up only when it runs
            lists = [context.params[each].split(",") for each in ("protocol", "adversary")]
            assert spread(Scenario(), *lists, range(1))


# -- the documentation -----------------------------------------------------------------------------


def test_there_is_documentation_to_check() -> None:
    assert {"README.md", "docs/protocol.md", "docs/architecture.md"} <= set(TEXTS)
    assert len(PYTHON) > 0
    assert any(words[0] == "quorumcast" for _, words in COMMANDS)
    assert any(link.endswith(".svg") for text in TEXTS.values() for link in links_of(text))


@pytest.mark.parametrize("block", PYTHON, ids=[block.name for block in PYTHON])
def test_python_runs(
    block: Block,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = compile("\n" * (block.line - 1) + block.text, block.path, "exec")
    exec(code, {"__name__": "documentation"})
    assert "Traceback" not in capsys.readouterr().err


# -- the tutorial ----------------------------------------------------------------------------------


class Step(NamedTuple):
    """A command or a program of the tutorial, and what it is said to show."""

    name: str
    command: list[str]
    shown: str


def steps_of(blocks: list[Block]) -> list[Step]:
    """What a reader does: commands after prompts, and programs with the text that follows them."""
    steps: list[Step] = []
    for block in blocks:
        if block.language == "console":
            for number, part in enumerate(f"\n{block.text}".split("\n$ ")[1:], 1):
                command, _, shown = part.partition("\n")
                steps.append(Step(f"{block.name} {number}", ["bash", "-c", command], shown))
        elif block.language == "python":
            steps.append(Step(block.name, [sys.executable, "-c", block.text], ""))
        elif block.language == "text" and steps:
            steps[-1] = steps[-1]._replace(shown=block.text)
    return steps


def is_shown(wanted: str, got: str) -> bool:
    """Whether output is what the text shows; `...` stands for anything."""
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, options)


def programs(folder: Path) -> dict[str, str]:
    """An environment with our commands on its path, and nothing remembered from elsewhere."""
    for name in ("quorumcast", "qc"):
        program = folder / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom quorumcast.cli import main\nsys.exit(main())\n"
        )
        program.chmod(0o755)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("QUORUMCAST_")}
    return {
        **kept,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}",
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "COLUMNS": "80",
    }


def test_the_tutorial_happens_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    environment = programs(tmp_path / "bin")

    def run(command: list[str]) -> str:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path / "work",
            env=environment,
        ).stdout

    steps = steps_of([block for block in BLOCKS if block.path == TUTORIAL])
    assert len(steps) > 20
    try:
        for step in steps:
            got = run(step.command)
            assert is_shown(step.shown, got), f"{step.name}: {step.command[-1]}\n{got}"
    finally:
        run(["quorumcast", "down"])


def test_what_the_tutorial_does_not_show_is_found() -> None:
    assert is_shown("stopped ...\n", "stopped r2\n")
    assert not is_shown("stopped r2\n", "stopped r3\n")
    assert not is_shown("", "Traceback\n")
    block = Block("x.md", 1, "console", "$ one | two\nshown\n...\n$ three\n")
    steps = steps_of([block, Block("x.md", 9, "python", "p"), Block("x.md", 12, "text", "q")])
    assert [step.command[-1] for step in steps] == ["one | two", "three", "p"]
    assert [step.shown for step in steps] == ["shown\n...", "", "q"]


@pytest.mark.parametrize("path", TEXTS)
def test_links_and_pictures_are_there(path: str) -> None:
    faults = [link_fault(path, link) for link in links_of(TEXTS[path])]
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize("path", TEXTS)
def test_every_fence_names_a_language_that_is_known(path: str) -> None:
    """A misspelt one would leave its block unchecked; plain text has none."""
    known = {"", "python", "console", "toml", "json", "text"}
    assert {block.language for block in BLOCKS if block.path == path} <= known
    assert TEXTS[path].count("```") == 2 * len(blocks_of(path, TEXTS[path]))


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=lambda each: str(each)[:80])
def test_commands_parse(where: str, words: list[str]) -> None:
    program, *arguments = words
    if program in ("quorumcast", "qc"):
        check_quorumcast(arguments)
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = re.findall(r"^(\w+):", makefile, re.MULTILINE)
        assert {each for each in arguments if "=" not in each} <= set(targets), where
    elif program in ("python", ".venv/bin/python"):
        assert arguments[0] == "-m", where
        assert importlib.util.find_spec(arguments[1]) is not None, where
    else:
        assert program in ("git", "cd", "pip", ".venv/bin/quorumcast"), where


# -- pictures --------------------------------------------------------------------------------------


def drawn() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pictures()


def test_pictures_are_what_the_tool_draws() -> None:
    """If not: `python tools/pictures.py`."""
    made = drawn()
    assert made == drawn()
    assert {path.name for path in PICTURES.iterdir()} == set(made)
    for name, text in made.items():
        assert (PICTURES / name).read_text(encoding="utf-8") == text, name


def test_every_picture_is_shown_somewhere() -> None:
    shown = {Path(link).name for text in TEXTS.values() for link in links_of(text)}
    assert {path.name for path in PICTURES.iterdir()} <= shown


@pytest.mark.parametrize("name", sorted(path.name for path in PICTURES.glob("*.svg")))
def test_pictures_are_well_formed_and_nothing_leaves_them(name: str) -> None:
    root = ElementTree.parse(PICTURES / name).getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["aria-label"]
    for element in root.iter():
        if element.tag.endswith("line"):
            xs, ys = ("x1", "x2"), ("y1", "y2")
        elif element.tag.endswith(("text", "}rect")):
            xs, ys = ("x",), ("y",)
        else:
            continue
        assert all(0 <= float(element.attrib.get(x, "0")) <= width for x in xs)
        assert all(0 <= float(element.attrib.get(y, "0")) <= height for y in ys)
        right = float(element.attrib.get("x", "0")) + float(element.attrib.get("width", "0"))
        assert right <= width


# -- the checks can fail ---------------------------------------------------------------------------


def test_a_dead_link_is_found() -> None:
    assert link_fault("README.md", "docs/no-such-page.md") is not None
    assert link_fault("README.md", "docs/protocol.md#no-such-heading") is not None
    assert link_fault("README.md", "../elsewhere.md") is not None
    assert link_fault("docs/protocol.md", "pictures/votes.svg") is None
    assert link_fault("README.md", "docs/protocol.md#confirmation") is None
    assert links_of("![a](b.svg) and [c d](e.md#f)\n```text\n[x](y)\n```\n") == ["b.svg", "e.md#f"]


@pytest.mark.parametrize(
    "line",
    [
        "sim --seedz 20",
        "sim --seeds many",
        "sim --protocol abc",
        "sim --adversary nobody",
        "simulate",
        "demo --for",
        "sim extra",
    ],
)
def test_a_command_that_does_not_parse_is_found(line: str) -> None:
    with pytest.raises((WRONG_USAGE, ConfigError, AssertionError)):
        check_quorumcast(shlex.split(line))


def test_commands_are_found_with_and_without_prompts() -> None:
    def commands(text: str) -> list[list[str]]:
        return commands_of(Block("x.md", 1, "console", text))

    assert commands("make run     # comment\n\n# only a comment\n") == [["make", "run"]]
    assert commands("$ quorumcast demo\noutput\n$ qc sim --seed 3\n") == [
        ["quorumcast", "demo"],
        ["qc", "sim", "--seed", "3"],
    ]
    assert commands("quorumcast sim \\\n  --seed 3\n") == [["quorumcast", "sim", "--seed", "3"]]
