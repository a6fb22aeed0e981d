"""`up`, `down`, `start`, `stop`, `status`, `replica`: real processes, started and ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.cli.looking import show_channels, show_status
from quorumcast.runtime.folder import make_cluster
from tests.cli.shell import Shell, refused_at_once
from tests.cluster.fire import port


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Shell]:
    """A cluster of this test's own, which does not run yet."""
    make_cluster(tmp_path / "cluster", first_port=port() + 8_000)
    shell = Shell(tmp_path / "cluster", tmp_path)
    yield shell
    shell("down")


def ready(up: subprocess.Popen[str]) -> None:
    """Until `up` has said everything that it says once replicas are ready."""
    assert up.stdout is not None
    while "quorumcast pub events hello" not in (line := up.stdout.readline()):
        assert line, up.communicate()


def states(shell: Shell) -> list[str]:
    return [each["state"] for each in shell.json("status")["replicas"]]


def all_stopped(shell: Shell) -> bool:
    return set(states(shell)) == {"stopped"}


# -- up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_up_stops_all_upon_a_signal_however_often(alone: Shell, number: signal.Signals) -> None:
    with alone.begin("up") as up:
        ready(up)
        for _ in range(3):
            up.send_signal(number)
        out, err = up.communicate(timeout=30)
    assert (up.returncode, out, err) == (0, "stopped\n", "")
    assert all_stopped(alone)


def test_up_tells_of_a_replica_that_crashed_and_goes_on(alone: Shell) -> None:
    with alone.begin("up") as up:
        ready(up)
        pid = alone.json("status")["replicas"][1]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert up.stderr is not None
        assert up.stderr.readline() == (
            f"quorumcast: r2 ended by signal 9: see {alone.folder}/r2/replica.log; "
            "quorumcast start r2 brings it back\n"
        )
        alone("start", "r2")
        assert "stopped" not in states(alone)
        up.send_signal(signal.SIGINT)
        _, err = up.communicate(timeout=30)
    assert (up.returncode, err) == (0, "")
    assert all_stopped(alone)


def test_up_that_is_killed_leaves_no_replica_behind(alone: Shell) -> None:
    with alone.begin("up") as up:
        ready(up)
        up.kill()
        up.wait(30)
        while not all_stopped(alone):
            pass
    log = (alone.folder / "r1" / "replica.log").read_text()
    assert "whoever started this replica is gone: it ends too" in log
    alone("up", "--for", "0s")


def test_up_ends_when_somebody_else_stops_its_replicas(alone: Shell) -> None:
    with alone.begin("up") as up:
        ready(up)
        assert alone.json("down") == {"stopped": ["r1", "r2", "r3", "r4"], "killed": []}
        _, err = up.communicate(timeout=30)
    assert up.returncode == 0
    assert err.endswith("quorumcast: no replica runs any more\n")


def test_up_names_the_replica_whose_port_is_taken_and_stops_the_others(alone: Shell) -> None:
    address = alone.json("status")["replicas"][2]["address"]
    with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
        for arguments in (["--detach"], []):
            said = alone.refused(1, "up", *arguments)
            assert said.startswith(f"r3 ended: r3 cannot listen at {address}: Address already in")
    assert all_stopped(alone)


def test_up_makes_a_cluster_where_there_is_none(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "made", tmp_path)
    del shell.environment["QUORUMCAST_CLUSTER"]
    done = shell("up", str(tmp_path / "made"), "--for", "0s")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("made a cluster of 4 replicas in ")
    assert lines[1] == "made: 4 replicas are ready, 1 of them may lie"
    assert lines[-3:] == [
        "  quorumcast sub events --from earliest",
        "  quorumcast pub events hello",
        "stopped",
    ]
    assert shell.json("channels"), "the last up is found"


def test_up_says_how_many_run_here_where_that_is_not_all(alone: Shell) -> None:
    (alone.folder / "r2" / "replica.key").unlink()
    lines = alone("up", "--for", "0s").stdout.splitlines()
    assert lines[0] == "cluster: 3 of 4 replicas run here: r1, r3, r4; 1 of 4 may lie"


