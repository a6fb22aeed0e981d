"""Many idle subscriptions on one channel, and others at work.

A thousand here; `QUORUMCAST_IDLE=9999 pytest tests/cluster/test_many.py -s` makes as many as a
replica has places for, besides one that reads, and prints what they cost.
"""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from quorumcast.runtime.folder import add_client
from tests.cluster.fire import client, running
from tests.cluster.steady import IN_TIME_SECONDS, RSS_BYTES, check_unharmed, pids, steady

PATIENCE_SECONDS = 600.0

IDLE_BYTES = 12 * 1024
"""What a replica takes for a client that is connected and subscribes: link, keys, subscription."""


def test_idle_subscriptions_on_one_channel_cost_others_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running(tmp_path / "c") as local:
            add_client(local.folder, "local-2")
            before = await pids(local)
            at_rest = (await local.ask("r1"))["rss_bytes"]
            count = int(os.environ.get("QUORUMCAST_IDLE", "1000"))
            idlers = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.cluster.idlers", str(local.folder), "r1"),
                str(count),
                stdin=PIPE,
                stdout=PIPE,
            )
            assert idlers.stdin is not None
            assert idlers.stdout is not None
            assert await idlers.stdout.readline() == b"made\n"
            async with steady(local, seconds=PATIENCE_SECONDS) as work:  # while they come, too
                idlers.stdin.write(b"\n")
                seconds = float(await idlers.stdout.readline())
            coming = work.slowest
            report = await local.ask("r1")
            assert report["clients"] >= count
            subscribers = {each["name"]: each["subscribers"] for each in report["channels"]}
            assert subscribers["events"] >= count
            each = (report["rss_bytes"] - at_rest) / count
            assert each < IDLE_BYTES
            async with steady(local) as work:
                for _ in range(20):  # new streams, which are compared with all subscriptions
                    async with client(local, "local-2") as other:
                        await (await other.publisher("events")).publish(b"x")
            print(f"{count} came in {seconds:.1f} s; {each:,.0f} bytes each;", end=" ")
            print(f"slowest while they came {max(coming):.3f} s, then {max(work.slowest):.3f} s")
            assert max(*coming, *work.slowest) < IN_TIME_SECONDS
            await check_unharmed(local, before, RSS_BYTES + count * IDLE_BYTES)
            idlers.stdin.close()
            await idlers.wait()

    asyncio.run(scenario())
