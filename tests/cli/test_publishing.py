"""`pub`: a real cluster, published to from a shell."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from quorumcast.cli.sending import Latencies
from quorumcast.cli.sources import Load, Splitter
from quorumcast.core.limits import BODY_BYTES
from quorumcast.events.schema import Schema
from quorumcast.runtime.folder import add_client, make_cluster
from tests.cli.shell import QUORUMCAST, Shell, refused_at_once
from tests.cluster.fire import port

# -- where events come from ------------------------------------------------------------------------


def test_what_is_published_can_be_read(shell: Shell) -> None:
    done = shell("pub", "events", "hello", "world", "--key", "db-3")
    assert done.stdout.startswith("2 events are acknowledged on events")
    read = shell("sub", "events", "--from", "earliest", "--timeout", "500ms")
    lines = [line for line in read.stdout.splitlines() if "[db-3]" in line]
    assert [line.split()[-1] for line in lines] == ["hello", "world"]
    assert all(line.startswith("local ") for line in lines)


def test_lines_of_standard_input_are_events(shell: Shell) -> None:
    done = shell("pub", "metrics", "--json", given="one\ntwo\r\nthree")
    told = json.loads(done.stdout)
    assert (told["sent"], told["acknowledged"], told["faults"]) == (3, 3, 0)
    read = shell("sub", "metrics", "--from", "earliest", "--count", "3")
    assert [line.split()[-1] for line in read.stdout.splitlines()] == ["one", "two", "three"]


def test_a_line_is_published_when_it_comes_and_not_at_the_end_of_input(shell: Shell) -> None:
    read = shell.begin("sub", "events", "--count", "1", "--cursor", str(shell.folder / "here"))
    with read:
        wait_for(shell.folder / "here", read)
        with shell.begin("pub", "events") as pub:
            assert pub.stdin is not None
            pub.stdin.write("while input goes on\n")
            pub.stdin.flush()
            out, _ = read.communicate(timeout=30)
            assert out.endswith("while input goes on\n")
            assert pub.poll() is None
            out, _ = pub.communicate(timeout=30)
        assert out.startswith("1 event is acknowledged on events")


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until a file is there."""
    while not path.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)


def test_files_are_events_byte_for_byte(shell: Shell, tmp_path: Path) -> None:
    content = bytes(range(256))
    (tmp_path / "picture").write_bytes(content)
    cursor = str(tmp_path / "cursor")
    shell("sub", "alerts", "--cursor", cursor, "--timeout", "0s")
    shell("pub", "alerts", "--file", str(tmp_path / "picture"), b"\xff by argument")
    read = shell("sub", "alerts", "--cursor", cursor, "--count", "2", "--json")
    first, second = (json.loads(line) for line in read.stdout.splitlines())
    assert (first["payload"], first["payload_base64"]) == (None, "/yBieSBhcmd1bWVudA==")
    assert second["payload"] is None
    assert second["payload_base64"].startswith("AAECAwQF")


def test_every_file_that_cannot_be_read_is_named_and_none_is_sent(shell: Shell) -> None:
    said = shell.refused(2, "pub", "events", "--file", "no-a", "--file", "no-b", "x")
    assert said == (
        "no-a: No such file or directory; no-b: No such file or directory: name files that can be "
        "read"
    )


def test_a_line_that_is_no_event_is_told_of_and_the_others_go_on() -> None:
    splitter = Splitter(most=4)
    found = [*splitter.feed(b"ab\nabc"), *splitter.feed(b"de\n"), *splitter.feed(b"\nlast")]
    found += splitter.rest()
    assert [line.payload for line in found] == [b"ab", b"", b"", b"last"]
    assert [line.name for line in found if line.fault] == ["line 2"]
    assert found[1].fault == "it has 5 bytes: use at most 4"


