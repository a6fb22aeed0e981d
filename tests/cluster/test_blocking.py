"""A subscriber that the channel trusts lets its publishers wait, with real processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quorumcast.api import NoQuorum, NotAllowed
from quorumcast.api.client import AsyncClient
from quorumcast.core.limits import SUBSCRIBER_WINDOW
from quorumcast.runtime.changing import add_channel
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster
from tests.cluster.fire import TIMEOUT_SECONDS, client, payloads, port, read

QUEUE = 100
MOST = QUEUE + 2 * SUBSCRIBER_WINDOW
"""Single publications that are taken at most while nobody reads: a queue, what is on its way, and a
delivery that is taken whole."""


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[LocalCluster]:
    """A cluster whose channel `orders` trusts `reader`, beside `events`, which trusts nobody."""
    make_cluster(folder, first_port=port())
    add_channel(
        folder,
        {
            "name": "orders",
            "publishers": ["local"],
            "queue": {"events": QUEUE, "overflow": "block"},
            "trusted_subscribers": ["reader"],
        },
    )
    for name in ("reader", "other"):
        add_client(folder, name)
    local = LocalCluster(folder)
    local.start()
    try:
        await local.wait_ready()
        yield local
    finally:
        await local.stop()


async def fill(qc: AsyncClient, count: int) -> int:
    """Publish until the channel waits; returns how many publications were acknowledged."""
    publisher = await qc.publisher("orders", batch_events=1, timeout=2.0)
    handles = [await publisher.send(b"%d" % number) for number in range(count)]
    with pytest.raises(NoQuorum, match="a trusted subscriber lets the channel wait"):
        await publisher.flush()
    return sum(handle.done for handle in handles)


def test_a_channel_waits_for_a_trusted_reader_and_goes_on_when_it_reads(tmp_path: Path) -> None:
    count = 3 * MOST // 2

    async def scenario() -> None:
        async with (
            running(tmp_path / "c") as local,
            client(local) as writer,
            client(local, "reader") as reader,
            client(local, "other") as other,
        ):
            slow = await reader.subscribe("orders", from_="earliest").ready()
            quick = await other.subscribe("orders").ready()
            taken = await fill(writer, count)
            assert QUEUE <= taken <= MOST
            assert slow.lagging
            assert (await (await writer.publisher("events")).publish(b"elsewhere")).replicas >= 3

            got = payloads(await read(slow, count))
            assert got == [b"%d" % number for number in range(count)]
            assert slow.dropped == 0
            assert payloads(await read(quick, count)) == got
            assert not reader.evidence
            assert not writer.evidence

    asyncio.run(scenario())


def test_a_channel_goes_on_when_the_reader_that_stopped_it_is_killed(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from quorumcast.api.client import connect
async def main():
    async with connect(sys.argv[1]) as qc:
        await qc.subscribe("orders").ready()
        print("ready", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""

    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local) as writer:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", program, str(local.folder / "reader.qc")),
                stdout=asyncio.subprocess.PIPE,
            )
            try:
                assert process.stdout is not None
                assert await process.stdout.readline() == b"ready\n"
                assert await fill(writer, 3 * MOST // 2) <= MOST
            finally:
                process.kill()
                await process.wait()
            publisher = await writer.publisher("orders", timeout=TIMEOUT_SECONDS)
            last = await publisher.publish(b"after")
            assert last.id.seq == 3 * MOST // 2 + 1

    asyncio.run(scenario())


def test_who_is_not_trusted_with_it_is_told_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local, client(local, "other") as other:
            with pytest.raises(NotAllowed, match="other may not subscribe to orders with overflow"):
                other.subscribe("orders", overflow="block")
            await other.subscribe("orders").ready()

    asyncio.run(scenario())
