"""Probes of this very host: what its processors, memory, disk, network and logs say, as events.

What a system does not tell (a container without disks, a Mac without some counter) is left out:
a probe publishes what there is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import psutil

UNTOLD = (
    AttributeError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ZeroDivisionError,
    psutil.Error,
)
"""How psutil says that a system has no answer: by its own errors, by functions that are missing,
by None in place of a number, by empty lists."""

READINGS = "readings"
LOGS = "logs"

READING_SCHEMA = {"metric": "string", "value": "float64", "unit": "string", "host": "string"}
LOG_SCHEMA = {"source": "string", "host": "string"}

OWN = "demo"
"""The source of lines that whoever runs the probe said himself."""

LINES = 50
"""Lines of one file that are published at a time; the others come next time."""

LINE_BYTES = 1000
"""Of a longer line, the beginning is published."""

_SCALES = ("", "k", "M", "G", "T")

SYSTEM_LOGS = ("/var/log/syslog", "/var/log/messages", "/var/log/system.log")


class Fact(NamedTuple):
    """What a probe has to say: an event of a channel that is not published yet.

    >>> Fact(b"", "db-3", {"metric": "cpu", "value": 7.5}).attributes["value"]
    7.5
    """

    payload: bytes
    key: str
    attributes: Mapping[str, Any]
    urgent: bool = False


class Probe(Protocol):
    """Something that is read again and again."""

    name: str
    """The identity under which it publishes."""
    channel: str

    def read(self) -> list[Fact]:
        """What there is to say now."""
        ...


def reading(host: str, metric: str, value: float, unit: str) -> Fact:
    """A number that was read of this host.

    >>> reading("db-3", "memory used", 61.5, "%").attributes["unit"]
    '%'
    """
    attributes = {"metric": metric, "value": float(value), "unit": unit, "host": host}
    return Fact(b"", host, attributes)


class CpuProbe:
    """How busy the processors are.

    >>> [fact.attributes["metric"] for fact in CpuProbe("db-3").read()][0]
    'cpu'
    """

    name = "probe-cpu"
    channel = READINGS

    def __init__(self, host: str) -> None:
        self._host = host
        with suppress(*UNTOLD):
            psutil.cpu_percent(percpu=True)  # the next answer is since this one

    def read(self) -> list[Fact]:
        """All processors together, the busiest one, and how many processes want to run."""
        facts: list[Fact] = []
        with suppress(*UNTOLD):
            shares = psutil.cpu_percent(percpu=True)
            facts.append(reading(self._host, "cpu", sum(shares) / len(shares), "%"))
            facts.append(reading(self._host, "busiest core", max(shares), "%"))
        with suppress(*UNTOLD):
            facts.append(reading(self._host, "load", os.getloadavg()[0], ""))
        return facts


class MemoryProbe:
    """How much memory is in use.

    >>> [fact.attributes["unit"] for fact in MemoryProbe("db-3").read()]
    ['%', 'B']
    """

    name = "probe-memory"
    channel = READINGS

    def __init__(self, host: str) -> None:
        self._host = host

    def read(self) -> list[Fact]:
        """How much is used, and how much programs may still have."""
        facts: list[Fact] = []
        with suppress(*UNTOLD):
            found = psutil.virtual_memory()
            facts.append(reading(self._host, "memory used", found.percent, "%"))
            facts.append(reading(self._host, "memory free", found.available, "B"))
        return facts


class DiskProbe:
    """How full the disk is, and what goes to and from all disks."""

    name = "probe-disk"
    channel = READINGS

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._speeds = Speeds(clock)

    def read(self) -> list[Fact]:
        """The share in use of the disk of `/`, bytes read and written a second."""
        facts: list[Fact] = []
        with suppress(*UNTOLD):
            facts.append(reading(self._host, "disk used", psutil.disk_usage("/").percent, "%"))
        with suppress(*UNTOLD):
            counters = psutil.disk_io_counters()
            if counters is None:  # a host without disks of its own
                return facts
            counts = {"disk read": counters.read_bytes, "disk written": counters.write_bytes}
            facts += self._speeds.facts(self._host, counts)
        return facts


class NetworkProbe:
    """What goes over the network interfaces, loopback included."""

    name = "probe-network"
    channel = READINGS

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._speeds = Speeds(clock)

    def read(self) -> list[Fact]:
        """Bytes received and sent a second."""
        with suppress(*UNTOLD):
            counters = psutil.net_io_counters()
            counts = {"net received": counters.bytes_recv, "net sent": counters.bytes_sent}
            return self._speeds.facts(self._host, counts)
        return []


class Speeds:
    """Counters that only grow, as bytes a second since they were last read.

    >>> times = iter([0.0, 2.0])
    >>> speeds = Speeds(lambda: next(times))
    >>> speeds.facts("db-3", {"sent": 100})
    []
    >>> speeds.facts("db-3", {"sent": 300})[0].attributes["value"]
    100.0
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: tuple[float, Mapping[str, int]] | None = None

    def facts(self, host: str, counts: Mapping[str, int]) -> list[Fact]:
        """One fact a counter; none the first time."""
        now, last = self._clock(), self._last
        self._last = (now, counts)
        if last is None or now <= last[0]:
            return []
        seconds, before = now - last[0], last[1]
        grown = {name: max(0, count - before.get(name, count)) for name, count in counts.items()}
        return [reading(host, name, count / seconds, "B/s") for name, count in grown.items()]


