"""The picture that `quorumcast demo` draws on a terminal: 80 columns and 24 rows are enough."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from quorumcast.cli.called import called
from quorumcast.cli.demo import milliseconds
from quorumcast.lab.load import BATCH_EVENTS, BURST_BATCHES
from quorumcast.lab.meter import Latencies, Standing
from quorumcast.lab.showcase import Showcase

WIDTH = 96
"""A wider terminal shows nothing more."""

BAR = 24
NOTES = 6
HEIGHTS = "▁▂▃▄▅▆▇"
STATES = {"ready": "green", "catching-up": "yellow", "abstaining": "yellow"}
ROWS = 24
"""Rows without which something would be missing; more show more."""

SECONDS = 24
"""Seconds whose deliveries are drawn side by side."""

METRICS = (
    ("cpu", "memory used", "disk used"),
    ("load", "net received", "net sent"),
    ("busiest core", "disk read", "disk written"),
)
"""Readings in rows; what a host has not got stays empty."""

_CELL = 26


class Screen:
    """Draws a showcase as it stands."""

    def __init__(self, showcase: Showcase) -> None:
        self._showcase = showcase

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, WIDTH)
        for line in self._lines(width, console.height - ROWS):
            line.no_wrap = True
            line.truncate(width, overflow="ellipsis")
            yield line

    def _lines(self, width: int, spare: int) -> Iterator[Text]:
        yield self._head(width)
        yield Text()
        yield from self._throughput()
        yield self._queues()
        yield Text()
        yield from self._latency()
        yield Text()
        yield from self._replicas()
        yield Text()
        yield from self._host(len(METRICS) if spare >= 1 else len(METRICS) - 1)
        yield from self._notes(max(1, min(spare, NOTES)))
        yield self._foot(width)

    # -- parts ---------------------------------------------------------------------------------

    def _head(self, width: int) -> Text:
        showcase = self._showcase
        elapsed = int(showcase.elapsed)
        when = f"{elapsed // 60}:{elapsed % 60:02}"
        if showcase.seconds is not None:
            when = f"{elapsed} of {showcase.seconds:g} s"
        n, f = len(showcase.local.names), showcase.local.cluster.manifest.faults
        what = f"  {n} replicas on this machine, {f} may lie or fail"
        head = Text.assemble(("quorumcast demo", "bold"), what)
        return head.append(f"{when:>{max(1, width - len(head))}}")

    def _throughput(self) -> Iterator[Text]:
        showcase = self._showcase
        meter = showcase.meter
        yield _row("delivered", f"{showcase.ledger.got:,}", "events")
        line = _row("now", f"{meter.deliveries.now():,.0f}", "events/s  ")
        if picture := _picture(meter.deliveries.history()[-SECONDS:]):
            line.append(picture, "cyan").append(" each second", "dim")
        yield line
        size = BATCH_EVENTS * BURST_BATCHES
        rate = showcase.bursts[-1].rate if showcase.bursts else 0.0
        yield _row("at once", f"{rate:,.0f}", f"events/s  in a burst of {size:,}, a made-up load")

    def _queues(self) -> Text:
        showcase = self._showcase
        unconfirmed = max((each.unconfirmed for each in showcase.votes.standings), default=0)
        line = _row("queues", f"{showcase.ledger.unknown:,}", "not acknowledged, ")
        line.append(f"{showcase.unread:,} not read, ")
        return line.append(f"{unconfirmed:,} unconfirmed")

    def _latency(self) -> Iterator[Text]:
        meter = self._showcase.meter
        yield Text(f"{'LATENCY of the probes’ events':<33}{'half':>9}{'99 %':>12}", "dim")
        yield _spread("send to acknowledgement", meter.to_acknowledgement)
        yield _spread("send to delivery", meter.to_delivery)

    def _replicas(self) -> Iterator[Text]:
        head = f"{'REPLICAS':<11}{'state':<13}publications voted for, as each says itself"
        yield Text(head, "dim")
        standings = self._showcase.votes.standings
        most = max((each.votes for each in standings), default=0)
        for name in self._showcase.local.names:
            known = next((each for each in standings if each.name == name), None)
            yield Text(f"{name:<11}...") if known is None else _standing(known, most)
        yield self._vouched()

    def _vouched(self) -> Text:
        vouched = self._showcase.meter.vouched
        total = sum(vouched.values())
        shares = [f"{count / total:.0%} on {votes}" for votes, count in sorted(vouched.items())]
        text = f"events were delivered as soon as enough had voted: {', '.join(shares)} votes"
        return Text(text if shares else "", "dim")

    def _host(self, rows: int) -> Iterator[Text]:
        readings = self._showcase.readings
        yield Text("THIS HOST  as the delivered events of its probes say", "dim")
        for row in METRICS[:rows]:
            line = Text()
            for metric in row:
                line.append(f"{metric:<13}", "cyan")
                line.append(f"{readings.get(metric, ''):<{_CELL - 13}}")
            yield line
        yield Text.assemble((f"{'log':<13}", "cyan"), self._showcase.log_line)

    def _notes(self, rows: int) -> Iterator[Text]:
        notes = list(self._showcase.notes)[-rows:]
        for note in notes:
            style = "bold red" if "killed" in note.text else "bold"
            yield Text(f"{note.at:5.0f} s  {note.text}", style)
        for _ in range(rows - len(notes)):
            yield Text()

    def _foot(self, width: int) -> Text:
        if self._showcase.ending:
            return Text("ending: what is under way is waited for", "bold")
        look = called(f"quorumcast sub readings --cluster {self._showcase.local.folder}")
        text = f"Ctrl-C ends · {look}"
        return Text(text if len(text) <= width else "Ctrl-C ends", "dim")


# -- lines -----------------------------------------------------------------------------------------


def _row(name: str, figure: str, what: str) -> Text:
    return Text.assemble((f"{name:<11}", "dim"), (f"{figure:>13} ", "bold"), what)


def _spread(name: str, latencies: Latencies) -> Text:
    found = latencies.recent()
    half, most = ("", "") if found is None else (milliseconds(found.p50), milliseconds(found.p99))
    return Text(f"  {name:<31}{half:>9}{most:>12}")


def _standing(each: Standing, most: int) -> Text:
    filled = round(BAR * each.votes / most) if most else 0
    style = STATES.get(each.state, "red")
    line = Text(f"{each.name:<11}")
    line.append(f"{'away' if each.away else each.state:<13}", f"bold {style}")
    line.append("━" * filled, style)
    line.append("━" * (BAR - filled), "bright_black")
    line.append(f"{each.votes:>10,}")
    if each.away:
        return line
    line.append(f"{each.votes_per_second:>6,.0f}/s{each.rss_bytes / 2**20:>6,.0f} MiB", "dim")
    return line


def _picture(sums: list[int]) -> str:
    """Counts side by side as a row of blocks."""
    most = max(sums, default=0)
    if most == 0:
        return ""
    return "".join(HEIGHTS[each * len(HEIGHTS) // (most + 1)] for each in sums)
