"""`quorumcast demo`: a real cluster, real events, a replica away, and nothing left behind."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from quorumcast.cli import app
from quorumcast.cli import demo as demo_module
from quorumcast.lab.meter import Spread
from quorumcast.lab.outages import Outage
from quorumcast.lab.summary import Summary

DEMO = (sys.executable, "-m", "quorumcast.cli", "demo")
SECONDS = 60.0
"""Longer than any of this takes."""


class Place:
    """A folder for all temporary files of a demo, which says whether anything is left of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "TMPDIR": str(folder), "TERM": "xterm-256color"}
        for name in ("XDG_RUNTIME_DIR", "NO_COLOR", "COLUMNS", "LINES"):
            self.environment.pop(name, None)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*DEMO, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def check_empty(self) -> None:
        left = [path for path in self.folder.rglob("*") if not path.is_dir()]
        assert left == []
        assert not list(self.folder.glob("qc-demo-*"))
        lines = [each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])]
        assert not [line for line in lines if any(str(self.folder) in word for word in line)]


@pytest.fixture
def place() -> Iterator[Place]:
    """Short, since it is part of sockets' names."""
    with tempfile.TemporaryDirectory(prefix="qc") as folder:
        yield Place(Path(folder))


# -- the real thing --------------------------------------------------------------------------------


def test_everything_is_delivered_while_a_replica_is_away(place: Place) -> None:
    running = place.start("--for", "4s", "--json")
    out, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, err) == (0, "")
    found = json.loads(out)
    assert found["published"] == found["acknowledged"] == found["delivered"] > 20_000
    assert (found["lost"], found["altered"], found["repeated"]) == (0, 0, 0)
    probes = {"probe-cpu", "probe-memory", "probe-log", "probe-load"}
    assert probes <= {name for name, count in found["publishers"].items() if count > 0}
    assert sum(found["publishers"].values()) == found["published"]
    (outage,) = found["outages"]
    assert outage["replica"] == "r3"
    assert 1.0 < outage["from_seconds"] < 4.0
    assert outage["acknowledged"] > 0
    assert outage["delivered"] > 0
    assert found["replicas"] == ["r1", "r2", "r3", "r4"]
    assert min(found["votes"][name] for name in ("r1", "r2", "r4")) > 20
    assert sum(found["vouched"].values()) == found["delivered"]
    assert set(found["vouched"]) <= {"3", "4"}, "three of four are a quorum"
    for latency in (found["to_acknowledgement"], found["to_delivery"]):
        assert 0 < latency["p50"] <= latency["p99"] <= latency["most"]
    place.check_empty()


def test_without_a_terminal_there_are_lines_and_a_signal_ends_it_well(place: Place) -> None:
    running = place.start()
    assert running.stdout is not None
    lines: list[str] = []
    for line in running.stdout:
        lines.append(line)
        if " delivered (" in line:
            break
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, err) == (0, "")
    told = "".join(lines)
    assert "\x1b" not in told + out
    assert lines[0].startswith("quorumcast demo: starting four replicas")
    assert "4 replicas are ready; 1 of them may lie or fail; Ctrl-C ends it" in told
    assert f" sub readings --cluster {place.folder}/qc-demo-" in told
    assert re.search(r"s  [\d,]+ delivered \([\d,]+/s\)  .*  votes r1 .*  queues \d", lines[-1])
    assert re.search(r"^  lost +0 ", out, re.MULTILINE)
    assert re.search(r"^  altered +0 ", out, re.MULTILINE)
    counts = re.findall(r"^  (?:published|acknowledged|delivered) +([\d,]+) ", out, re.MULTILINE)
    assert len(counts) == 3
    assert len(set(counts)) == 1
    assert "quorumcast up --detach" in out
    place.check_empty()


def test_whoever_is_in_a_hurry_is_obeyed(place: Place) -> None:
    running = place.start()
    assert running.stdout is not None
    next(line for line in running.stdout if " delivered (" in line)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGTERM)
    out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 130
    assert err == "quorumcast: interrupted before it could end in order\n"
    assert "lost" not in out
    place.check_empty()


def test_whoever_reads_no_more_leaves_nothing_running(place: Place) -> None:
    running = place.start("--for", "5s")
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    with running.stderr as errors:
        assert running.wait(timeout=SECONDS) == 1
        assert errors.read() == ""
    place.check_empty()


# -- a terminal ------------------------------------------------------------------------------------


