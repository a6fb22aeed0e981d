"""A cluster of real processes that is there for a while and leaves nothing behind."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from quorumcast.runtime.changing import add_channel
from quorumcast.runtime.control import control_path
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster

REPLICAS = 4


@asynccontextmanager
async def playground(
    name: str, channels: Sequence[Mapping[str, Any]], clients: Sequence[str]
) -> AsyncGenerator[LocalCluster]:
    """Four replicas that are ready, with these channels and clients' keys, in a new folder.

    At the end they are stopped and the folder is removed. Whoever cancels is in a hurry: then the
    processes are killed. They have a session of their own: a Ctrl-C is not meant for them.
    """
    home = Path(tempfile.mkdtemp(prefix=f"qc-{name}-"))
    try:
        folder = home / name
        # Sockets of the file system: no port can be taken by somebody else in the meantime.
        addresses = [f"unix://{home}/r{number}.sock" for number in range(1, REPLICAS + 1)]
        make_cluster(folder, name=name, addresses=addresses)
        for values in channels:
            add_channel(folder, values)
        for client in clients:
            add_client(folder, client)
        local = LocalCluster(folder)
        try:
            local.start(detached=True)
            await local.wait_ready()
            yield local
            await local.stop()
        finally:
            _clear(local)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _clear(local: LocalCluster) -> None:
    """End what still runs, and remove what a killed replica left outside the folder."""
    for name in local.names:
        with suppress(KeyError):  # it was never started
            local.kill(name)
        control_path(local.cluster.manifest.cluster_id, name).unlink(missing_ok=True)


async def pause(over: asyncio.Event, seconds: float) -> None:
    """Wait for so long, or until it is over.

    >>> over = asyncio.Event()
    >>> over.set()
    >>> asyncio.run(pause(over, 3600.0))
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await over.wait()