def test_up_in_json(alone: Shell) -> None:
    made = alone.json("up", "--detach")
    assert (made["n"], made["f"], made["lab"]) == (4, 1, False)
    assert made["started"] == ["r1", "r2", "r3", "r4"]
    assert made["channels"] == ["events", "alerts", "metrics"]
    assert "run already" in alone.refused(2, "up")
    assert alone.json("stop", "r1") == {"stopped": ["r1"], "killed": []}
    assert alone.json("stop", "r1") == {"stopped": [], "killed": []}
    assert alone.json("up", "--detach")["started"] == ["r1"]
    assert "r1, r2, r3, r4 of this cluster run already" in alone.refused(2, "up")
    alone("stop", "r1")
    assert alone.json("start", "r1")["started"] == ["r1"]
    assert "r1 runs already" in alone.refused(2, "start", "r1")
    assert alone("stop", "r4").stdout == "stopped r4\n"
    assert alone("stop", "r4").stdout == "r4 was not running\n"
    alone("down")
    assert alone("down").stdout == "nothing was running\n"


def test_the_first_of_a_cluster_waits_for_others_and_up_starts_them(alone: Shell) -> None:
    told = alone("start", "r1").stdout
    assert told == "r1 runs and waits for others: 3 of 4 are needed\n"
    lines = alone("up", "--for", "0s").stdout.splitlines()
    assert lines[1] == "started r2, r3, r4; r1 ran already"
    assert lines[-1] == "stopped r2, r3, r4"
    assert [state == "stopped" for state in states(alone)] == [False, True, True, True]
    for name in ("r2", "r3", "r4"):
        (alone.folder / name / "replica.key").unlink()
    assert alone.refused(2, "up") == (
        "r1 of this cluster runs already: quorumcast status shows how it is, "
        "quorumcast down stops it"
    )


