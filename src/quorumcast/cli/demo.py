"""`quorumcast demo`: a cluster on this machine, events of this machine through it, and a view.

It is a user's own program, as anybody could write it: it connects, publishes, subscribes, and
kills replicas. Nothing in it is simulated but the load, which is made up and says so.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from quorumcast.cli.called import called
from quorumcast.cli.clients import talk_ending
from quorumcast.cli.ending import FAILED, INTERRUPTED
from quorumcast.cli.folders import Json, as_json, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.units import parse_duration

if TYPE_CHECKING:  # the others load what they need, and a command line starts faster without
    from quorumcast.lab.meter import Spread
    from quorumcast.lab.showcase import Showcase
    from quorumcast.lab.summary import Summary

EXAMPLES = """Examples:

quorumcast demo              # until Ctrl-C

quorumcast demo --for 30s

quorumcast demo --for 10s --json
"""

LINE_SECONDS = 1.0
FRAME_SECONDS = 0.25
SHOWN_OUTAGES = 4
COLUMNS = 70
"""A terminal that is smaller than this and the picture's rows gets lines."""

NEXT = (
    ("quorumcast up --detach", "your own cluster"),
    ('quorumcast pub events "disk failing"', "an event into it"),
    ("quorumcast sub events --from earliest", "and out of it"),
    ("quorumcast sim --adversary all --seeds 5", "replicas that lie"),
)


