"""All of it at once: probes and a load publish, a subscriber reads, replicas come and go.

Publishers and the subscriber run in this process, each under an identity of its own and with its
own links to all replicas; so the time from `send` to the event is measured on one clock. What was
sent is compared with what came, event by event.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, NamedTuple

from quorumcast.api.client import AsyncClient, connect
from quorumcast.api.publishing import Publisher
from quorumcast.api.received import Received
from quorumcast.api.subscribing import Subscription
from quorumcast.lab.ledger import Got, Ledger, Place, Sent, event_digest, received_digest
from quorumcast.lab.load import (
    BATCH_EVENTS,
    BURST_BATCHES,
    EVERY_SECONDS,
    LOAD,
    PUBLISHER,
    batches_of,
    prepared,
)
from quorumcast.lab.meter import Meter, Votes
from quorumcast.lab.outages import Outage, Planned, plan
from quorumcast.lab.playground import pause
from quorumcast.lab.probes import (
    LOG_SCHEMA,
    LOGS,
    OWN,
    READING_SCHEMA,
    READINGS,
    Fact,
    LogFile,
    Probe,
    host_name,
    host_probes,
    quantity,
    system_log,
)
from quorumcast.runtime.folder import replica_folder
from quorumcast.runtime.local import LOG_FILE, LocalCluster

READER = "screen"

CLIENTS = (
    "probe-cpu",
    "probe-memory",
    "probe-disk",
    "probe-network",
    "probe-log",
    PUBLISHER,
    READER,
)
"""The identities that a showcase uses."""

_KEPT = {"events": 100_000, "bytes": "32MiB"}
"""A demo that runs for days takes no more memory than one of a minute."""

CHANNELS: tuple[dict[str, Any], ...] = (
    {
        "name": READINGS,
        "publishers": ["probe-*"],
        "schema": READING_SCHEMA,
        "retention": _KEPT,
    },
    {
        "name": LOGS,
        "protocol": "bracha",
        "publishers": ["probe-log"],
        "schema": LOG_SCHEMA,
        "retention": _KEPT,
    },
    {"name": LOAD, "publishers": [PUBLISHER], "retention": _KEPT},
)

PROBE_SECONDS = 0.25
STATUS_SECONDS = 0.5
SETTLE_SECONDS = 10.0
"""How long what is under way may take when everybody has stopped publishing."""

PAGE = 1000
SHOWN = 50
"""The latest notes that are kept for whoever shows them."""


class Burst(NamedTuple):
    """One burst of the load: how many events, from the first `send` to the last delivery."""

    events: int
    seconds: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


class Note(NamedTuple):
    """Something that happened, and when."""

    at: float
    text: str


class Showcase:
    """One run on a cluster that is ready; `run` it, and look at the rest meanwhile."""

    def __init__(
        self,
        local: LocalCluster,
        seconds: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.local = local
        self.seconds = seconds
        self.ledger = Ledger()
        self.meter = Meter(clock)
        self.votes = Votes(clock, (READINGS, LOGS, LOAD))
        self.outages: list[Outage] = []
        self.notes: deque[Note] = deque(maxlen=SHOWN)
        self.readings: dict[str, str] = {}
        """The latest reading of each metric, as the subscriber got it."""
        self.log_line = ""
        """The latest line of a log, likewise; not of this run's own notes."""
        self.published: Counter[str] = Counter()
        """Events by their publisher."""
        self.bursts: deque[Burst] = deque(maxlen=1)
        self.best_burst = 0.0
        self._clock = clock
        self.began: float | None = None
        """When events began to flow; None before."""
        self.ended: float | None = None
        self._over: asyncio.Event | None = None
        self._subscriptions: list[Subscription] = []
        self._news = asyncio.Event()
        """Set whenever something was delivered."""
        logs = [
            LogFile(replica_folder(local.folder, each) / LOG_FILE, each) for each in local.names
        ]
        system = system_log()
        self._probes, self._log = host_probes(host_name(), logs + ([system] if system else []))

    # -- what can be seen of it ----------------------------------------------------------------

    @property
    def elapsed(self) -> float:
        """Seconds since events began to flow, until they ended."""
        if self.began is None:
            return 0.0
        return (self._clock() if self.ended is None else self.ended) - self.began

    @property
    def ending(self) -> bool:
        """Whether nothing more is published, and what is under way is waited for."""
        return self._over is not None and self._over.is_set()

    @property
    def unread(self) -> int:
        """Events that came to the subscriber and were not looked at yet."""
        return sum(subscription.waiting for subscription in self._subscriptions)

    # -- the run -------------------------------------------------------------------------------

    async def run(self, over: asyncio.Event) -> None:
        """Until it is over or the time is; then until everything that was sent has come."""
        self._over = over
        async with AsyncExitStack() as stack:
            clients = {
                name: await stack.enter_async_context(self._client(name)) for name in CLIENTS
            }
            await self._subscribe(clients[READER])
            prepared(0, batches=1)  # loads what it needs: that is not the first event's latency
            self.began = self._clock()
            end = asyncio.create_task(self._end(over))
            sources = [
                self._probe(clients[probe.name], probe, over, rest=number * PROBE_SECONDS / 5)
                for number, probe in enumerate(self._probes)
            ]
            sources.append(self._load(clients[PUBLISHER], over))
            others = [self._read_load(), *(self._read(each) for each in self._subscriptions[1:])]
            others += [self._observe(), self._nemesis()]
            try:
                await _together([self._work(sources)], others)
            finally:
                end.cancel()
            self.votes.note(await self.local.status())

    async def _work(self, sources: Sequence[Coroutine[Any, Any, None]]) -> None:
        """Publish until it is over, and then wait for what is under way."""
        await _together(sources, [])
        with suppress(TimeoutError):  # what is missing then is told as it is
            async with asyncio.timeout(SETTLE_SECONDS):
                while not self.ledger.settled:
                    self._news.clear()
                    await self._news.wait()
        self.ended = self._clock()

    def _client(self, name: str) -> AsyncClient:
        return connect(self.local.folder / f"{name}.qc")

    async def _subscribe(self, client: AsyncClient) -> None:
        for channel in (LOAD, READINGS, LOGS):
            # What retention drops while this process is stopped is counted as lost, not raised.
            subscription = client.subscribe(channel, from_="earliest", on_gap="continue")
            self._subscriptions.append(await subscription.ready())

    async def _end(self, over: asyncio.Event) -> None:
        if self.seconds is not None:
            await pause(over, self.seconds)
            over.set()

    def note(self, text: str) -> None:
        """Remember what happened, and publish it as a line of the log."""
        self.notes.append(Note(self.elapsed, text))
        self._log.say(text)

    # -- publishing ----------------------------------------------------------------------------

    async def _probe(
        self, client: AsyncClient, probe: Probe, over: asyncio.Event, rest: float
    ) -> None:
        """Read and publish; each begins after another rest, as probes of a network would."""
        publisher = await client.publisher(probe.channel)
        await pause(over, rest)
        while not over.is_set():
            await self._publish(publisher, client.name, probe.read())
            await pause(over, PROBE_SECONDS)

    async def _publish(self, publisher: Publisher, name: str, facts: list[Fact]) -> None:
        """Publish facts, and wait until all of them are safe."""
        flying: list[tuple[Any, Sent]] = []
        for payload, key, attributes, urgent in facts:
            at = time.time_ns() // 1000
            digest = event_digest(payload, at, key, urgent, attributes.items())
            self.ledger.published(1)
            self.published[name] += 1
            sent = Sent(digest, 1, self._clock())
            handle = await publisher.send(
                payload, key=key, urgent=urgent, timestamp=at, **attributes
            )
            flying.append((handle, sent))
        for handle, sent in flying:
            ack = await handle
            self.meter.to_acknowledgement.add(self._clock() - sent.at)
            self._acknowledged(Place.of(ack.id, ack.row), sent, timed=True)

    def _acknowledged(self, place: Place, sent: Sent, *, timed: bool) -> None:
        self._timed(self.ledger.acknowledged(place, sent), timed=timed)
        if self.outages and self.outages[-1].to_seconds is None:
            self.outages[-1].acknowledged += sent.events
        self._news.set()

    def _timed(self, seconds: float | None, *, timed: bool) -> None:
        """Latency is told of the probes' events; a burst has its rate."""
        if timed and seconds is not None:
            self.meter.to_delivery.add(seconds)

    async def _load(self, client: AsyncClient, over: asyncio.Event) -> None:
        publisher = await client.publisher(LOAD)
        number = 0
        while not over.is_set():
            number += 1
            rested = asyncio.create_task(pause(over, EVERY_SECONDS))
            await self._burst(publisher, number)
            await rested

    async def _burst(self, publisher: Publisher, number: int) -> None:
        batches = prepared(number)
        await asyncio.sleep(0)
        began, events = self._clock(), 0
        flying: list[tuple[Any, Sent]] = []
        for batch in batches:
            rows = batch.table.num_rows
            self.ledger.published(rows)
            self.published[PUBLISHER] += rows
            sent = Sent(batch.digest, rows, self._clock())
            (handle,) = await publisher.send_batch(batch.table, timestamp=batch.timestamp)
            flying.append((handle, sent))
            events += rows
        last: Place | None = None
        for handle, sent in flying:
            ack = await handle
            last = Place.of(ack.id, 0)
            self._acknowledged(last, sent, timed=False)
        while last is not None and self.ledger.awaits(last):
            self._news.clear()
            await self._news.wait()
        burst = Burst(events, self._clock() - began)
        self.bursts.append(burst)
        self.best_burst = max(self.best_burst, burst.rate)

    # -- subscribing ---------------------------------------------------------------------------

    async def _read(self, subscription: Subscription) -> None:
        """Events of probes, one by one."""
        while True:
            for event in await subscription.take(PAGE):
                self.show(event)
                got = Got(received_digest(event), 1, self._clock())
                seconds = self.ledger.delivered(Place.of(event.id, event.row), got)
                self._timed(seconds, timed=True)
                self._delivered(1, event.votes)

    def show(self, event: Received) -> None:
        """Keep what a delivered event of a probe says."""
        attributes: Any = event.attributes
        if event.error is not None:
            self.log_line = event.error
        elif event.channel == READINGS:
            self.readings[attributes["metric"]] = quantity(attributes["value"], attributes["unit"])
        elif attributes["source"] != OWN:
            text = event.payload.decode("utf-8", "replace").expandtabs()
            line = "".join(each if each.isprintable() else "." for each in text)
            self.log_line = f"{attributes['source']}: {line}"

    async def _read_load(self) -> None:
        """Events of the load, batch by batch."""
        subscription = self._subscriptions[0]
        while True:
            table = await subscription.poll(BATCH_EVENTS * BURST_BATCHES, timeout=None)
            for batch in batches_of(table, self._clock()):
                self.ledger.delivered(batch.place, batch.got)
                self._delivered(batch.got.events, batch.votes)

    def _delivered(self, events: int, votes: int) -> None:
        self.meter.delivered(events, votes)
        if self.outages and self.outages[-1].to_seconds is None:
            self.outages[-1].delivered += events
        self._news.set()

    # -- replicas ------------------------------------------------------------------------------

    async def _observe(self) -> None:
        """Ask the replicas how they are."""
        while True:
            self.votes.note(await self.local.status())
            await asyncio.sleep(STATUS_SECONDS)

    async def _nemesis(self) -> None:
        """Kill replicas and bring them back, one at a time."""
        for planned in plan(self.local.names, self.seconds):
            await asyncio.sleep(max(0.0, planned.down - self.elapsed))
            if len(await self.local.running()) == len(self.local.names):
                await self._outage(planned)  # else somebody else has stopped one: that is enough
        await asyncio.Event().wait()

    async def _outage(self, planned: Planned) -> None:
        name = planned.replica
        self.local.kill(name)
        outage = Outage(name, self.elapsed)
        self.outages.append(outage)
        left = len(self.local.names) - 1
        self.note(f"{name} was killed: {left} of {left + 1} are a quorum, so nothing stops")
        await asyncio.sleep(max(0.0, planned.up - self.elapsed))
        self.note(f"{name} is started again, and fetches what it missed")
        self.local.start([name], detached=True)
        await self.local.wait_ready([name])
        outage.to_seconds = self.elapsed
        seconds = outage.to_seconds - outage.from_seconds
        self.note(f"{name} takes part again after {seconds:.1f} s away")


async def _together(
    work: Sequence[Coroutine[Any, Any, None]], others: Sequence[Coroutine[Any, Any, None]]
) -> None:
    """Do all the work, and the others as long as that takes; the first failure ends everything."""
    working = [asyncio.ensure_future(each) for each in work]
    beside = [asyncio.ensure_future(each) for each in others]
    left = {*working, *beside}
    try:
        while not all(task.done() for task in working):
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in (*working, *beside):
            task.cancel()
        await asyncio.gather(*working, *beside, return_exceptions=True)
