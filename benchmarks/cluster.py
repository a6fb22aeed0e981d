"""How fast a cluster of real processes is: four replicas, a publisher and a subscriber.

All six are processes of their own on this machine. Everything is on: tags, credits,
acknowledgements, votes on disk, confirmation at its default; bodies are in memory. What counts is
what the subscriber has been handed, from the first publication to the last event. It is one that
the channels trust to let publishers wait, so that a figure is what all parties can sustain.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import psutil
import pyarrow as pa
import uvloop

import quorumcast
from quorumcast.runtime.changing import add_channel
from quorumcast.runtime.folder import add_client, make_cluster
from quorumcast.runtime.local import LocalCluster
from quorumcast.runtime.memory import keep_memory

TIMEOUT_SECONDS = 60.0


class Load(NamedTuple):
    """One row of the table."""

    name: str
    channel: str
    events: int
    size: int = 56
    batch: int = 0
    """Events per batch; 0: `send` per event, batched by itself; 1: single publications."""
    built: bool = False
    """Whether each batch is made of Python's bytes within the measured time, not before it."""


LOADS = (
    Load("single publications, ab", "ab", 200_000, batch=1),
    Load("single publications, bracha", "bracha", 200_000, batch=1),
    Load("send per event, batched by itself, ab", "ab", 1_500_000),
    Load("batches of 100, ab", "ab", 1_500_000, batch=100),
    Load("batches of 100, built from Python's bytes, ab", "ab", 1_000_000, batch=100, built=True),
    Load("batches of 1,000, ab", "ab", 4_000_000, batch=1000),
    Load(
        "batches of 1,000, built from Python's bytes, ab", "ab", 2_000_000, batch=1000, built=True
    ),
    Load("batches of 1,000 at 1 KiB, ab", "ab", 400_000, size=1024, batch=1000),
)
"""More than ten million events in all."""

CHANNELS = ("ab", "bracha")
"""Named for their protocols."""


async def read(file: str, channel: str, count: int) -> None:
    """The subscriber's process: says when it listens, and when it has all."""
    async with quorumcast.connect(file, timeout=TIMEOUT_SECONDS) as qc:
        subscription = await qc.subscribe(channel, overflow="block").ready()
        print("listening", flush=True)
        got = 0
        while got < count:
            got += (await subscription.poll(100_000, timeout=TIMEOUT_SECONDS)).num_rows
        print(time.time(), flush=True)


async def publish(file: Path, load: Load) -> float:
    """Publish a load; returns when it began."""
    async with quorumcast.connect(file, timeout=TIMEOUT_SECONDS) as qc:
        options = {"batch_events": 1} if load.batch == 1 else {}
        publisher = await qc.publisher(load.channel, **options)
        payload = b"x" * load.size
        if load.batch <= 1:
            began = time.time()
            for _ in range(load.events):
                await publisher.send(payload)
        else:
            payloads = [payload] * load.batch
            table = _table(payloads)
            began = time.time()
            for _ in range(load.events // load.batch):
                await publisher.send_batch(_table(payloads) if load.built else table)
        await publisher.flush()
        return began


def _table(payloads: list[bytes]) -> pa.Table:
    return pa.table({"payload": pa.array(payloads, pa.binary())})


async def measure(local: LocalCluster, load: Load) -> float:
    """Delivered events a second."""
    reader = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.cluster", str(local.folder / "reader.qc")),
        *(load.channel, str(load.events)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert reader.stdout is not None
    await reader.stdout.readline()
    began = await publish(local.folder / "local.qc", load)
    ended = float(await reader.stdout.readline())
    await reader.wait()
    return load.events / (ended - began)


async def latency(local: LocalCluster, rate: int = 1000, seconds: int = 3) -> list[float]:
    """Milliseconds to the acknowledgement, at a steady rate."""
    async with quorumcast.connect(local.folder / "local.qc", timeout=TIMEOUT_SECONDS) as qc:
        publisher = await qc.publisher("ab")
        took: list[float] = []

        async def one() -> None:
            start = time.perf_counter()
            await publisher.publish(b"x" * 56)
            took.append((time.perf_counter() - start) * 1000)

        began = time.perf_counter()
        tasks: list[asyncio.Task[None]] = []
        for number in range(rate * seconds):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            tasks.append(asyncio.ensure_future(one()))
        await asyncio.gather(*tasks)
        return took


async def bench() -> list[tuple[str, str]]:
    """Every figure, by what was measured."""
    rows: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "cluster"
        make_cluster(place, first_port=20_000 + os.getpid() % 20_000)
        add_client(place, "reader")
        for protocol in CHANNELS:
            rights = {"publishers": ["local"], "trusted_subscribers": ["reader"]}
            add_channel(place, {"name": protocol, "protocol": protocol, **rights})
        local = LocalCluster(place)
        local.start()
        try:
            await local.wait_ready()
            watch = asyncio.create_task(_watch(local, most := [0]))
            for load in LOADS:
                figure = await measure(local, load)
                print(f"  {load.name}: {figure:,.0f}", file=sys.stderr)
                rows.append((load.name, f"{figure:,.0f} events/s"))
            cuts = quantiles(await latency(local), n=100)
            rows.append(("acknowledgement at 1,000 events/s, p50", f"{cuts[49]:.2f} ms"))
            rows.append(("acknowledgement at 1,000 events/s, p99", f"{cuts[98]:.2f} ms"))
            watch.cancel()
            events = sum(load.events for load in LOADS)
            rows.append((f"a replica's memory at most, {events:,} events", f"{most[0]:.0f} MiB"))
        finally:
            await local.stop()
    return rows


async def _watch(local: LocalCluster, most: list[float]) -> None:
    """Note the most memory that a replica ever takes."""
    status = await local.status()
    replicas = [psutil.Process(each["pid"]) for each in status["replicas"]]
    while True:
        most[0] = max(most[0], *(each.memory_info().rss / 2**20 for each in replicas))
        await asyncio.sleep(0.1)


def run() -> list[tuple[str, str]]:
    """What was measured, and the figure."""
    return uvloop.run(bench())


if __name__ == "__main__":
    keep_memory()
    if len(sys.argv) > 1:
        uvloop.run(read(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    else:
        for what, figure in run():
            print(f"{what}: {figure}")
