"""A cluster of real replica machines in one process and on one loop, for the client's tests.

Every machine has its own driver; links carry messages from one driver to another in memory, in
order, a turn later. A replica can be stopped, started again on what it stored, or made a liar.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quorumcast.api.client import AsyncClient
from quorumcast.api.hub import Card, Hub
from quorumcast.api.received import Received
from quorumcast.api.subscribing import Subscription
from quorumcast.broker import Replica
from quorumcast.core.channel import Channel
from quorumcast.core.ids import FIRST, Party
from quorumcast.core.machine import Machine
from quorumcast.core.messages import Message
from quorumcast.core.records import Incarnated, Record
from quorumcast.events import Schema
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.driver import Driver
from quorumcast.sim.adversaries import REGISTRY, Plot
from quorumcast.sim.keys import Keyring
from quorumcast.sim.store import Store
from quorumcast.wire.codec import Memo

PATIENCE_SECONDS = 20.0
"""A test that waits for longer has failed; none needs a tenth of it."""

CLIENTS = ("probe", "other", "screen", "stranger")

SCHEMA = Schema.parse({"severity": "int8", "host": "string"})


def channel(name: str = "alerts", **given: Any) -> ChannelSettings:
    """A channel that confirms quickly; keywords are settings of either kind."""
    own = {key: given.pop(key) for key in list(given) if key in ChannelSettings.__struct_fields__}
    usual = {"publishers": ("probe", "other"), "within_seconds": 0.01, "alpha": 100}
    return ChannelSettings(Channel(name, **{**usual, **given}), **own)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run a test's coroutine; it fails if it takes too long, or if the loop complains."""
    complaints: list[dict[str, Any]] = []

    async def guarded() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await work()

    asyncio.run(guarded())
    assert complaints == []


async def turns(count: int = 3) -> None:
    """Let the loop come round a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def turns_until(condition: Callable[[], bool]) -> None:
    """Let the loop come round until something happened."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")


async def receive(subscription: Subscription, count: int) -> list[Received]:
    """The next events."""
    return [await anext(subscription) for _ in range(count)]


async def texts(subscription: Subscription, count: int) -> str:
    """The payloads of the next events."""
    return "".join([event.payload.decode() for event in await receive(subscription, count)])


async def publish(qc: AsyncClient, text: str, name: str = "alerts", **settings: Any) -> None:
    """Publish each letter, and wait until all are confirmed."""
    publisher = await qc.publisher(name, batch_events=1)
    handles = [await publisher.send(letter.encode(), **settings) for letter in text]
    for handle in handles:
        await handle.confirmed()


def hub_of(qc: AsyncClient) -> Hub:
    """What is inside a client that runs."""
    assert qc._hub is not None
    return qc._hub


class Disk(Store):
    """A replica's store in memory."""

    def commit(self, records: list[Record]) -> None:
        self.apply(records)


class End:
    """One end of a link in memory."""

    def __init__(self, driver: Driver, party: Party) -> None:
        self.party = party
        self.driver = driver
        self.other: End | None = None
        self.open = True
        self.loop = asyncio.get_running_loop()

    def send(self, messages: list[Message], memo: Memo | None = None) -> None:
        if self.open and self.other is not None:
            self.loop.call_soon(self.other.arrive, list(messages))

    def flush(self) -> None:
        pass

    def arrive(self, messages: list[Message]) -> None:
        if self.open:
            self.driver.received(self, messages)

    def close(self) -> None:
        for end in (self, self.other):
            if end is not None and end.open:
                end.open = False
                end.driver.unlinked(end)


def link(one: Driver, other: Driver) -> None:
    """Bring a link up."""
    mine, theirs = End(one, other.machine.me), End(other, one.machine.me)
    mine.other, theirs.other = theirs, mine
    one.linked(mine)
    other.linked(theirs)


class LocalCluster:
    """Replicas r1, r2, ...; those named in `liars` are adversaries by name."""

    def __init__(
        self, *channels: ChannelSettings, n: int = 4, f: int = 1, liars: Mapping[str, str] = {}
    ) -> None:
        self.settings = channels or (channel(),)
        names = [f"r{number}" for number in range(1, n + 1)]
        lab = any(not each.channel.confirm for each in self.settings)
        self.ring = Keyring(7, names, CLIENTS, faults=f, lab=lab)
        self.channels = [each.channel for each in self.settings]
        self.plot = Plot(7, self.ring.cluster, self.channels, tuple(liars))
        self.drivers: dict[Party, Driver] = {}
        self.clients: dict[Party, Driver] = {}
        self.evidence: list[Any] = []
        self._liars = dict(liars)
        self._disks: dict[Party, Disk] = {}
        self.names = names
        for name in names:
            self.start(name)

    def start(self, name: Party) -> None:
        """A replica starts on what it stored."""
        disk = self._disks.get(name)
        if disk is None:
            disk = self._disks[name] = Disk(self.ring.cluster.id)
            disk.life = Incarnated(((FIRST, 0.0),), ())
        assert disk.life is not None
        replica = Replica(name, self.ring.cluster, self.channels, disk.life)
        machine: Machine = replica
        if name in self._liars:
            make = REGISTRY[self._liars[name]].replica
            assert make is not None
            machine = make(replica, self.plot)
        driver = Driver(machine, loop=asyncio.get_running_loop(), storage=disk)
        driver.call(replica.start)
        for other in (*self.drivers.values(), *self.clients.values()):
            link(driver, other)
        self.drivers[name] = driver

    def stop(self, name: Party) -> None:
        """A replica stops; what it stored stays."""
        driver = self.drivers.pop(name)
        driver.stop()
        for each in list(driver.links.values()):
            each.close()

    def replica(self, name: Party) -> Replica:
        """A correct replica's machine."""
        machine = self.drivers[name].machine
        assert isinstance(machine, Replica)
        return machine

    def card(self, name: Party) -> Card:
        """A client's papers."""
        return Card(
            name=name,
            cluster=self.ring.cluster,
            certificate=self.ring.certificates[name],
            sign=self.ring.identity(name).sign,
            channels=tuple(self.settings),
        )

    def client(self, name: Party = "probe", timeout: float = 10.0) -> AsyncClient:
        """A client, not yet connected."""
        return AsyncClient(self.card(name), LocalLinks(self), timeout)


class LocalLinks:
    """A client's links to the replicas of a local cluster that run."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._driver: Driver | None = None

    outdated = False

    def start(self, driver: Driver, changed: Callable[[], None], learn: Any) -> None:
        self._driver = driver
        self._cluster.clients[driver.machine.me] = driver
        for replica in self._cluster.drivers.values():
            link(driver, replica)

    def failures(self) -> Mapping[Party, Exception]:
        stopped = [name for name in self._cluster.names if name not in self._cluster.drivers]
        return {name: ConnectionError("connection refused") for name in stopped}

    async def close(self) -> None:
        await asyncio.sleep(0)  # what was sent arrives
        if self._driver is not None:
            self._cluster.clients.pop(self._driver.machine.me, None)
            for each in list(self._driver.links.values()):
                each.close()
