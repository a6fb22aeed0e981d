"""`python -m tests.cluster.attacks FOLDER ATTACK SECONDS`: people who mean harm, as a process.

They have what nobody should give them, the operator's key, and so as many good identities as they
like. Each attack goes on until its time is over, and prints how often it was done.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import uvloop

from quorumcast.auth.digests import session_of
from quorumcast.auth.handshake import Credentials, Initiator
from quorumcast.auth.identity import Identity
from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import FIRST, Lane, Opening, Stream
from quorumcast.core.limits import FRAME_MESSAGES
from quorumcast.core.messages import (
    AskBodies,
    AskHeads,
    AskOpening,
    AskVotes,
    Credit,
    Follow,
    Message,
    Open,
    Publish,
    Release,
    Subscribe,
    Unsubscribe,
)
from quorumcast.runtime.addresses import Tcp, parse_address
from quorumcast.runtime.changing import load_operator
from quorumcast.runtime.settings import load_cluster
from quorumcast.wire.codec import Memo, encode_message
from quorumcast.wire.frames import LENGTH
from tests.runtime.kit import Stranger

GONE = (OSError, asyncio.IncompleteReadError, QuorumcastError)
"""The other end does not want to hear it."""


class Yard:
    """A cluster as its enemies see it."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.cluster = load_cluster(folder)
        self.manifest = self.cluster.manifest
        self.operator = load_operator(folder, self.cluster)
        self.until = time.monotonic() + seconds
        self.done = 0
        self.random = random.Random(7)
        self.names = [each.name for each in self.manifest.replicas]
        self._made: dict[str, Credentials] = {}

    @property
    def time_left(self) -> bool:
        return time.monotonic() < self.until

    def address(self, replica: str) -> Tcp:
        address = parse_address(self.cluster.addresses[replica])
        assert isinstance(address, Tcp)
        return address

    def identity(self, name: str) -> Credentials:
        """A good identity under this name."""
        if name not in self._made:
            keys = Identity.from_seeds(os.urandom(32), os.urandom(32))
            certificate = self.manifest.certify(self.operator, name, keys.public)
            self._made[name] = Credentials(name, keys, self.manifest, certificate)
        return self._made[name]

    async def stranger(self, replica: str) -> Stranger:
        return await Stranger.at(self.address(replica))

    async def client(self, replica: str, name: str) -> Stranger:
        """A link under a good identity."""
        stranger = await self.stranger(replica)
        await stranger.shake(self.identity(name), replica, os.urandom(32))
        return stranger

    async def each_replica(self, work: Callable[[Yard, str], Awaitable[None]]) -> None:
        """Do this to all replicas at the same time, again and again."""

        async def again(replica: str) -> None:
            while self.time_left:
                with suppress(*GONE):
                    await work(self, replica)
                while len(Stranger.all) > 1000:
                    Stranger.all.pop(0).close()
                self.done += 1

        await asyncio.gather(*map(again, self.names))


# -- before they are known -------------------------------------------------------------------------


async def garbage(yard: Yard, replica: str) -> None:
    """Random bytes instead of a handshake."""
    stranger = await yard.stranger(replica)
    stranger.say(os.urandom(yard.random.choice((1, 3, 4, 5, 100, 10_000, 1_000_000))))
    if yard.random.random() < 0.5:
        await stranger.ended()
    stranger.close()


