"""Sending what `pub` is given: all of it, as fast as the cluster takes it, and what came of it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple

from quorumcast.api.client import AsyncClient
from quorumcast.api.flight import Handle
from quorumcast.api.publishing import Publisher
from quorumcast.cli.attributes import parse_attributes
from quorumcast.cli.ending import say
from quorumcast.cli.sources import Line, Load, lines
from quorumcast.core.errors import ConfigError

BAR_AFTER_SECONDS = 0.5
"""What is done sooner needs no bar."""

_LATENCIES = 10_000
"""Latencies that are kept; of more, every second one, and so on."""


class Job(NamedTuple):
    """What is to be published, and how."""

    channel: str
    given: list[Line] | Load | None
    """Events, or what to make up, or None for the lines of standard input."""
    key: str | None
    urgent: bool
    attributes: list[str]
    """As they were given: NAME=VALUE."""
    batch: int
    """Events per publication; 0: as it comes."""

    @property
    def total(self) -> int | None:
        """How many events there are, where that is known."""
        if isinstance(self.given, Load):
            return self.given.events
        return None if self.given is None else len(self.given)


class Latencies:
    """How long acknowledgements took: a sample of bounded size, evenly over all.

    >>> latencies = Latencies()
    >>> for number in range(1, 101):
    ...     latencies.add(number / 1000)
    >>> latencies.percentile(50), latencies.percentile(99)
    (0.05, 0.099)
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._stride = 1
        self._seen = 0

    def add(self, seconds: float) -> None:
        """One more."""
        if self._seen % self._stride == 0:
            self.seconds.append(seconds)
            if len(self.seconds) >= _LATENCIES:
                del self.seconds[1::2]
                self._stride *= 2
        self._seen += 1

    def percentile(self, percent: int) -> float | None:
        """The latency that so many of a hundred did not exceed."""
        if not self.seconds:
            return None
        ordered = sorted(self.seconds)
        return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


class Sending:
    """One run of `pub`; what came of it can be asked at any time, also after an interruption."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.sent = 0
        self.faults = 0
        """Events of the input that could not be sent, each of which was told of."""
        self.seconds = 0.0
        self.latencies = Latencies()
        self._publisher: Publisher | None = None
        self._began = 0.0
        self._latest: tuple[Handle, float] | None = None
        self._news = asyncio.Event()

    @property
    def acknowledged(self) -> int:
        """Events that are safe."""
        return 0 if self._publisher is None else self._publisher.acknowledged

    async def run(self, client: AsyncClient) -> None:
        """Send everything; raises what goes wrong on the way, as soon as it is known."""
        try:
            await client.start()
            await self._run(client)
        finally:
            await client.close()

    async def _run(self, client: AsyncClient) -> None:
        job = self.job
        options = {"batch_events": job.batch} if job.batch else {}
        publisher = self._publisher = await client.publisher(job.channel, **options)
        schema = next(each.schema for each in client.channels if each.name == job.channel)
        attributes = parse_attributes(schema, job.attributes)
        sample = bytes(job.given.size) if isinstance(job.given, Load) else b""
        publisher.check(sample, None, job.key, job.urgent, attributes)
        self._began = time.monotonic()
        if isinstance(job.given, Load) and job.batch > 1:
            constant = {"key": job.key, "urgent": job.urgent or None, **attributes}
            known = {name: value for name, value in constant.items() if value is not None}
            work = self._batches(publisher, job.given.batches(job.batch, schema, known))
        else:
            work = self._events(publisher, attributes)
        try:
            await _first_failure(work, self._watch(), self._show())
            await publisher.flush()
        finally:
            self.seconds = time.monotonic() - self._began

    # -- sending -------------------------------------------------------------------------------

    async def _events(self, publisher: Publisher, attributes: dict[str, Any]) -> None:
        key, urgent = self.job.key, self.job.urgent
        async for chunk in self._chunks():
            handle: Handle | None = None
            for payload, name, fault in chunk:
                if fault is not None:
                    self._fault(name, fault)
                    continue
                try:
                    handle = await publisher.send(payload, key=key, urgent=urgent, **attributes)
                except ConfigError as error:  # this event does not fit; the others may
                    self._fault(name, error)
                else:
                    self.sent += 1
            if handle is not None:
                self._latest = handle, time.monotonic()
                self._news.set()

    async def _batches(self, publisher: Publisher, batches: AsyncIterator[Any]) -> None:
        async for batch in batches:
            at = time.monotonic()
            handles = await publisher.send_batch(batch, urgent=self.job.urgent)
            self.sent += batch.num_rows
            self._latest = handles[-1], at
            self._news.set()

    def _chunks(self) -> AsyncIterator[list[Line]]:
        match self.job.given:
            case None:
                return lines()
            case Load():
                return self.job.given.slices()
            case given:
                return _once(given)

    def _fault(self, name: str, fault: object) -> None:
        self.faults += 1
        say(f"{name}: {fault}" if name else fault)

    # -- watching ------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Wait for one acknowledgement after another: a sample of them tells the latency.

        Also, what is refused is told when it is, and not when more input comes.
        """
        while True:
            await self._news.wait()
            self._news.clear()
            if self._latest is not None:
                handle, at = self._latest
                await handle.acknowledged()
                self.latencies.add(time.monotonic() - at)

    async def _show(self) -> None:
        """A bar on a terminal, once the work turns out to be long."""
        if not sys.stderr.isatty() or (self.job.given is None and sys.stdin.isatty()):
            return
        await asyncio.sleep(BAR_AFTER_SECONDS)
        from quorumcast.cli.progress import Progress

        with Progress(self.job.total, "events acknowledged") as bar:
            while True:
                bar.show(self.acknowledged)
                await asyncio.sleep(0.1)


async def _once(chunk: list[Line]) -> AsyncIterator[list[Line]]:
    yield chunk


async def _first_failure(
    work: Coroutine[Any, Any, None], *beside: Coroutine[Any, Any, None]
) -> None:
    """Until the work is done, or something beside it fails."""
    loop = asyncio.get_running_loop()
    main = loop.create_task(work)
    tasks = {main, *(loop.create_task(each) for each in beside)}
    try:
        left = set(tasks)
        while main in left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        for each in tasks:
            each.cancel()
        for each in tasks:
            with suppress(asyncio.CancelledError, Exception):
                await each