def test_a_line_that_is_too_long_costs_no_other(shell: Shell) -> None:
    given = "x" * (BODY_BYTES // 2 + 1) + "\nshort\n"
    done = shell("pub", "events", "--json", given=given, code=1)
    told = json.loads(done.stdout)
    assert (told["acknowledged"], told["faults"]) == (1, 1)
    assert done.stderr.startswith("quorumcast: line 1: it has 4,194,305 bytes")


# -- made up ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", ["0", "1", "1000"])
def test_made_up_load_ends_with_how_many_were_acknowledged(shell: Shell, batch: str) -> None:
    done = shell("pub", "events", "--count", "5500", "--batch", batch, "--as", "local")
    assert done.stdout.startswith("5,500 events are acknowledged on events, ")


def test_a_batch_is_one_publication(shell: Shell, tmp_path: Path) -> None:
    cursor = str(tmp_path / "cursor")
    shell("sub", "typed", "--cursor", cursor, "--timeout", "0s")
    shell("pub", "typed", "--count", "25", "--batch", "10", "--size", "5", "--key", "k", "--urgent",
          "--set", "severity=7")  # fmt: skip
    read = shell("sub", "typed", "--cursor", cursor, "--count", "25", "--json")
    events = [json.loads(line) for line in read.stdout.splitlines()]
    places = [(event["seq"], event["row"]) for event in events]
    assert places == [(1, row) for row in range(10)] + [(2, row) for row in range(10)] + [
        (3, row) for row in range(5)
    ]
    assert [event["payload"] for event in events[8:11]] == ["9....", "10...", "11..."]
    alike = {(each["key"], each["urgent"], each["attributes"]["severity"]) for each in events}
    assert alike == {("k", True, 7)}
    assert {event["lane"] for event in events} == {"urgent"}


def test_batches_and_single_events_are_the_same_load() -> None:
    load = Load(events=12, size=3)
    made = load.batch(1, 12, Schema(), {}).to_pydict()["payload"]
    assert made == [load.payload(number) for number in range(1, 13)]


@pytest.mark.parametrize("batch", ["0", "50"])
def test_a_rate_is_kept(shell: Shell, batch: str) -> None:
    told = shell.json("pub", "events", "--count", "300", "--rate", "500", "--batch", batch)
    assert told["acknowledged"] == 300
    assert told["seconds"] >= 0.49
    half, most = (told["acknowledgement_ms"][each] for each in ("p50", "p99"))
    assert 0 < half <= most


def test_latencies_are_a_sample_of_bounded_size() -> None:
    latencies = Latencies()
    for number in range(100_000):
        latencies.add(number)
    assert len(latencies.seconds) < 10_000
    assert 45_000 < (latencies.percentile(50) or 0) < 55_000
    assert Latencies().percentile(50) is None


# -- attributes ------------------------------------------------------------------------------------

VALUES = {
    "flag": "true",
    "severity": "-5",
    "load": "0.25",
    "short": "0.5",
    "host": "db 3",
    "raw": "ab",
    "seen": "2026-03-01T12:00:00Z",
}


def test_attributes_are_read_as_the_schema_has_them(shell: Shell, tmp_path: Path) -> None:
    cursor = str(tmp_path / "cursor")
    shell("sub", "typed", "--cursor", cursor, "--timeout", "0s")
    given = [word for name, value in VALUES.items() for word in ("--set", f"{name}={value}")]
    shell("pub", "typed", "x", *given)
    (line,) = shell(
        "sub", "typed", "--cursor", cursor, "--count", "1", "--json"
    ).stdout.splitlines()
    assert json.loads(line)["attributes"] == {
        "flag": True,
        "severity": -5,
        "load": 0.25,
        "short": 0.5,
        "host": "db 3",
        "raw": "YWI=",
        "seen": 1_772_366_400_000_000,
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("severity=high", "severity is int8: use a whole number from -128 to 127"),
        ("severity=200", "severity is int8: use a whole number from -128 to 127"),
        ("flag=maybe", "flag is bool: use true or false"),
        ("load=much", "load is float64: use a number"),
        ("seen=soon", "seen is timestamp: use a time such as"),
        ("hots=a", "'hots' is not an attribute of this channel: use flag, severity, load"),
        ("severity", "use NAME=VALUE, such as severity=5"),
    ],
)
def test_a_wrong_attribute_is_named_with_its_type(shell: Shell, given: str, said: str) -> None:
    assert shell.refused(2, "pub", "typed", "x", "--set", given).startswith(
        f"--set {given}: {said}"
    )


# -- what goes wrong -------------------------------------------------------------------------------


