"""A thread with an event loop, and what ordinary code sends there.

A visit to another thread takes some fifty microseconds. So `Courier` makes one for all events that
were sent since the last, and a caller waits only when too much is on its way.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from quorumcast.api.errors import Closed
from quorumcast.api.flight import Handle
from quorumcast.api.publishing import Publisher
from quorumcast.api.received import Ack
from quorumcast.core.errors import ConfigError

T = TypeVar("T")

PENDING_EVENTS = 10_000
"""Events that may wait to be taken to the loop's thread."""


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:  # it does not exist for every system
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class Portal:
    """A thread with an event loop, for callers that have none.

    >>> portal = Portal()
    >>> portal.run(asyncio.sleep(0, "done"))
    'done'
    >>> portal.close()
    """

    def __init__(self) -> None:
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._serve, name="quorumcast", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    @property
    def alive(self) -> bool:
        """Whether it was not closed yet."""
        return self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this on the loop's thread, and wait for it."""
        if self._thread is threading.current_thread():
            work.close()
            raise ConfigError(
                "a callback cannot wait on the thread that calls it: hand the event to another "
                "thread, or use the async client"
            )
        if not self._thread.is_alive():
            work.close()
            raise Closed("this client is closed: open another one")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:  # also when the user interrupts: then nobody waits for it any more
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def soon(self, callback: Callable[[], None]) -> None:
        """Do this on the loop's thread, and do not wait for it."""
        if not self._thread.is_alive():
            raise Closed("this client is closed: open another one")
        self._loop.call_soon_threadsafe(callback)


class SyncHandle:
    """An event that was sent; `result` waits for its acknowledgement."""

    __slots__ = ("_portal", "handle")

    def __init__(self, portal: Portal, handle: Handle | None = None) -> None:
        self._portal = portal
        self.handle = handle
        """None until it came to the loop's thread."""

    @property
    def done(self) -> bool:
        """Whether it is known what became of it."""
        return self.handle is not None and self.handle.done

    def result(self) -> Ack:
        """Wait until enough replicas hold it."""
        return self._portal.run(self._acknowledged())

    def confirmed(self) -> Ack:
        """Wait until no other content can ever stand in its place."""
        return self._portal.run(self._confirmed())

    async def _acknowledged(self) -> Ack:
        return await self._there().acknowledged()

    async def _confirmed(self) -> Ack:
        return await self._there().confirmed()

    def _there(self) -> Handle:
        assert self.handle is not None, "events come to the loop's thread before questions do"
        return self.handle


class Courier:
    """Takes a publisher's events to the loop's thread, in their order."""

    def __init__(self, portal: Portal, publisher: Publisher) -> None:
        self._portal = portal
        self._publisher = publisher
        self._pending: deque[tuple[SyncHandle, tuple[Any, ...]]] = deque()
        self._on_its_way = False

    def send(self, *event: Any) -> SyncHandle:
        """Queue an event: payload, timestamp, key, urgent, attributes."""
        publisher = self._publisher
        publisher.check(*event)
        if publisher.full or len(self._pending) >= PENDING_EVENTS:
            self._portal.run(self._room())
        handle = SyncHandle(self._portal)
        self._pending.append((handle, event))
        if not self._on_its_way:  # else it takes this one along: it looks after it says so
            self._on_its_way = True
            self._portal.soon(self.deliver)
        return handle

    def deliver(self) -> None:
        """On the loop's thread: hand over what waits."""
        self._on_its_way = False
        pending = self._pending
        while pending:
            handle, event = pending.popleft()
            handle.handle = self._publisher.offer(*event)

    async def _room(self) -> None:
        self.deliver()
        await self._publisher.room()
