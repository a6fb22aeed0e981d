"""What keeps the tree tidy, as functions from source text to a list of faults.

Each fault is one line that names the place and what is wrong there. `tests/test_tidy.py` runs
them over the real tree and, to show that they can fail, over small sources made up for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

PACKAGE = "quorumcast"

# A room may import the rooms of lower rows, and those of its own row but for `APART`.
ROWS: tuple[tuple[str, ...], ...] = (
    ("core",),
    ("auth",),
    ("wire", "events"),
    ("broadcast", "consensus"),
    ("broker", "client"),
    ("overlay",),
    ("store", "runtime", "sim"),
    ("api",),
    ("lab", "spark", "console", "cli"),
)
APART = (frozenset(("wire", "events")), frozenset(("broker", "client")))
ROW_OF = {room: row for row, rooms in enumerate(ROWS) for room in rooms}

REPLICA_ROOMS = frozenset(("core", "auth", "wire", "broadcast", "consensus", "broker"))
SANS_IO_ROOMS = REPLICA_ROOMS | {"events", "client", "overlay"}

# Modules that do I/O, tell the time or draw randomness.
_IMPURE = (
    ("asyncio", "concurrent", "multiprocessing", "queue", "sched", "signal", "threading", "uvloop"),
    ("http", "select", "selectors", "socket", "socketserver", "ssl"),
    ("fileinput", "glob", "lmdb", "mmap", "os", "pathlib", "shutil", "tempfile"),
    ("ctypes", "getpass", "importlib", "logging", "platform", "psutil", "subprocess"),
    ("random", "secrets", "time", "uuid"),
)
IMPURE_MODULES = frozenset(module for row in _IMPURE for module in row)
IMPURE_BUILTINS = frozenset(
    ("open", "print", "input", "breakpoint", "eval", "exec", "compile", "__import__")
)
# Names under which libraries draw entropy, whatever object they hang on.
ENTROPY = frozenset(
    ("generate", "generate_key", "generate_private_key", "urandom", "getrandom", "SystemRandom")
)
CLOCKS = frozenset(("now", "utcnow", "today"))

FILE_LINES = 400
FUNCTION_LINES = 60

# Hosts and folders stand here in pieces, so that this file does not name them.
_PIECES = (
    ("py", "pi.org"),
    ("python", "hosted.org"),
    ("npm", "js.org"),
    ("npm", "js.com"),
    ("crates", ".io"),
    ("maven", ".org"),
    ("deb", ".debian.org"),
    ("security", ".debian.org"),
    ("archive", ".ubuntu.com"),
)
HOSTS = tuple("".join(pieces) for pieces in _PIECES)
_HOST = re.compile("|".join(re.escape(host) for host in HOSTS), re.IGNORECASE)
_FOLDER = re.compile(r"(?<![\w.~/-])/" + r"(?:work|root|home)(?![\w-])")


class Import(NamedTuple):
    """A module that a source imports, and where."""

    line: int
    module: str


def room_of(path: str) -> str:
    """The room of a file below the package: its first folder, or "" for files beside the rooms."""
    head, slash, _ = path.partition("/")
    return head if slash else ""


def imports(tree: ast.AST) -> Iterator[Import]:
    """Every import of a source; `from a import b` gives "a.b", a relative one begins with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                yield Import(node.lineno, f"{base}.{alias.name}")


def direction_faults(path: str, source: str) -> list[str]:
    """Imports of a file (its path below the package) that do not point downward."""
    room = room_of(path)
    if room == "":
        return []  # the package itself re-exports what is on top
    if room not in ROW_OF:
        return [f"{path}: room {room} has no row: give it one in tests/tidy.py and pyproject.toml"]
    faults: list[str] = []
    for line, module in imports(ast.parse(source)):
        why = _misdirected(room, module.split("."))
        if why is not None:
            faults.append(f"{path}:{line}: {room} imports {module}: {why}")
    return faults


def _misdirected(room: str, parts: list[str]) -> str | None:
    if parts[0] == "":
        return "name the module in full"
    if parts[0] == "pyarrow" and room in REPLICA_ROOMS:
        return "replicas handle bodies as bytes"
    if parts[0] != PACKAGE:
        return None
    target = parts[1] if len(parts) > 1 else ""
    if target == room:
        return None
    if target not in ROW_OF:
        above = ROW_OF[room] > ROW_OF["api"] or target == "__version__"
        return None if above else f"{PACKAGE} itself stands above all but the last rooms"
    if target == "events" and room in REPLICA_ROOMS:
        return "replicas handle bodies as bytes"
    if ROW_OF[target] > ROW_OF[room]:
        return "imports point downward"
    if frozenset((room, target)) in APART:
        return "these two know nothing of each other"
    return None


def sans_io_faults(path: str, source: str) -> list[str]:
    """What a file of a sans-IO room does that only a driver may do."""
    if room_of(path) not in SANS_IO_ROOMS:
        return []
    tree = ast.parse(source)
    found: list[tuple[int, str]] = []
    for line, module in imports(tree):
        first, last = module.split(".")[0], module.rsplit(".", 1)[-1]
        if first in IMPURE_MODULES:
            found.append((line, f"imports {first}"))
        elif last in ENTROPY and first != PACKAGE:
            found.append((line, f"imports {last}, which draws entropy"))
    clocks = _clock_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in IMPURE_BUILTINS:
            found.append((node.lineno, f"uses {node.id}"))
        elif isinstance(node, ast.Attribute) and node.attr in ENTROPY:
            found.append((node.lineno, f"uses .{node.attr}, which draws entropy"))
        elif (
            isinstance(node, ast.Attribute) and node.attr in CLOCKS and _last(node.value) in clocks
        ):
            found.append((node.lineno, f"asks the clock by .{node.attr}"))
    return [f"{path}:{line}: {what}: it comes in from the driver" for line, what in sorted(found)]


def _clock_names(tree: ast.AST) -> set[str]:
    names = {"datetime", "date"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "datetime":
            names |= {alias.asname for alias in node.names if alias.asname is not None}
    return names


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def size_faults(path: str, source: str, *, functions: bool) -> list[str]:
    """Files and, where asked for, functions that are too long to be read at a sitting."""
    lines = len(source.splitlines())
    faults = [f"{path}: {lines} lines, more than {FILE_LINES}"] if lines > FILE_LINES else []
    if not functions:
        return faults
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines, place = _code_lines(node), f"{path}:{node.lineno}: {node.name}"
            if lines > FUNCTION_LINES:
                faults.append(f"{place} has {lines} lines, more than {FUNCTION_LINES}")
    return faults


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """A function's lines but for its docstring, whose examples are welcome."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node) is not None:
        text = node.body[0]
        lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


def room_faults(files: dict[str, str]) -> list[str]:
    """Folders of the package whose `__init__.py` is missing or does not say what they are for."""
    folders = {path.rpartition("/")[0] for path in files}
    faults: list[str] = []
    for folder in sorted(folders):
        init = f"{folder}/__init__.py" if folder else "__init__.py"
        if init not in files:
            faults.append(f"{init}: missing")
        elif not ast.get_docstring(ast.parse(files[init])):
            faults.append(f"{init}: no docstring that says what the room is for")
    return faults


def text_faults(path: str, text: str) -> list[str]:
    """Places that name a package registry's host, or a folder of one machine."""
    faults: list[str] = []
    for line, content in enumerate(text.splitlines(), 1):
        faults += [f"{path}:{line}: names the host {m[0]}" for m in _HOST.finditer(content)]
        faults += [f"{path}:{line}: names the folder {m[0]}" for m in _FOLDER.finditer(content)]
    return faults