def test_a_replica_that_hangs_is_seen_and_ended(alone: Shell) -> None:
    alone("up", "--detach")
    for command in ("stop r2", "down"):
        pid = alone.json("status")["replicas"][1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        found = alone.json("status")
        assert (found["replicas"][1]["state"], found["replicas"][1]["pid"]) == ("unreachable", pid)
        assert found["faults_left"] == 0
        assert "r2 runs and does not answer: quorumcast stop ends it" in alone("status").stdout
        told = alone(*command.split()).stdout
        names = "r2" if command == "stop r2" else "r1, r2, r3, r4"
        assert told == (f"stopped {names}\nr2 did not end when told to, and had to be killed\n")
        assert states(alone)[1] == "stopped"
        if command == "stop r2":
            alone("start", "r2")
    assert all_stopped(alone)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["stop", "r9"], "there are r1, r2, r3, r4"),
        (["start", "r9"], "there are r1, r2, r3, r4"),
        (["up", "--detach", "--for", "1s"], "use one of the two"),
        (["up", "here", "--cluster", "there"], "use one of them"),
        (["up", "--for", "soon"], "not a duration"),
        (["up", "--cluster", "nowhere"], "there is no cluster.toml"),
        (["status", "--cluster", "nowhere"], "there is no cluster.toml"),
        (["replica"], "there are r1, r2, r3, r4: name one"),
        (["replica", "r9"], "r9"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(
    alone: Shell, arguments: list[str], told: str
) -> None:
    assert told in refused_at_once(alone, *arguments)


def test_a_file_that_was_edited_or_is_missing_is_named(alone: Shell) -> None:
    path = alone.folder / "cluster.toml"
    text = path.read_text()
    path.write_text(text.replace('name = "alerts"', 'name = "alarms"'))
    for command in (["up"], ["status"], ["channels"], ["down"]):
        assert "cluster.toml" in refused_at_once(alone, *command)
    path.write_text(text)
    (alone.folder / "r2" / "replica.key").chmod(0o644)
    assert "chmod 600" in alone("up", code=1).stderr
    (alone.folder / "r2" / "replica.key").unlink()
    assert "there are r1, r3, r4" in refused_at_once(alone, "start", "r2")


def test_a_home_that_cannot_be_written_or_is_not_there_does_no_harm(alone: Shell) -> None:
    for home in ("/proc/nowhere", ""):
        alone("up", "--for", "0s", XDG_STATE_HOME="", HOME=home)
    environment = {"QUORUMCAST_CLUSTER": "", "XDG_STATE_HOME": "", "HOME": "/proc/nowhere"}
    done = alone("status", code=2, **environment)
    assert done.stderr.startswith("quorumcast: no cluster: ")


def test_a_replica_of_one_host_needs_no_name(tmp_path: Path) -> None:
    base = port() + 9_000
    hosts = [f"tcp://127.0.0.{number}:{base}" for number in range(1, 5)]
    make_cluster(tmp_path / "all", addresses=hosts, spread=True)
    shell = Shell(tmp_path / "all" / "hosts" / "127.0.0.1", tmp_path)
    with shell.begin("replica") as replica:
        assert replica.stdout is not None
        assert replica.stdout.readline() == f"r1 of all runs at {hosts[0]}\n"
        replica.send_signal(signal.SIGTERM)
        assert replica.wait(30) == 0


# -- what is shown ---------------------------------------------------------------------------------


def test_one_replica_less_and_nothing_is_lost(shell: Shell) -> None:
    shell("stop", "r2")
    shown = shell("status").stdout
    assert "no more may fail" in shown
    assert "stopped" in shown
    shell("pub", "alerts", "while r2 is away")
    shell("start", "r2")
    assert set(states(shell)) <= {"ready", "catching-up"}
    read = shell("sub", "alerts", "--from", "earliest", "--timeout", "1s")
    assert "while r2 is away" in read.stdout


def test_channels_tell_what_runs_through_them(shell: Shell) -> None:
    shell("pub", "events", "x")
    channels = {each["name"]: each for each in shell.json("channels")}
    assert channels["events"]["streams"] >= 1
    assert channels["events"]["held"] >= channels["events"]["confirmed"]
    assert channels["events"]["publishers"] == 0
    shown = shell("channels").stdout
    assert "held  confirmed  connected" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_status_fits_a_terminal_and_hides_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    replica = {
        "name": "r1",
        "address": "tcp://[::1]:7400",
        "pid": 123_456,
        "state": "abstaining",
        "progress": {"streams_behind": 1},
        "abstaining_streams": 12,
        "rss_bytes": 2**30,
        "clients": 1234,
    }
    suspected = {
        "parties": ["r3", "evil\x1b[2J"],
        "grade": "proven",
        "kind": "two contents [bold]",
        "count": 1,
        "last": 0.0,
        "seen_by": ["r1"],
    }
    away = {"name": "r2", "address": "tcp://a:1", "pid": None, "state": "unreachable"}
    aways = [{**away, "name": name} for name in ("r2", "r3")]
    whole = {"cluster": "c", "n": 4, "f": 1, "quorum": 3, "lab": True, "faults_left": -1}
    whole |= {"replicas": [replica, *aways], "suspected": [suspected]}
    show_status({**whole, "not_asked": []})
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "\x1b" not in shown
    for words in (
        "LAB",
        "tcp://[::1]:7400",
        "r1 abstains in 12 streams, behind in 1 stream",
        "1 too many are away",
        "evil\\x1b[2J",
        "two contents [bold] (1 time",
    ):
        assert words in " ".join(shown.split()), words


def test_status_claims_nothing_of_those_that_could_not_be_asked(alone: Shell) -> None:
    (alone.folder / "operator.key").unlink()
    for name in ("r1", "r3"):
        (alone.folder / name / "replica.key").unlink()
    told = "could not ask r1, r3: operator.key is not here"
    lines = alone("status").stdout.splitlines()
    assert lines[1] == (
        "1 too many are away: publishing waits until they are back (quorumcast start)"
    )
    assert lines[2] == told
    alone("start", "r2")
    assert alone("status").stdout.splitlines()[1] == told, "r4 is away, and no more is known"
    assert alone.json("status")["not_asked"] == ["r1", "r3"]


def test_no_channels_are_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_channels([])
    assert capsys.readouterr().out == "no channels: quorumcast channel add NAME makes one\n"


def test_status_in_json_is_one_object(shell: Shell) -> None:
    found = json.loads(shell("status", "--json").stdout)
    assert {"cluster", "epoch", "lab", "n", "f", "quorum", "faults_left"} <= set(found)
    assert all(each["metrics"] is None for each in found["replicas"])
