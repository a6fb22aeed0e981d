"""`python -m tests.cluster.reader FILE CHANNEL FROM POLICY QUEUE COUNT`: a subscriber to kill.

It prints `ready`, then a line for each event: its payload, and the cursor behind it. It ends when
it was handed so many events, together with those that its policy dropped.
"""

from __future__ import annotations

import asyncio
import sys

from quorumcast.api.client import connect


async def main(file: str, channel: str, from_: str, policy: str, queue: str, count: str) -> None:
    async with connect(file, timeout=30.0) as qc:
        subscription = qc.subscribe(
            channel,
            from_=from_,
            overflow=policy,  # type: ignore[arg-type]
            queue_events=int(queue),
        )
        await subscription.ready()
        print("ready", flush=True)
        seen = 0
        while seen + subscription.dropped < int(count):
            for event in await subscription.take(50, timeout=0.1):
                seen += 1
                print(event.payload[:20].decode().strip("."), subscription.cursor, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