def test_an_unknown_channel_lists_those_there_are(shell: Shell) -> None:
    for command in (["pub", "nowhere", "x"], ["sub", "nowhere"]):
        said = shell.refused(2, *command)
        assert "no channel nowhere; there are: alerts, events, metrics, typed" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x", "--count", "3"], "leave the others out"),
        (["--count", "-3"], "0 or more"),
        (["--count", "3", "--rate", "nan"], "0 or more"),
        (["--rate", "3", "x"], "use it with --count"),
        (["--count", "3", "--size", "99999999999"], "is too much"),
        (["--count", "3", "--batch", "99999999"], "is too much"),
        (["x", "--as", "nobody"], "no such identity"),
        (["x", "--as", "nobody.qc"], "no such file"),
        (["x", "--timeout", "soon"], "not a duration"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(
    shell: Shell, arguments: list[str], told: str
) -> None:
    assert told in refused_at_once(shell, "pub", "events", *arguments)


def test_a_key_that_is_no_text_is_told_of(shell: Shell) -> None:
    assert "whole Unicode" in shell.refused(2, "pub", "events", "x", "--key", b"\xff")


def test_ctrl_c_says_how_many_were_acknowledged(shell: Shell) -> None:
    with shell.begin("pub", "events", "--count", "1000000", "--rate", "200", "--json") as pub:
        before = held(shell)
        while held(shell) == before:
            assert pub.poll() is None
        pub.send_signal(signal.SIGINT)
        out, err = pub.communicate(timeout=30)
    assert pub.returncode == 130
    told = json.loads(out)
    assert err.startswith(
        f"quorumcast: interrupted: {told['acknowledged']:,} of {told['sent']:,} events are ack"
    )
    assert 0 < told["acknowledged"] <= told["sent"] < 1_000_000


def held(shell: Shell) -> int:
    channels = {each["name"]: each for each in shell.json("channels")}
    return channels["events"]["held"]


def test_a_closed_standard_input_is_an_error_and_no_crash(shell: Shell) -> None:
    done = subprocess.run(
        ["bash", "-c", 'exec "$@" <&-', "bash", *QUORUMCAST, "pub", "events"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=shell.environment,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr


def test_long_work_has_a_bar_on_a_terminal_alone(shell: Shell) -> None:
    screen, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            [*QUORUMCAST, "pub", "events", "--count", "700", "--rate", "500"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=terminal,
            text=True,
            env={**shell.environment, "TERM": "xterm"},
        ) as pub:
            out, _ = pub.communicate(timeout=60)
        assert out.startswith("700 events are acknowledged")
        assert b"events acknowledged" in os.read(screen, 100_000)
    finally:
        os.close(screen)
        os.close(terminal)
    assert shell("pub", "events", "--count", "700", "--rate", "500").stderr == ""


def test_two_replicas_less_and_publishing_says_so(shell: Shell) -> None:
    shell("stop", "r1")
    shell("stop", "r2")
    try:
        assert "3 are needed" in shell("pub", "events", "x", "--timeout", "1s", code=3).stderr
    finally:
        shell("start", "r1")
        shell("start", "r2")
    shell("pub", "events", "again")


def test_who_may_not_publish_is_told_at_once_though_more_input_may_come(shell: Shell) -> None:
    identity = add_client(shell.folder, "outsider")[0]
    shell("channel", "add", "inner", "--publishers", "local")
    with shell.begin("pub", "inner", "--as", str(identity)) as pub:
        assert pub.stdin is not None
        pub.stdin.write("x\n")
        pub.stdin.flush()
        assert pub.wait(30) == 4
        assert pub.stderr is not None
        assert pub.stderr.readline().startswith("quorumcast: outsider may not publish on inner")
        assert pub.stderr.read() == ""


def test_a_client_that_was_not_certified_is_not_let_in(shell: Shell, tmp_path: Path) -> None:
    other = make_cluster(tmp_path / "other", first_port=port())
    stranger = (tmp_path / "other" / "local.qc").read_text()
    for each in shell.json("status")["replicas"]:
        stranger = stranger.replace(other.addresses[each["name"]], each["address"])
    file = tmp_path / "stranger.qc"
    file.write_text(stranger)
    file.chmod(0o600)
    shell.refused(4, "pub", "events", "x", "--as", str(file), "--timeout", "2s")


def test_a_key_file_is_enough_without_a_cluster(shell: Shell, tmp_path: Path) -> None:
    done = subprocess.run(
        [*QUORUMCAST, "pub", "events", "from elsewhere"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={
            **{key: text for key, text in shell.environment.items() if key != "QUORUMCAST_CLUSTER"},
            "XDG_STATE_HOME": str(tmp_path),
            "QUORUMCAST_IDENTITY": str(shell.folder / "local.qc"),
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
