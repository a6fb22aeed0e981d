"""Clusters on real sockets, in one process, and people who misbehave at them."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

import pytest
import uvloop

from quorumcast.auth.handshake import Credentials, Initiator
from quorumcast.broker import Replica
from quorumcast.client import Publisher, Subscriber
from quorumcast.core.channel import Channel
from quorumcast.core.ids import FIRST, Party
from quorumcast.core.machine import Machine
from quorumcast.core.messages import Message
from quorumcast.core.outcomes import Acknowledged, Delivery
from quorumcast.core.records import Record
from quorumcast.runtime.addresses import Address, Tcp, Unix
from quorumcast.runtime.around import Outbound
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Dialling, dials
from quorumcast.runtime.driver import Driver
from quorumcast.runtime.listening import Listening
from quorumcast.sim.disk import Disk, new_life
from quorumcast.sim.keys import Keyring
from quorumcast.wire.frames import LENGTH
from quorumcast.wire.link import Opener, Sealer

PATIENCE_SECONDS = 20.0
"""A test that waits for longer has failed; none needs a tenth of it."""

CLIENTS = ("probe-1", "probe-2", "screen-1", "screen-2")
RING = Keyring(7, ["r1", "r2", "r3", "r4"], CLIENTS, faults=1)
CHANNEL = Channel("alerts", publishers=("probe-*",))

LOOPS = pytest.mark.parametrize(
    "loops", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
PLACES = pytest.mark.parametrize("place", ["tcp", "unix"])

Loops = Callable[[], asyncio.AbstractEventLoop]


def run(
    work: Callable[[], Awaitable[None]], loops: Callable[[], Any] = uvloop.new_event_loop
) -> None:
    """Run a test's coroutine on a loop; it fails if it takes too long, or if the loop complains."""
    complaints: list[dict[str, Any]] = []

    async def guarded() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await work()
        finally:
            while Stranger.all:
                Stranger.all.pop().close()
            await asyncio.sleep(0)  # so that their connections are gone before the loop is

    with asyncio.Runner(loop_factory=loops) as runner:
        runner.run(guarded())
    assert complaints == []


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(prefix="qc-", dir="/tmp") as folder:
        yield Path(folder)


@contextmanager
def addresses(place: str, count: int = 1) -> Iterator[list[Address]]:
    """Addresses to listen at, on the loopback device or in a folder."""
    if place == "tcp":
        yield [Tcp("127.0.0.1", 0)] * count
        return
    with short_folder() as folder:
        yield [Unix(str(folder / f"{number}.sock")) for number in range(count)]


def credentials(name: Party) -> Credentials:
    """What this party brings to a handshake."""
    certificate = RING.certificates.get(name, b"")
    return Credentials(name, RING.identity(name), RING.manifest, certificate)


def entropy(*seed: object) -> Callable[[int], bytes]:
    """Random bytes that are the same in every run."""
    return Random(repr(seed)).randbytes


class Signal:
    """Wakes who waits for a condition, each time that something may have made it true."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def changed(self, *what: object) -> None:
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()


class WatchedDisk(Disk):
    """A disk that tells of each commit."""

    def __init__(self, cluster: bytes) -> None:
        super().__init__(cluster)
        self.signal = Signal()

    def commit(self, records: Sequence[Record]) -> None:
        super().commit(records)
        self.signal.changed()


class Heard(Signal):
    """A sink that keeps what links tell it, and wakes who waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.up: list[Outbound] = []
        self.down: list[Outbound] = []
        self.said: list[tuple[Party, Message]] = []

    def linked(self, link: Outbound) -> None:
        self.up.append(link)
        self.changed()

    def unlinked(self, link: Outbound) -> None:
        self.down.append(link)
        self.changed()

    def received(self, link: Outbound, messages: list[Message]) -> None:
        self.said += [(link.party, message) for message in messages]
        self.changed()