class LogProbe:
    """Lines of log files, as they are written; and what its owner has to say himself.

    >>> probe = LogProbe("db-3", [])
    >>> probe.say("r3 was killed")
    >>> probe.read()[0].payload
    b'r3 was killed'
    """

    name = "probe-log"
    channel = LOGS

    def __init__(self, host: str, logs: Iterable[LogFile]) -> None:
        self._host = host
        self._logs = tuple(logs)
        self._said: list[str] = []

    def say(self, line: str) -> None:
        """Publish this line as well, urgently."""
        self._said.append(line)

    def read(self) -> list[Fact]:
        """The lines that are new."""
        said, self._said = self._said, []
        facts = [self._fact(line.encode(), OWN, urgent=True) for line in said]
        for log in self._logs:
            facts += [self._fact(line, log.source) for line in log.lines()]
        return facts

    def _fact(self, line: bytes, source: str, *, urgent: bool = False) -> Fact:
        return Fact(line, self._host, {"source": source, "host": self._host}, urgent)


class LogFile:
    """A file that others append lines to; one that cannot be read has none.

    >>> LogFile(Path("no-such.log"), "r1").lines()
    []
    """

    def __init__(self, path: Path, source: str, *, from_end: bool = False) -> None:
        self.source = source
        self._path = path
        self._offset = 0
        if from_end:
            with suppress(OSError):
                self._offset = path.stat().st_size

    def lines(self) -> list[bytes]:
        """Whole lines that came since the last call, at most `LINES`."""
        with suppress(OSError):
            return self._read()
        return []

    def _read(self) -> list[bytes]:
        if self._path.stat().st_size < self._offset:  # another file stands there now
            self._offset = 0
        found: list[bytes] = []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            while len(found) < LINES and (line := file.readline()).endswith(b"\n"):
                self._offset += len(line)
                found.append(line.rstrip(b"\r\n")[:LINE_BYTES])
        return [line for line in found if line]


def system_log() -> LogFile | None:
    """The system's own log, from its end on, where there is one that may be read.

    >>> system_log() is None or system_log().source.startswith("/var/log")
    True
    """
    for name in SYSTEM_LOGS:
        if Path(name).is_file() and os.access(name, os.R_OK):
            return LogFile(Path(name), name, from_end=True)
    return None


def host_probes(host: str, logs: Sequence[LogFile]) -> tuple[list[Probe], LogProbe]:
    """All probes of this host, and the one among them that can be told what to say.

    >>> [probe.name for probe in host_probes("db-3", [])[0]]
    ['probe-cpu', 'probe-memory', 'probe-disk', 'probe-network', 'probe-log']
    """
    log = LogProbe(host, logs)
    return [CpuProbe(host), MemoryProbe(host), DiskProbe(host), NetworkProbe(host), log], log


def quantity(value: float, unit: str) -> str:
    """A reading as people write it.

    >>> quantity(7.52, "%"), quantity(3_200_000.0, "B/s"), quantity(0.5, "")
    ('7.5 %', '3.2 MB/s', '0.5')
    """
    scale = 0
    while unit.startswith("B") and value >= 1000 and scale < len(_SCALES) - 1:
        value, scale = value / 1000, scale + 1
    return f"{value:.1f} {_SCALES[scale]}{unit}".rstrip()


def host_name() -> str:
    """What this host calls itself, up to the first dot.

    >>> "." in host_name()
    False
    """
    return os.uname().nodename.partition(".")[0] or sys.platform
