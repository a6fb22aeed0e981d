"""One replica in the foreground: until a signal or an order ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.folder import replicas_here
from quorumcast.runtime.memory import keep_memory
from quorumcast.runtime.server import Server
from quorumcast.runtime.settings import load_cluster

_log = logging.getLogger(__name__)


async def serve(folder: Path, name: str | None, *, attached: bool) -> bool:
    """Until a signal or an order ends it; says whether it ended well.

    One that is attached also ends when its standard input does, which whoever started it holds.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    keep_memory()
    server = Server(folder, _the_one(folder) if name is None else name)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, server.over.set)
    if attached:
        loop.add_reader(sys.stdin.fileno(), _look, loop, server)
    try:
        await server.start()
        print(f"{server.name} of {server.cluster.name} runs at {_address(server)}")
        sys.stdout.flush()
        await server.over.wait()
    finally:
        await server.stop()
    return server.failure is None


def _look(loop: asyncio.AbstractEventLoop, server: Server) -> None:
    file = sys.stdin.fileno()
    if not os.read(file, 1):
        loop.remove_reader(file)
        _log.warning("whoever started this replica is gone: it ends too")
        server.over.set()


def _address(server: Server) -> str:
    return server.cluster.addresses[server.name]


def _the_one(folder: Path) -> str:
    """The only replica whose keys are in a folder."""
    names = replicas_here(load_cluster(folder))
    if len(names) == 1:
        return names[0]
    there = f"there are {', '.join(names)}: name one" if names else "there are none"
    raise ConfigError(f"{folder}: a replica's keys should be here, and {there}")
