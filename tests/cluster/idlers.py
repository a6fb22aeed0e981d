"""`python -m tests.cluster.idlers FOLDER REPLICA COUNT`: clients with a subscription, and no more.

Each has an identity and a link of its own, and subscribes to a publisher that does not exist. It
prints how many seconds it took until all subscriptions were accepted, and holds them until its
standard input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import cast

import uvloop

from quorumcast.auth.handshake import Initiator
from quorumcast.core.messages import Subscribe, SubscribeStatus
from quorumcast.wire.frames import LENGTH, Framer
from quorumcast.wire.link import Opener, Sealer
from tests.cluster.attacks import Yard, raise_limit

AT_ONCE = 50
"""Fewer than a replica has places for those who have not proven who they are."""


class Idler(asyncio.Protocol):
    """Connects, proves its name, subscribes, and is quiet: with as little as that takes."""

    def __init__(self, yard: Yard, replica: str, number: int) -> None:
        me = yard.identity(f"idler-{number}")
        self.done = asyncio.get_running_loop().create_future()
        self._initiator: Initiator | None = Initiator(me, replica, os.urandom(32))
        self._subscribe = Subscribe("events", 1, (f"nobody-{number}", "no-*-one"), 0, 100)
        self._framer: Framer | None = None
        self._early = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are not derived from it
        assert self._initiator is not None
        self._greet(self._initiator.hello)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("not let in"))

    def _greet(self, message: bytes) -> None:
        self._write(LENGTH.pack(len(message)) + message)

    def _write(self, data: bytes) -> None:
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        while self._initiator is not None and data:
            data = self._early + data
            size = LENGTH.size + int.from_bytes(data[:4], "big")
            if len(data) < max(size, LENGTH.size):
                self._early = data
                return
            self._early = b""
            self._greeting(self._initiator, data[LENGTH.size : size])
            data = data[size:]
        if self._framer is not None and data:
            for frame in self._framer.feed(data):
                for message in self._opener.open(frame):
                    if isinstance(message, SubscribeStatus) and message.accepted:
                        self.done.set_result(None)

    def _greeting(self, initiator: Initiator, message: bytes) -> None:
        answer = initiator.receive(message)
        if answer:
            self._greet(answer)
        established = initiator.established
        if established is not None:
            self._initiator, self._framer = None, Framer()
            self._opener = Opener(established.receive_key)
            self._write(Sealer(established.send_key).seal([self._subscribe]))


async def main(folder: str, replica: str, count: str) -> None:
    raise_limit()
    yard = Yard(Path(folder), 0.0)
    for number in range(int(count)):
        yard.identity(f"idler-{number}")
    loop, address = asyncio.get_running_loop(), yard.address(replica)
    places = asyncio.Semaphore(AT_ONCE)
    idlers: list[Idler] = []

    async def enter(number: int) -> None:
        async with places:
            _, idler = await loop.create_connection(
                lambda: Idler(yard, replica, number), address.host, address.port
            )
            idlers.append(idler)
            await idler.done

    print("made", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    began = time.monotonic()
    await asyncio.gather(*map(enter, range(int(count))))
    print(time.monotonic() - began, flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
