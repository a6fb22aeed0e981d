"""Reports of replicas put together: what each says is its own statement, and lies are bounded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quorumcast.core.errors import ProtocolError
from quorumcast.core.limits import REPORT_BYTES
from quorumcast.runtime.report import packed_report, unpacked_report
from quorumcast.runtime.survey import LIVE, flowing, surveyed
from tests.runtime_files.made import cluster

KEYS = (
    *("name", "address", "pid", "state", "progress"),
    *("abstaining_streams", "rss_bytes", "metrics", "statement_of"),
)


def report(name: str, held: int = 1, **given: Any) -> dict[str, Any]:
    channel = {"name": "alerts", **dict.fromkeys(LIVE, held), "abstaining": 0, "behind": 0}
    suspect = {
        "parties": ["r4"],
        "grade": "observed",
        "kind": "lies",
        "count": 2,
        "first": 1.0,
        "last": 2.0,
        "seen_by": [name],
    }
    return {
        "name": name,
        "address": f"tcp://127.0.0.1:740{name[1]}",
        "pid": 7,
        "state": "ready",
        "connected": 4,
        "linked": sorted({"r1", "r2", "r3", "r4"} - {name}),
        "version": 1,
        "progress": {"streams_behind": 0},
        "abstaining_streams": 0,
        "rss_bytes": 1,
        "metrics": None,
        "incarnation": 1,
        "clients": 0,
        "channels": [channel],
        "suspected": [suspect],
        **given,
    }


def test_a_report_comes_back_as_its_senders_own() -> None:
    sent = report("r1")
    text = packed_report({**sent, "name": "r3", "address": "tcp://evil:1"})
    assert unpacked_report(text, "r1", sent["address"]) == sent


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        packed_report(report("r1", state="dead")),
        packed_report(report("r1", pid="x")),
        packed_report(report("r1", channels=[{"name": 3}])),
    ],
)
def test_what_is_no_report_is_refused(text: bytes) -> None:
    with pytest.raises(ProtocolError, match="r1 sends what is no report"):
        unpacked_report(text, "r1", "tcp://127.0.0.1:7401")


def test_a_liar_sends_no_commands_to_the_terminal_and_accuses_in_its_own_name() -> None:
    suspect = {**report("r1")["suspected"][0], "kind": "a\x1b[2Jb", "seen_by": ["r2", "r3"]}
    found = unpacked_report(packed_report(report("r1", suspected=[suspect])), "r1", "a")
    (one,) = found["suspected"]
    assert (one["kind"], one["seen_by"]) == ("a?[2Jb", ["r1"])
    wrong = {**suspect, "parties": ["\x1b[2J"]}
    with pytest.raises(ProtocolError, match="r1 names parties that cannot be"):
        unpacked_report(packed_report(report("r1", suspected=[wrong])), "r1", "a")


def test_a_report_that_is_too_long_leaves_out_what_it_says_of_others() -> None:
    long = report("r1", suspected=[{"kind": "x" * 1000}] * 2000)
    assert len(packed_report(long)) < REPORT_BYTES
    assert msgspec.json.decode(packed_report(long))["channels"] == long["channels"]
    longer = report("r1", channels=[{"name": "x" * 1000}] * 2000)
    assert len(packed_report(longer)) < REPORT_BYTES


def test_what_runs_through_a_channel_is_what_enough_say() -> None:
    said = {f"r{number}": report(f"r{number}", held) for number, held in enumerate((5, 4, 3), 1)}
    assert flowing({**said, "r4": None}, 2)["alerts"]["held"] == 4
    twice = report("r1", channels=said["r1"]["channels"] * 5)
    assert flowing({"r1": twice}, 2) == {}, "one replica counts once"


def survey(
    here: str = "", gone: str = "", *, hung: str = "", asked: bool = True, **given: Any
) -> dict[str, Any]:
    names = ("r1", "r2", "r3", "r4")
    reports = {name: None if name in gone.split() else report(name, **given) for name in names}
    pids = {name: 9 if name == hung else None for name in here.split()}
    return surveyed(cluster(), pids, reports, asked=asked)


def test_every_part_has_every_key_and_says_whose_it_is() -> None:
    found = survey("r1 r2", "r2 r3")
    assert all(set(KEYS) <= set(each) for each in found["replicas"])
    assert [each["state"] for each in found["replicas"]] == [
        "ready",
        "stopped",
        "unreachable",
        "ready",
    ]
    assert [each["statement_of"] for each in found["replicas"]] == ["r1", None, None, "r4"]
    assert [each["pid"] for each in found["replicas"]] == [7, None, None, 7]
    (suspected,) = found["suspected"]
    assert (suspected["count"], suspected["seen_by"]) == (4, ["r1", "r4"])


def test_who_is_gone_counts_and_who_could_not_be_asked_does_not() -> None:
    assert survey("r1 r2 r3 r4", "r2")["faults_left"] == 0
    assert survey("r1", "r2 r3 r4")["faults_left"] == -2, "asked, and no answer"
    assert survey("r1", "r2 r3 r4", asked=False)["faults_left"] == 1, "r1 has links to them"
    assert survey("r1", "r2 r3 r4", asked=False, linked=["r2"])["faults_left"] == -1


def test_one_that_runs_and_does_not_answer_is_gone_and_has_a_process() -> None:
    found = survey("r1 r2 r3 r4", "r2 r3", hung="r2")
    assert [(each["state"], each["pid"]) for each in found["replicas"]][1:3] == [
        ("unreachable", 9),
        ("stopped", None),
    ]
    assert found["faults_left"] == -1


def test_those_that_could_not_be_asked_are_named() -> None:
    assert survey("r1", "r2 r3", asked=False)["not_asked"] == ["r2", "r3"]
    assert survey("r1 r2", "r2 r3")["not_asked"] == []
