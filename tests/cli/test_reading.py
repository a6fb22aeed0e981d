"""`sub`: a real cluster, read from a shell."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from pathlib import Path

import pytest

from quorumcast.api import PublicationId, Received
from quorumcast.cli.reader import beginning
from quorumcast.cli.showing import event_line, event_object
from quorumcast.cli.visible import visible, visible_json
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane
from tests.cli.shell import QUORUMCAST, Shell, refused_at_once
from tests.cli.test_publishing import wait_for

TRICKS = "\x1b[2J\x9b1A\r\n\u202e\u200b\x00\x7f\u2028"
"""What clears a screen, moves a cursor, ends a line, turns writing around, or hides."""


FULL = Path("/dev/full")


def received(**fields: object) -> Received:
    known = {
        "id": PublicationId("alerts", "probe-7", bytes(32), Lane.NORMAL, 4),
        "row": 0,
        "rows": 1,
        "timestamp": 0,
        "key": None,
        "urgent": False,
        "payload": b"x",
        "attributes": {},
        "votes": 3,
        "confirmed": False,
    }
    return Received(**(known | fields))  # type: ignore[arg-type]


# -- what others made up ---------------------------------------------------------------------------


def test_nothing_of_an_event_plays_tricks_with_a_terminal() -> None:
    event = received(
        key=TRICKS,
        payload=TRICKS.encode() + b"\xff",
        attributes={"host": TRICKS, "raw": TRICKS.encode()},
        error=TRICKS,
    )
    assert event_line(event).isprintable()
    assert r"\x1b[2J\x9b1A\r\n\u202e\u200b\x00\x7f\u2028" in event_line(event)
    shown = event_object(event)
    assert shown.isprintable()
    read = json.loads(shown)
    assert (read["key"], read["attributes"]["host"], read["error"]) == (TRICKS, TRICKS, TRICKS)


def test_text_that_means_no_harm_is_shown_as_it_is() -> None:
    text = "Störung in Zürich: 停電\u3000😀 30 %"
    assert visible(text) == text
    assert visible_json(json.dumps(text, ensure_ascii=False)) == json.dumps(
        text, ensure_ascii=False
    )


def test_a_key_or_an_attribute_cannot_look_like_another() -> None:
    event = received(key="a] severity=9", attributes={"host": "b severity=9", "none": None})
    assert event_line(event) == (
        'probe-7 4 (3 votes) ["a] severity=9"] host="b severity=9" none=null x'
    )


def test_a_payload_that_is_no_text_stands_in_base64() -> None:
    read = json.loads(event_object(received(payload=b"\xff\x00")))
    assert read["payload"] is None
    assert base64.b64decode(read["payload_base64"]) == b"\xff\x00"
    assert "payload_base64" not in json.loads(event_object(received()))


# -- reading ---------------------------------------------------------------------------------------


def test_json_has_everything_of_an_event(shell: Shell, tmp_path: Path) -> None:
    cursor = str(tmp_path / "cursor")
    shell("sub", "alerts", "--cursor", cursor, "--timeout", "0s")
    shell("pub", "alerts", "x", "--urgent", "--key", "k")
    event = shell.json("sub", "alerts", "--cursor", cursor, "--count", "1")
    assert set(event) == {
        *("channel", "publisher", "session", "lane", "seq", "row", "timestamp", "key", "urgent"),
        *("votes", "confirmed", "attributes", "payload", "error"),
    }
    expected = {"channel": "alerts", "publisher": "local", "lane": "urgent", "seq": 1, "row": 0}
    assert {name: event[name] for name in expected} == expected
    assert (event["payload"], event["urgent"], event["confirmed"]) == ("x", True, True)
    assert (event["key"], event["error"], event["attributes"]) == ("k", None, {})
    assert event["votes"] >= 2


def test_a_cursor_goes_on_where_it_stood_to_the_row(shell: Shell, tmp_path: Path) -> None:
    cursor = tmp_path / "cursor"
    read = ("sub", "events", "--cursor", str(cursor), "--count", "2", "--timeout", "5s")
    shell("sub", "events", "--cursor", str(cursor), "--timeout", "0s")
    shell("pub", "events", "--count", "5", "--batch", "5", "--size", "1")
    seen = [shell(*read).stdout.splitlines() for _ in range(2)]
    assert [line.split()[-1] for page in seen for line in page] == ["1", "2", "3", "4"]
    assert json.loads(cursor.read_text())["channel"] == "events"
    assert [path.name for path in tmp_path.iterdir()] == ["cursor"], "it is replaced as a whole"
    assert "is for events" in shell.refused(2, "sub", "alerts", "--cursor", str(cursor))


def test_a_cursor_is_kept_while_events_come_and_when_interrupted(
    shell: Shell, tmp_path: Path
) -> None:
    cursor = tmp_path / "cursor"
    with shell.begin("sub", "events", "--cursor", str(cursor)) as read:
        wait_for(cursor, read)
        begun = cursor.read_text()
        shell("pub", "events", "one")
        assert read.stdout is not None
        assert read.stdout.readline().endswith(" one\n")
        while cursor.read_text() == begun:
            assert read.poll() is None
        read.send_signal(signal.SIGINT)
        _, err = read.communicate(timeout=30)
    assert read.returncode == 130
    assert err == "quorumcast: interrupted after 1 events\n"


def test_who_waits_says_so_and_names_from_earliest(shell: Shell) -> None:
    with shell.begin("sub", "events") as read:
        assert read.stderr is not None
        assert read.stderr.readline() == (
            "waiting for events on events; --from earliest shows those that are there; "
            "Ctrl-C ends\n"
        )
        read.send_signal(signal.SIGINT)
        out, _ = read.communicate(timeout=30)
    assert out == ""
    done = shell("sub", "events", "--json", "--count", "1", "--timeout", "1500ms", code=3)
    assert done.stdout == ""
    assert "waiting" not in done.stderr


def test_who_has_seen_enough_ends_us_silently_also_while_nothing_comes(shell: Shell) -> None:
    shell("pub", "alerts", "one", "two")
    command = 'set -o pipefail; "$@" | head -n 1'
    done = subprocess.run(
        ["bash", "-c", command, "bash", *QUORUMCAST, "sub", "alerts", "--from", "earliest"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=shell.environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_a_reader_that_is_slow_is_waited_for(shell: Shell) -> None:
    shell("pub", "metrics", "--count", "30000", "--batch", "1000", "--size", "100")
    command = 'set -o pipefail; "$@" | (sleep 1; wc -l)'  # longer than a pipe takes
    options = ("--from", "earliest", "--count", "30000", "--publisher", "local")
    done = subprocess.run(
        ["bash", "-c", command, "bash", *QUORUMCAST, "sub", "metrics", *options],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=shell.environment,
    )
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", "30000")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_output_that_cannot_be_written_is_no_traceback(shell: Shell) -> None:
    shell("pub", "alerts", "one", "x" * 100_000)
    arguments = ("sub", "alerts", "--from", "earliest", "--publisher", "local", "--count", "2")
    with FULL.open("w") as full, shell.begin(*arguments, output=full) as read:
        _, err = read.communicate(timeout=30)
    assert read.returncode == 1
    assert err.count("\n") == 1
    assert "No space left" in err


def test_nothing_in_time_is_said_and_has_a_code_of_its_own(shell: Shell) -> None:
    said = shell.refused(3, "sub", "events", "--count", "1", "--timeout", "300ms")
    assert said == "0 of 1 events came before --timeout 300ms"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--count", "0"], "use 1 or more"),
        (["--timeout", "soon"], "not a duration"),
        (["--timeout", "-1s"], "not a duration"),
        (["--from", "tomorrow"], "--from tomorrow: use earliest, latest, a time"),
        (["--from", "0001-01-01"], "use earliest, latest, a time"),
        (["--from", '{"a":1}'], "use earliest, latest, a time"),
        (["--as", "nobody"], "no such identity"),
        (["--cursor", "/"], "Is a directory"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(
    shell: Shell, arguments: list[str], told: str
) -> None:
    assert told in refused_at_once(shell, "sub", "events", *arguments)


def test_a_file_that_is_no_cursor_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="this file holds no cursor"):
        beginning("latest", path)
    assert path.read_text() == "mine"
