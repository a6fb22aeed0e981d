"""A cluster of real processes for the tests of this folder, and clients of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from quorumcast.api.client import AsyncClient, connect
from quorumcast.api.received import Received
from quorumcast.api.subscribing import Subscription
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster

TIMEOUT_SECONDS = 30.0


def port() -> int:
    """Where to look for free ports: another place in each worker, with room between them.

    Below those that systems give to whoever connects: a replica started again finds its own.
    """
    return 20_000 + os.getpid() % 750 * 16


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[LocalCluster]:
    """A cluster of four with the identities `local` and `reader`, up; and down at the end."""
    make_cluster(folder, first_port=port())
    add_client(folder, "reader")
    local = LocalCluster(folder)
    local.start()
    try:
        await local.wait_ready()
        yield local
    finally:
        await local.stop()


def client(local: LocalCluster, name: str = "local") -> AsyncClient:
    return connect(local.folder / f"{name}.qc", timeout=TIMEOUT_SECONDS)


async def read(subscription: Subscription, count: int) -> list[Received]:
    """So many events, or as many as come in time."""
    events: list[Received] = []
    while len(events) < count:
        page = await subscription.take(count - len(events), timeout=TIMEOUT_SECONDS)
        if not page:
            break
        events += page
    return events


async def restart(local: LocalCluster, name: str) -> None:
    """A replica crashes and comes back."""
    local.kill(name)
    local.start([name])
    await local.wait_ready([name])


def payloads(events: list[Received]) -> list[bytes]:
    return [event.payload for event in events]