def on_a_terminal(place: Place, *arguments: str) -> tuple[int, str]:
    """What a demo writes to a terminal of 80 columns and 24 rows, and its exit code."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    running = subprocess.Popen(
        [*DEMO, *arguments], stdin=its, stdout=its, stderr=its, env=place.environment
    )
    os.close(its)
    shown = bytearray()
    try:
        while True:
            ready, _, _ = select.select([mine], [], [], SECONDS)
            assert ready, "nothing came"
            try:
                data = os.read(mine, 65_536)
            except OSError:  # how Linux says that nobody is at the other end
                break
            if not data:
                break
            shown += data
    finally:
        os.close(mine)
        code = running.wait(timeout=SECONDS)
    return code, shown.decode()


def test_on_a_terminal_there_is_a_picture(place: Place) -> None:
    code, shown = on_a_terminal(place, "--for", "3s")
    assert code == 0
    picture = shown[shown.index("\x1b[?1049h") : shown.index("\x1b[?1049l")]
    frames = picture.split("\x1b[H")[1:]
    assert len(frames) >= 4
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame) for frame in frames]
    for frame in plain:
        lines = frame.rstrip("\r\n").split("\n")
        assert len(lines) <= 24
        assert max(len(line.rstrip("\r")) for line in lines) <= 80
    assert all(frame.startswith("quorumcast demo") for frame in plain if frame.strip())
    assert re.search(r"r1 +ready +━+ +\d", plain[-2])
    assert any(re.search(r"r3 +away", frame) for frame in plain)
    assert any("r3 was killed" in frame for frame in plain)
    assert re.search(r"cpu +\d+\.\d %", plain[-2])
    assert "\x1b[2J" not in "".join(frames[2:]), "nothing is cleared while it runs: no flicker"
    end = shown[shown.index("\x1b[?1049l") :]
    assert re.search(r"lost +0", end)
    place.check_empty()


# -- arguments and ends ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "told"), [("soon", "not a duration"), ("0s", "--for 0s: use a time such as 30s")]
)
def test_a_wrong_time_is_told_in_a_sentence(time: str, told: str) -> None:
    done = CliRunner().invoke(app, ["demo", "--for", time])
    assert done.exit_code == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("quorumcast: ")
    assert told in line


def test_a_folder_that_cannot_be_used_is_told_in_a_sentence(place: Place) -> None:
    long = place.folder / ("x" * 100)
    long.mkdir()
    place.environment["TMPDIR"] = str(long)
    running = place.start("--json")
    out, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, out) == (2, "")
    assert err.startswith("quorumcast: address 'unix://")
    assert list(long.iterdir()) == []


GOOD = Summary(
    seconds=3.0,
    replicas=("r1", "r2", "r3", "r4"),
    published=1100,
    acknowledged=1100,
    delivered=1100,
    lost=0,
    altered=0,
    repeated=0,
    publishers={"probe-cpu": 100, "probe-load": 1000},
    outages=(Outage("r3", 1.0, 2.0, 400, 410), Outage("r4", 2.5, None, 5, 6)),
    vouched={3: 1000, 4: 100},
    votes={"r1": 9},
    best_burst_per_second=123_456.7,
    to_acknowledgement=Spread(1, 0.002, 0.002, 0.002),
    to_delivery=Spread(1, 0.0021, 0.002, 0.002),
)


def concluded(
    monkeypatch: pytest.MonkeyPatch, summary: Summary, *arguments: str
) -> tuple[int, str]:
    async def played(*_: object, **__: object) -> Summary:
        return summary

    monkeypatch.setattr(demo_module, "_demo", played)
    done = CliRunner().invoke(app, ["demo", *arguments])
    return done.exit_code, done.stdout


def test_the_end_says_what_it_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out = concluded(monkeypatch, GOOD)
    assert code == 0
    assert "100 by probes of this host, 1,000 made up" in out
    assert "r3 was away from 1.0 s to 2.0 s; meanwhile 410 events were delivered." in out
    assert "r4 was away from 2.5 s to the end; meanwhile 6 events were delivered." in out
    assert "safe within 2.0 ms and delivered within 2.1 ms" in out
    assert "123,457 events a second" in out
    assert max(map(len, out.splitlines())) <= 80
    many = tuple(Outage("r1", float(each), each + 0.5) for each in range(99))
    _, out = concluded(monkeypatch, replace(GOOD, outages=many))
    assert "Replicas were killed 99 times" in out
    assert out.count("was away") == demo_module.SHOWN_OUTAGES


@pytest.mark.parametrize("wrong", ["lost", "altered", "repeated"])
def test_a_broken_promise_fails(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    broken = replace(GOOD, **{wrong: 1})
    code, out = concluded(monkeypatch, broken)
    assert code == 1
    assert re.search(rf"^  {wrong} +1 ", out, re.MULTILINE)
    code, out = concluded(monkeypatch, broken, "--json")
    assert (code, json.loads(out)[wrong]) == (1, 1)


def test_what_was_not_acknowledged_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert concluded(monkeypatch, replace(GOOD, acknowledged=1099))[0] == 1