class Stranger:
    """A peer made of a bare connection: says whatever a test wants."""

    all: ClassVar[list[Stranger]] = []

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.all.append(self)
        self.reader = reader
        self.writer = writer
        self.sealer = Sealer(bytes(32))
        self.opener = Opener(bytes(32))

    @classmethod
    async def at(cls, address: Address, tls: ssl.SSLContext | None = None) -> Stranger:
        """Connect, and say nothing yet."""
        name = "" if tls is not None else None
        if isinstance(address, Tcp):
            return cls(
                *await asyncio.open_connection(
                    address.host, address.port, ssl=tls, server_hostname=name
                )
            )
        return cls(*await asyncio.open_unix_connection(address.path, ssl=tls, server_hostname=name))

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    def greet(self, message: bytes) -> None:
        self.say(LENGTH.pack(len(message)) + message)

    async def greeting(self) -> bytes:
        (size,) = LENGTH.unpack(await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def shake(self, me: Credentials, peer: Party, nonce: bytes, binding: bytes = b"") -> None:
        """A proper handshake; then frames may be sealed and opened."""
        initiator = Initiator(me, peer, nonce, binding)
        self.greet(initiator.hello)
        while initiator.established is None:
            answer = initiator.receive(await self.greeting())
            if answer:
                self.greet(answer)
        self.sealer = Sealer(initiator.established.send_key)
        self.opener = Opener(initiator.established.receive_key)

    async def ended(self) -> bytes:
        """What the other end still said before it closed the connection."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""

    def close(self) -> None:
        self.writer.transport.abort()


class Node:
    """A replica of the cluster: machine, disk, driver, and its end of all links."""

    def __init__(self, name: Party, address: Address, bounds: Bounds | None = None) -> None:
        loop = asyncio.get_running_loop()
        names = RING.cluster.replicas
        life = new_life(names.index(name), len(names), FIRST, 0.0, ())
        self.name = name
        self.disk = WatchedDisk(RING.cluster.id)
        self.disk.commit([life])
        self.replica = Replica(name, RING.cluster, [CHANNEL], life)
        self.driver = Driver(self.replica, loop=loop, storage=self.disk)
        self.listening = Listening(
            address,
            credentials(name),
            self.driver,
            loop=loop,
            entropy=entropy("listening", name),
            bounds=bounds,
        )
        self.diallings: dict[Party, Dialling] = {}

    async def start(self) -> None:
        self.driver.call(self.replica.start)
        await self.listening.start()

    def dial(self, others: dict[Party, Address]) -> None:
        for peer, address in others.items():
            if dials(RING.manifest, self.name, peer):
                self.diallings[peer] = dialling(self.name, peer, address, self.driver)

    async def close(self) -> None:
        self.driver.stop()
        await asyncio.gather(*(each.close() for each in self.diallings.values()))
        await self.listening.close()


def dialling(me: Party, peer: Party, address: Address, driver: Driver) -> Dialling:
    """A link that is kept up, already dialling."""
    made = Dialling(
        address,
        peer,
        credentials(me),
        driver,
        loop=asyncio.get_running_loop(),
        entropy=entropy("dialling", me, peer),
    )
    made.start()
    return made


class Client(Signal):
    """A publisher or a subscriber with links to all replicas."""

    def __init__(self, machine: Machine, where: dict[Party, Address]) -> None:
        super().__init__()
        self.driver = Driver(machine, loop=asyncio.get_running_loop())
        self.driver.on_delivery = self._delivered
        self.driver.on_outcome = self._outcome
        self.delivered: list[bytes] = []
        self.acknowledged = 0
        self.diallings = {
            peer: dialling(machine.me, peer, address, self.driver)
            for peer, address in where.items()
        }
        for each in self.diallings.values():
            each.on_up = self.changed

    def _delivered(self, delivery: Delivery) -> None:
        self.delivered += map(bytes, delivery.bodies)
        self.changed()

    def _outcome(self, outcome: Any) -> None:
        assert isinstance(outcome, Acknowledged)
        self.acknowledged = max(self.acknowledged, outcome.last)
        self.changed()

    async def close(self) -> None:
        self.driver.stop()
        await asyncio.gather(*(each.close() for each in self.diallings.values()))


class Cluster:
    """Four replicas, and clients as they are asked for."""

    def __init__(self, places: list[Address], bounds: Bounds | None = None) -> None:
        names = RING.cluster.replicas
        self.nodes = {
            name: Node(name, place, bounds) for name, place in zip(names, places, strict=True)
        }
        self.clients: list[Client] = []

    @property
    def where(self) -> dict[Party, Address]:
        return {name: node.listening.address for name, node in self.nodes.items()}

    async def __aenter__(self) -> Self:
        for node in self.nodes.values():
            await node.start()
        for node in self.nodes.values():
            node.dial(self.where)
        return self

    async def __aexit__(self, *error: object) -> None:
        for client in self.clients:
            await client.close()
        await asyncio.gather(*(node.close() for node in self.nodes.values()))
        for node in self.nodes.values():
            assert node.driver.failure is None

    def publisher(self, name: Party) -> tuple[Publisher, Client]:
        draw = entropy("sessions", name)
        machine = Publisher(
            name,
            RING.cluster,
            [CHANNEL],
            RING.certificates[name],
            lambda: int.from_bytes(draw(8), "big"),
            None,
        )
        return machine, self._client(machine)

    def subscriber(self, name: Party) -> Client:
        machine = Subscriber(name, RING.cluster, [CHANNEL])
        machine.subscribe(CHANNEL.name, start="earliest")
        return self._client(machine)

    def _client(self, machine: Machine) -> Client:
        client = Client(machine, self.where)
        self.clients.append(client)
        return client