def demo(
    *,
    time_: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="End after a time, e.g. 30s.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what this is for: four replicas here, probes of this host, a replica killed."""
    with talk_ending():
        seconds = None if time_ is None else parse_duration(time_)
        if seconds is not None and seconds <= 0:
            raise ConfigError(f"--for {time_}: use a time such as 30s")
        summary = run(_demo(seconds, json=json))
        if summary is None:
            print("quorumcast: interrupted before it could end in order", file=sys.stderr)
            raise typer.Exit(INTERRUPTED)
        print(as_json(summary)) if json else _conclude(summary)
        if not summary.kept:
            raise typer.Exit(FAILED)


async def _demo(seconds: float | None, *, json: bool) -> Summary | None:
    """The cluster, what runs on it, and a view of that; None if somebody could not wait."""
    from quorumcast.lab.playground import playground
    from quorumcast.lab.showcase import CHANNELS, CLIENTS, Showcase
    from quorumcast.lab.summary import summary_of

    stopping = Stopping()
    console = Console(highlight=False)
    if not json:
        _say("quorumcast demo: starting four replicas on this machine")
    try:
        async with playground("demo", CHANNELS, CLIENTS) as local:
            showcase = Showcase(local, seconds)
            stopping.showcase = showcase
            if not json:
                _introduce(showcase)
            work = asyncio.ensure_future(showcase.run(stopping.over))
            try:
                if json:
                    await work
                elif _fits(console):
                    await _watch(showcase, work, console)
                else:
                    await _tell(showcase, work)
            finally:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
            return summary_of(showcase)
    except asyncio.CancelledError:
        if stopping.hurried:
            return None
        raise


class Stopping:
    """What signals do: the first one ends the demo in order, the next one at once."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.showcase: Showcase | None = None
        self.hurried = False
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._signal)

    def _signal(self) -> None:
        flowing = self.showcase is not None and self.showcase.began is not None
        if flowing and not self.over.is_set():
            self.over.set()
        elif not self.hurried and self._task is not None:
            self.hurried = True
            self._task.cancel()


# -- a terminal ------------------------------------------------------------------------------------


def _fits(console: Console) -> bool:
    if not console.is_terminal or console.is_dumb_terminal:
        return False
    from quorumcast.cli.screen import ROWS

    return console.height >= ROWS and console.width >= COLUMNS


async def _watch(showcase: Showcase, work: asyncio.Future[None], console: Console) -> None:
    """Draw a picture of it, again and again."""
    from rich.live import Live

    from quorumcast.cli.screen import Screen

    live = Live(Screen(showcase), console=console, screen=True, auto_refresh=False)
    with live:
        while not work.done():
            live.refresh()
            await asyncio.wait([work], timeout=FRAME_SECONDS)
    work.result()


# -- lines -----------------------------------------------------------------------------------------


def _say(line: str) -> None:
    print(line)
    sys.stdout.flush()


def _introduce(showcase: Showcase) -> None:
    n, f = len(showcase.local.names), showcase.local.cluster.manifest.faults
    where = f" --cluster {showcase.local.folder}"
    ends = "Ctrl-C ends it" if showcase.seconds is None else f"it ends after {showcase.seconds:g} s"
    _say(f"{n} replicas are ready; {f} of them may lie or fail; {ends}")
    _say("Look into it from another terminal:")
    _say(f"  {called(f'quorumcast sub readings{where}')}")
    _say("")


async def _tell(showcase: Showcase, work: asyncio.Future[None]) -> None:
    """Print a line a second, and what happens."""
    told = 0
    _say("p50, p99: from send to delivery, of the probes' events. votes: publications that each")
    _say(
        "replica says it voted for. queues: events not acknowledged + events not read. The probes'"
    )
    _say("events are real; a load of 20,000 events a second is made up.")
    while not work.done():
        await asyncio.wait([work], timeout=LINE_SECONDS)
        happened = list(showcase.notes)
        for note in happened[told:]:
            _say(f"{note.at:6.1f} s  {note.text}")
        told = len(happened)
        if not work.done() and showcase.began is not None:
            _say(line_of(showcase))
    work.result()


def line_of(showcase: Showcase) -> str:
    """How it goes, in a line."""
    ledger, meter = showcase.ledger, showcase.meter
    votes = " ".join(
        f"{each.name} {'away' if each.away else f'{each.votes:,}'}"
        for each in showcase.votes.standings
    )
    return (
        f"{showcase.elapsed:6.1f} s  {ledger.got:,} delivered ({meter.deliveries.now():,.0f}/s)  "
        f"{_latency(meter.to_delivery.recent())}  votes {votes}  "
        f"queues {ledger.unknown:,}+{showcase.unread:,}"
    )


def _latency(found: Spread | None) -> str:
    if found is None:
        return "no latency yet"
    return f"p50 {milliseconds(found.p50)} p99 {milliseconds(found.p99)}"


def milliseconds(seconds: float) -> str:
    """A latency, with as many figures as mean something.

    >>> milliseconds(0.00234), milliseconds(0.1)
    ('2.3 ms', '100 ms')
    """
    figure = seconds * 1000
    return f"{figure:.1f} ms" if figure < 10 else f"{figure:.0f} ms"


# -- the end ---------------------------------------------------------------------------------------


def _conclude(summary: Summary) -> None:
    rows = (
        ("published", summary.published, _sources(summary)),
        ("acknowledged", summary.acknowledged, "publishers were told that these are safe"),
        ("delivered", summary.delivered, "to the subscriber, in order"),
        ("lost", summary.lost, "acknowledged, and not delivered"),
        ("altered", summary.altered, "delivered with another content than was sent"),
        ("repeated", summary.repeated, "delivered again"),
    )
    print(f"\nIn {summary.seconds:.1f} s, compared event by event:\n")
    for name, count, meaning in rows:
        print(f"  {name:<12} {count:>13,}   {meaning}")
    print()
    if len(summary.outages) > SHOWN_OUTAGES:
        print(f"Replicas were killed {len(summary.outages)} times; of late:")
    for outage in summary.outages[-SHOWN_OUTAGES:]:
        end = "the end" if outage.to_seconds is None else f"{outage.to_seconds:.1f} s"
        print(
            f"{outage.replica} was away from {outage.from_seconds:.1f} s to {end}; meanwhile "
            f"{outage.delivered:,} events were delivered."
        )
    if summary.to_delivery is not None and summary.to_acknowledgement is not None:
        acknowledged, delivered = summary.to_acknowledgement, summary.to_delivery
        print(
            f"Half of the probes' events were safe within {milliseconds(acknowledged.p50)} and "
            f"delivered within {milliseconds(delivered.p50)}."
        )
    if summary.best_burst_per_second:
        print(f"The fastest burst of load: {summary.best_burst_per_second:,.0f} events a second.")
    print("\nThe cluster is stopped and its folder removed. Next:\n")
    width = max(len(called(command)) for command, _ in NEXT)
    for command, why in NEXT:
        print(f"  {called(command):<{width}}   # {why}")


def _sources(summary: Summary) -> str:
    from quorumcast.lab.load import PUBLISHER

    load = summary.publishers.get(PUBLISHER, 0)
    return f"{summary.published - load:,} by probes of this host, {load:,} made up"
