"""`up`, `pub`, `sub`, `status`, `stop`, `start`, `down`: a real cluster, used from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.runtime.folder import make_cluster
from tests.cluster.fire import port

QUORUMCAST = (sys.executable, "-m", "quorumcast.cli")


class Shell:
    """Calls our program as a user does, on one cluster."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "QUORUMCAST_CLUSTER": str(folder),
            "XDG_STATE_HOME": str(state),
        }

    def __call__(
        self, *arguments: str, given: str = "", code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*QUORUMCAST, *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=self._environment,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A cluster in the background, for all tests of this file."""
    folder = tmp_path_factory.mktemp("shell") / "cluster"
    make_cluster(folder, first_port=port())
    shell = Shell(folder, folder.parent / "state")
    shell("up", "--detach")
    try:
        yield shell
    finally:
        shell("down")


def test_what_is_published_can_be_read(shell: Shell) -> None:
    done = shell("pub", "events", "hello", "world", "--key", "db-3")
    assert done.stdout.startswith("2 events are acknowledged on events")
    read = shell("sub", "events", "--from", "earliest", "--count", "2")
    lines = read.stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["hello", "world"]
    assert all(line.startswith("local ") and "[db-3]" in line for line in lines)


def test_json_has_everything_of_an_event(shell: Shell) -> None:
    shell("pub", "alerts", "x", "--urgent")
    read = shell("sub", "alerts", "--from", "earliest", "--count", "1", "--json")
    event = json.loads(read.stdout)
    expected = {"channel": "alerts", "publisher": "local", "lane": "urgent", "seq": 1, "row": 0}
    assert {name: event[name] for name in expected} == expected
    assert (event["payload"], event["urgent"], event["confirmed"]) == ("x", True, True)
    assert event["error"] is None
    assert event["votes"] >= 2


def test_lines_of_standard_input_are_events(shell: Shell) -> None:
    done = shell("pub", "metrics", "--json", given="one\ntwo\nthree\n")
    assert json.loads(done.stdout)["acknowledged"] == 3
    read = shell("sub", "metrics", "--from", "earliest", "--count", "3")
    assert [line.split()[-1] for line in read.stdout.splitlines()] == ["one", "two", "three"]


def test_channels_tell_what_runs_through_them(shell: Shell) -> None:
    shell("pub", "events", "x")
    channels = {each["name"]: each for each in json.loads(shell("channels", "--json").stdout)}
    assert channels["events"]["streams"] >= 1
    assert channels["events"]["held"] >= channels["events"]["confirmed"]
    assert channels["events"]["publishers"] == 0


def test_made_up_load_ends_with_how_many_were_acknowledged(shell: Shell) -> None:
    done = shell("pub", "events", "--count", "5000", "--size", "56", "--as", "local")
    assert done.stdout.startswith("5,000 events are acknowledged on events, ")


def test_an_unknown_channel_lists_those_there_are(shell: Shell) -> None:
    for command in (["pub", "nowhere", "x"], ["sub", "nowhere"]):
        done = shell(*command, code=2)
        assert "no channel nowhere; there are: alerts, events, metrics" in done.stderr


def test_nothing_in_time_is_said_and_has_a_code_of_its_own(shell: Shell) -> None:
    done = shell("sub", "events", "--count", "1", "--timeout", "300ms", code=3)
    assert "0 of 1 events came before --timeout 300ms" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["pub", "events", "x", "--count", "3"], "leave the others out"),
        (["pub", "events", "--count", "-3"], "0 or more"),
        (["pub", "events", "--file", "nothing-here"], "nothing-here: No such file"),
        (["sub", "events", "--count", "0"], "use 1 or more"),
        (["sub", "events", "--timeout", "soon"], "not a duration"),
        (["pub", "events", "x", "--as", "nobody"], "no such identity"),
        (["stop", "r9"], "there are r1, r2, r3, r4"),
        (["up", "--detach", "--for", "1s"], "use one of the two"),
        (["up", "--detach"], "run already"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(
    shell: Shell, arguments: list[str], told: str
) -> None:
    assert told in shell(*arguments, code=2).stderr


def test_one_replica_less_and_nothing_is_lost(shell: Shell) -> None:
    shell("stop", "r2")
    assert "stopped" in shell("status").stdout
    shell("pub", "alerts", "while r2 is away")
    shell("start", "r2")
    states = json.loads(shell("status", "--json").stdout)
    assert {each["state"] for each in states["replicas"]} <= {"ready", "catching-up"}
    read = shell("sub", "alerts", "--from", "earliest", "--timeout", "2s")
    assert "while r2 is away" in read.stdout


def test_two_replicas_less_and_publishing_says_so(shell: Shell) -> None:
    shell("stop", "r1")
    shell("stop", "r2")
    try:
        done = shell("pub", "events", "x", "--timeout", "1s", code=3)
        assert "3" in done.stderr
    finally:
        shell("start", "r1")
        shell("start", "r2")
    shell("pub", "events", "again")


def test_a_client_that_was_not_certified_is_not_let_in(shell: Shell, tmp_path: Path) -> None:
    make_cluster(tmp_path / "other", first_port=60_500)
    own = json.loads(shell("status", "--json").stdout)["replicas"]
    stranger = (tmp_path / "other" / "local.qc").read_text()
    addresses = {f"r{n}": each["address"] for n, each in enumerate(own, 1)}
    for number in range(1, 5):
        old = f"tcp://127.0.0.1:{60_499 + number}"
        stranger = stranger.replace(old, addresses[f"r{number}"])
    file = tmp_path / "stranger.qc"
    file.write_text(stranger)
    file.chmod(0o600)
    done = shell("pub", "events", "x", "--as", str(file), "--timeout", "2s", code=4)
    assert "Traceback" not in done.stderr
