"""Publications under way: what becomes of them, and how to wait for it.

All events of one publication share a `Flight`. A `Handle` is one event of it: two fields, so that
`send` costs little, and nothing has to be done event by event when the publication is acknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import msgspec

from quorumcast.api.received import Ack, PublicationId
from quorumcast.core.errors import QuorumcastError
from quorumcast.core.outcomes import Acknowledged

Patience = Callable[[Awaitable[None], str], Awaitable[None]]
"""Waits for something, or raises `NoQuorum` with this text when its publisher's time is over."""


WHOLE = -1
"""The row of a handle that speaks for all rows of its publication."""


class Flight:
    """One publication, from the first event gathered for it until it is confirmed."""

    __slots__ = (
        "_confirmed",
        "_level",
        "_said",
        "_settled",
        "_ticket",
        "confirmed",
        "error",
        "noticed",
        "patience",
        "rows",
        "size",
    )

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.rows = 0
        self.size = 0
        self._said: Acknowledged | None = None
        self._ticket = 0
        self._level = ""
        self.confirmed = False
        self.error: QuorumcastError | None = None
        self.noticed = False
        """Whether somebody was told of its failure."""
        self._settled: list[asyncio.Future[None]] = []
        self._confirmed: list[asyncio.Future[None]] = []

    @property
    def settled(self) -> bool:
        """Whether it is acknowledged, or failed."""
        return self._said is not None or self.error is not None

    @property
    def ack(self) -> Ack | None:
        """Its acknowledgement, if there is one; made when asked for, as most are not."""
        said = self._said
        if said is None:
            return None
        id = PublicationId.of(said.stream, said.position - (said.last - self._ticket))
        return Ack(id, 0, said.replicas, self._level, self.confirmed, self.rows)

    def acknowledge(self, said: Acknowledged, ticket: int, level: str) -> bool:
        """Enough replicas hold it; returns whether that is news."""
        fresh = self._said is None and self.error is None
        if fresh:
            self._said, self._ticket, self._level = said, ticket, level
            if self._settled:
                _wake(self._settled)
        if said.confirmed and self._said is not None and not self.confirmed:
            self.confirmed = True
            if self._confirmed:
                _wake(self._confirmed)
        return fresh

    def fail(self, error: QuorumcastError) -> bool:
        """It is refused, or its outcome is unknown; returns whether that is news."""
        fresh = not self.settled
        if fresh:
            self.error = error
            _wake(self._settled)
        if not self.confirmed:
            self.error = self.error or error
            _wake(self._confirmed)
        return fresh

    async def settle(self) -> None:
        """Wait until it is acknowledged, or raise why it is not."""
        while self._said is None:
            self.raise_failure()
            await _waiting(self._settled)

    async def confirm(self) -> None:
        """Wait until it is confirmed, or raise why it is not."""
        while not self.confirmed:
            self.raise_failure()
            await _waiting(self._confirmed)

    def raise_failure(self) -> None:
        """Tell of its failure, if it failed."""
        if self.error is not None:
            self.noticed = True
            raise self.error.with_traceback(None)


async def _waiting(waiters: list[asyncio.Future[None]]) -> None:
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiters.append(waiter)
    try:
        await waiter
    finally:
        if waiter in waiters:
            waiters.remove(waiter)


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()


class Handle:
    """An event that was sent; `await` it for its acknowledgement.

    Nobody has to: `flush` waits for all, and raises what went wrong.
    """

    __slots__ = ("_flight", "_row")

    def __init__(self, flight: Flight, row: int) -> None:
        self._flight = flight
        self._row = row

    @property
    def done(self) -> bool:
        """Whether it is known what became of it."""
        return self._flight.settled

    @property
    def ack(self) -> Ack | None:
        """Its acknowledgement, if there is one yet."""
        ack, row = self._flight.ack, self._row
        if ack is None or row == WHOLE:
            return ack
        return msgspec.structs.replace(ack, row=row, rows=1)

    def __await__(self) -> Generator[Any, None, Ack]:
        return self.acknowledged().__await__()

    async def acknowledged(self) -> Ack:
        """Wait until enough replicas hold it."""
        flight = self._flight
        if flight.ack is None:
            await flight.patience(
                flight.settle(), "not acknowledged in time: its outcome is unknown"
            )
        ack = self.ack
        assert ack is not None
        return ack

    async def confirmed(self) -> Ack:
        """Wait until no other content can ever stand in its place."""
        flight = self._flight
        if not flight.confirmed:
            await flight.patience(flight.confirm(), "not confirmed in time")
        return await self.acknowledged()
