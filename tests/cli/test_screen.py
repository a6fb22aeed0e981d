"""The demo's picture fits its terminal, and shows what is measured."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from quorumcast.cli.screen import ROWS, Screen
from quorumcast.lab.ledger import Place, Sent
from quorumcast.lab.showcase import Burst, Showcase
from quorumcast.runtime.folder import make_cluster
from quorumcast.runtime.local import LocalCluster


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> LocalCluster:
    folder = tmp_path_factory.mktemp("screen") / "demo"
    make_cluster(folder, addresses=[f"unix:///tmp/r{number}.sock" for number in range(4)])
    return LocalCluster(folder)


def status(held: int) -> dict[str, object]:
    channels = [{"name": "load", "held": held, "confirmed": held - 5}]
    up = {"state": "ready", "rss_bytes": 70 * 2**20, "progress": {"streams_behind": 0}}
    replicas = [{"name": f"r{n}", "channels": channels, **up} for n in (1, 2, 4)]
    gone = {"name": "r3", "state": "stopped", "address": "x", "pid": None}
    return {"replicas": [*replicas[:2], gone, replicas[2]]}


@pytest.fixture
def busy(local: LocalCluster) -> Showcase:
    """A run with figures as long as they get."""
    clock = Clock()
    showcase = Showcase(local, None, clock)
    showcase.began = 0.0
    for number in range(1, 31):
        clock.now += 1.0
        showcase.meter.delivered(20_000, 3 + number % 2)
        showcase.meter.to_delivery.add(0.0023)
        showcase.meter.to_acknowledgement.add(0.123)
    showcase.ledger.got = 12_283_964_000
    showcase.ledger.published(20_000)
    showcase.ledger.published(5)
    showcase.ledger.acknowledged(Place("load", "p", "00", "normal", 1, 0), Sent(b"x", 5, 0.0))
    showcase.bursts.append(Burst(20_000, 0.0125))
    showcase.votes.note(status(1_000_000))
    showcase.votes.note(status(1_234_567))
    for metric in ("cpu", "memory used", "disk used", "load", "net received"):
        showcase.readings[metric] = "999.9 MB/s"
    showcase.log_line = "r4: " + "a long line 漢字 " * 20
    for number in range(9):
        showcase.note(f"r{number} was killed: 3 of 4 are a quorum, so nothing stops")
    return showcase


def drawn(showcase: Showcase, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=StringIO(), record=True)
    console.print(Screen(showcase))
    return console.export_text().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (70, 24), (100, 25), (200, 60)])
def test_it_fits(busy: Showcase, width: int, height: int) -> None:
    lines = drawn(busy, width, height)
    assert ROWS <= len(lines) <= height
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    assert lines[-1].startswith("Ctrl-C ends")


def test_it_is_never_higher_than_its_terminal(busy: Showcase) -> None:
    assert [len(drawn(busy, 80, height)) for height in (24, 25, 26, 30, 40)] == [24, 25, 26, 30, 30]


def line_with(lines: list[str], start: str) -> str:
    (line,) = (each for each in lines if each.startswith(start))
    return " ".join(line.split())


def test_it_shows_what_was_measured(busy: Showcase) -> None:
    lines = drawn(busy, 80, 24)
    shown: Callable[[str], str] = lambda start: line_with(lines, start)  # noqa: E731
    assert lines[0].startswith("quorumcast demo  4 replicas on this machine, 1 may lie or fail")
    assert lines[0].endswith("0:30")
    assert shown("delivered") == "delivered 12,283,964,000 events"
    assert shown("now").startswith("now 20,000 events/s")
    assert shown("at once").startswith("at once 1,600,000 events/s in a burst of 20,000")
    assert shown("queues") == "queues 20,000 not acknowledged, 0 not read, 5 unconfirmed"
    assert shown("  send to acknowledgement") == "send to acknowledgement 123 ms 123 ms"
    assert shown("  send to delivery") == "send to delivery 2.3 ms 2.3 ms"
    assert shown("r1").startswith("r1 ready")
    assert "1,234,567" in shown("r1")
    assert shown("r3").startswith("r3 away")
    assert "50% on 3, 50% on 4 votes" in shown("events were delivered")
    assert "memory used 999.9 MB/s" in shown("cpu")
    assert shown("   30 s").startswith("30 s r8 was killed")


def test_before_anything_happened_it_can_be_drawn(local: LocalCluster) -> None:
    lines = drawn(Showcase(local, 30.0), 80, 24)
    assert len(lines) == ROWS
    assert lines[0].endswith("0 of 30 s")
    assert line_with(lines, "delivered") == "delivered 0 events"


def test_strange_bytes_in_logs_do_not_reach_the_terminal(local: LocalCluster) -> None:
    from quorumcast.api.received import PublicationId, Received
    from quorumcast.core.ids import Lane

    showcase = Showcase(local, None)
    id = PublicationId("logs", "probe-log", bytes(32), Lane.NORMAL, 1)
    told = {"source": "r1", "host": "h"}
    line = b"\x1b[2J\xff\tbad\x07"
    showcase.show(Received(id, 0, 1, 1, "h", False, line, told, 3, True))
    assert line_with(drawn(showcase, 80, 24), "log") == "log r1: .[2J� bad."


def test_the_folder_is_of_use_to_another_terminal(busy: Showcase) -> None:
    where = f"--cluster {busy.local.folder}"
    assert drawn(busy, 200, 24)[-1].endswith(where) or len(where) > 60
    assert isinstance(busy.local.folder, Path)