async def half_handshake(yard: Yard, replica: str) -> None:
    """A HELLO that is cut anywhere, or whole; then nothing, or a wrong proof, or the end."""
    stranger = await yard.stranger(replica)
    hello = Initiator(yard.identity("half"), replica, os.urandom(32)).hello
    data = LENGTH.pack(len(hello)) + hello
    cut = yard.random.choice((1, 4, 5, len(data) // 2, len(data) - 1, len(data)))
    stranger.say(data[:cut])
    if cut == len(data):
        await stranger.greeting()
        stranger.greet(yard.random.choice((b"", os.urandom(40), hello)))
    if yard.random.random() < 0.5:
        stranger.close()


async def long_handshake(yard: Yard, replica: str) -> None:
    """A message of a handshake that says it is very long, and some of it."""
    stranger = await yard.stranger(replica)
    stranger.say(yard.random.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\1\0\0")))
    stranger.say(bytes(100_000))
    await stranger.ended()
    stranger.close()


async def other_cluster(yard: Yard, replica: str) -> None:
    """A HELLO of an older epoch, of a changed manifest, of another cluster."""
    me, manifest = yard.identity("old"), yard.manifest
    other = yard.random.choice(
        (
            msgspec.structs.replace(manifest, epoch=manifest.epoch + 1),
            msgspec.structs.replace(manifest, faults=0),
            msgspec.structs.replace(manifest, replicas=manifest.replicas[:3]),
        )
    )
    stranger = await yard.stranger(replica)
    hello = Initiator(me, "r1", os.urandom(32)).hello
    with suppress(QuorumcastError):
        hello = Initiator(msgspec.structs.replace(me, manifest=other), replica, bytes(32)).hello
    stranger.greet(hello)
    await stranger.ended()
    stranger.close()


# -- connections -----------------------------------------------------------------------------------


async def flood(yard: Yard) -> None:
    """Connections that say nothing, as many as there can be, again and again."""
    most = raise_limit() - 100
    held: list[socket.socket] = []
    while yard.time_left:
        for replica in yard.names:
            where = yard.address(replica)
            for _ in range(50):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex((where.host, where.port))
                held.append(one)
                yard.done += 1
        while len(held) > most - 200:
            held.pop(0).close()
        await asyncio.sleep(0)
    for one in held:
        one.close()


def raise_limit() -> int:
    """As many files as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 10_200 if hard == resource.RLIM_INFINITY else min(hard, 10_200)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


# -- under a good identity -------------------------------------------------------------------------


async def wrong_frames(yard: Yard, replica: str) -> None:
    """A handshake as it should be, and then a frame that is not."""
    name = f"wrong-{yard.random.randrange(20)}"
    one = await yard.client(replica, name)
    good = one.sealer.seal([AskHeads("events", 0)] * 3)
    altered = bytearray(good)
    altered[yard.random.randrange(4, len(good))] ^= 1
    one.say(
        yard.random.choice(
            (
                bytes(altered),
                good + good,
                b"\x7f\xff\xff\xff" + bytes(1000),
                b"\xff\xff\xff\xff",
                b"\0\0\0\1x",
                good + os.urandom(500),
            )
        )
    )
    await one.ended()
    one.close()


async def half_frames(yard: Yard) -> None:
    """Many identities, each with nearly all of the longest frame; then they say nothing."""
    data = LENGTH.pack(16 * 2**20 - 4) + bytes(15 * 2**20)
    number = 0
    while yard.time_left:
        replica = yard.names[number % len(yard.names)]
        with suppress(*GONE):
            one = await yard.client(replica, f"half-{number}")
            one.say(data)
            async with asyncio.timeout(1):
                await one.writer.drain()
            yard.done += 1
        number += 1


def useless(yard: Yard, name: str) -> list[Message]:
    """Valid messages that bring nobody anything, and cost a replica what they can."""
    draw = yard.random
    opening = Opening(name, draw.getrandbits(64), (FIRST,) * len(yard.names))
    session = session_of(yard.manifest.cluster_id, yard.manifest.epoch, opening, b"")
    mine = Stream("events", name, session, Lane.NORMAL)
    other = Stream("events", name, os.urandom(32), Lane.URGENT)
    version = time.monotonic_ns() // 1000
    return [
        Open(mine, opening, yard.identity(name).certificate),
        Publish(other, 1, (b"x",)),
        AskHeads("events", 0),
        Subscribe("events", version, ("local", *(f"*{draw.random()}*" for _ in range(60))), 0, 10),
        Follow(mine, version, 1, 2**40),
        Credit(mine, draw.getrandbits(40)),
        AskVotes(mine, 1),
        AskOpening(mine),
        AskBodies(mine, 1, bytes(32)),
        AskVotes(other, 1),
        Unsubscribe("events", version),
        Release(mine),
    ]


async def chatter(yard: Yard, identities: int = 1) -> None:
    """Authenticated clients that talk without end, to all replicas, and read what is answered."""

    async def talk(replica: str, name: str) -> None:
        while yard.time_left:
            with suppress(*GONE):
                one = await yard.client(replica, name)
                reading = asyncio.create_task(drain(one))
                while yard.time_left and not reading.done():
                    for _ in range(50):
                        one.say(one.sealer.seal(useless(yard, name)))
                    yard.done += 600
                    await one.writer.drain()
                reading.cancel()
                one.close()

    names = [f"probe-{number}" for number in range(identities)]
    await asyncio.gather(*(talk(replica, name) for name in names for replica in yard.names))


async def long_lists(yard: Yard) -> None:
    """Frames of as many small messages as may be in one, and of more than may."""

    async def talk(replica: str) -> None:
        while yard.time_left:
            with suppress(*GONE):
                one = await yard.client(replica, "lists")
                reading = asyncio.create_task(drain(one))
                while yard.time_left and not reading.done():
                    memo: Memo = {}
                    for _ in range(yard.random.randrange(50)):
                        one.say(one.sealer.seal([AskHeads("events", 1)] * FRAME_MESSAGES, memo))
                        yard.done += 1
                        await one.writer.drain()
                    encoded = encode_message(AskHeads("events", 1))
                    one.say(b"".join(one.sealer._pieces([encoded] * 800_000)))
                    await one.writer.drain()
                reading.cancel()
                one.close()

    await asyncio.gather(*map(talk, yard.names))


async def drain(one: Stranger) -> None:
    """Read what is said, and forget it."""
    with suppress(OSError):
        while await one.reader.read(2**18):
            pass


async def many_identities(yard: Yard) -> None:
    """One link after the other, each under a name of its own, and all of them stay."""
    number = 0
    while yard.time_left:
        with suppress(*GONE):
            async with asyncio.timeout(1):
                await yard.client(yard.names[number % 4], f"many-{number}")
        number += 1
    yard.done = number


BIG_FRAMES = {"half-frames": 3 * 64 * 2**20}
"""What an attack may make a replica hold beyond what it takes in peace."""

ATTACKS: dict[str, Callable[[Yard], Awaitable[None]]] = {
    "flood": flood,
    "many-identities": many_identities,
    "chatter": chatter,
    "crowd": lambda yard: chatter(yard, 20),
    "long-lists": long_lists,
    "half-frames": half_frames,
}
for name, each in {
    "garbage": garbage,
    "half-handshake": half_handshake,
    "long-handshake": long_handshake,
    "other-cluster": other_cluster,
    "wrong-frames": wrong_frames,
}.items():
    ATTACKS[name] = lambda yard, each=each: yard.each_replica(each)


async def main(folder: str, attack: str, seconds: str) -> None:
    yard = Yard(Path(folder), float(seconds))
    with suppress(TimeoutError):
        async with asyncio.timeout(float(seconds) + 5):
            await ATTACKS[attack](yard)
    print(yard.done, flush=True)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
