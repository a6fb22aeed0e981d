"""Probes say what this host says, and nothing where it says nothing."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from quorumcast.events import Schema, build_event
from quorumcast.lab import probes
from quorumcast.lab.probes import (
    LINE_BYTES,
    LINES,
    LOG_SCHEMA,
    LOGS,
    READING_SCHEMA,
    READINGS,
    CpuProbe,
    DiskProbe,
    Fact,
    LogFile,
    LogProbe,
    MemoryProbe,
    NetworkProbe,
    host_name,
    host_probes,
    system_log,
)


def values(facts: list[Fact]) -> dict[str, float]:
    return {fact.attributes["metric"]: fact.attributes["value"] for fact in facts}


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# -- numbers ---------------------------------------------------------------------------------------


def test_every_fact_fits_its_channel() -> None:
    schemas = {READINGS: Schema.parse(READING_SCHEMA), LOGS: Schema.parse(LOG_SCHEMA)}
    every, log = host_probes(host_name(), [])
    log.say("something happened")
    for probe in every:
        facts = probe.read() + probe.read()
        for payload, key, attributes, urgent in facts:
            schema = schemas[probe.channel]
            build_event(schema, payload, timestamp=1, key=key, urgent=urgent, **attributes)
            assert set(attributes) == set(schema.by_name)


def test_shares_are_shares_of_this_host() -> None:
    found = values(CpuProbe("h").read() + MemoryProbe("h").read() + DiskProbe("h").read())
    for metric in ("cpu", "busiest core", "memory used", "disk used"):
        assert 0.0 <= found[metric] <= 100.0
    assert 0 < found["memory free"] <= psutil.virtual_memory().total
    assert found["load"] >= 0.0
    assert found["cpu"] <= found["busiest core"]


def test_network_counters_become_bytes_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, counters = Clock(), SimpleNamespace(bytes_recv=1000, bytes_sent=0)
    monkeypatch.setattr(psutil, "net_io_counters", lambda: counters)
    probe = NetworkProbe("h", clock)
    assert probe.read() == [], "a speed needs two counts"
    clock.now, counters.bytes_recv, counters.bytes_sent = 0.5, 3000, 10
    assert values(probe.read()) == {"net received": 4000.0, "net sent": 20.0}
    clock.now, counters.bytes_recv = 1.0, 0
    assert values(probe.read())["net received"] == 0.0, "a counter that began anew is no speed"


@pytest.mark.parametrize("error", [OSError, NotImplementedError, RuntimeError, psutil.AccessDenied])
def test_what_a_system_does_not_tell_is_left_out(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    every, _ = host_probes("h", [])
    for name in ("cpu_percent", "virtual_memory", "disk_usage"):
        monkeypatch.setattr(psutil, name, refuse)
    for name in ("disk_io_counters", "net_io_counters"):  # a function that is missing altogether
        monkeypatch.delattr(psutil, name)
    monkeypatch.setattr(os, "getloadavg", refuse)
    assert [probe.read() for probe in every] == [[], [], [], [], []]


def test_a_host_without_disks_has_no_speeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "disk_io_counters", lambda: None)
    probe = DiskProbe("h")
    probe.read()
    assert set(values(probe.read())) == {"disk used"}


# -- lines -----------------------------------------------------------------------------------------


def test_lines_are_read_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "r1.log"
    log = LogFile(path, "r1")
    assert log.lines() == [], "the file is not there yet"
    with path.open("ab", buffering=0) as file:
        file.write(b"one\ntw")
        assert log.lines() == [b"one"]
        file.write(b"o\r\n\nthree\n")
        assert log.lines() == [b"two", b"three"]
        assert log.lines() == []


def test_a_file_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"a long first line\n")
    log = LogFile(path, "a")
    assert log.lines() == [b"a long first line"]
    path.write_bytes(b"new\n")
    assert log.lines() == [b"new"]


def test_many_and_long_lines_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"x" * 5000 + b"\n" + b"y\n" * (LINES + 9))
    log = LogFile(path, "a")
    first, second = log.lines(), log.lines()
    assert first[0] == b"x" * LINE_BYTES
    assert (len(first), len(second)) == (LINES, 10)


def test_from_its_end_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    path.write_bytes(b"old\n")
    log = LogFile(path, "syslog", from_end=True)
    with path.open("ab") as file:
        file.write(b"new\n")
    assert log.lines() == [b"new"]


def test_the_system_log_is_one_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "messages"
    monkeypatch.setattr(probes, "SYSTEM_LOGS", (str(tmp_path / "syslog"), str(path)))
    assert system_log() is None
    path.write_bytes(b"")
    found = system_log()
    assert found is not None
    assert found.source == str(path)


def test_a_log_probe_says_its_own_lines_first_and_urgently(tmp_path: Path) -> None:
    path = tmp_path / "r1.log"
    path.write_bytes(b"r1 runs\n")
    probe = LogProbe("h", [LogFile(path, "r1")])
    probe.say("r1 was killed")
    told = [(each.payload, each.attributes["source"], each.urgent) for each in probe.read()]
    assert told == [(b"r1 was killed", "demo", True), (b"r1 runs", "r1", False)]
    assert probe.read() == []
