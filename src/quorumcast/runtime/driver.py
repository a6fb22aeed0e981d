"""One machine on one event loop: inputs as they come, one turn per iteration of the loop.

Upon the first input of an iteration a turn begins: the machine is told the time. Everything that
arrives until the loop comes round belongs to it. Then, in this order: `tick`, if it is due (a
process that had to wait for the processor finds timers due and what they wait for on its sockets);
`ready()`; its records are committed; its messages are sent; what it wants to read is noted, and
answered in a later turn; deliveries, outcomes, rejections and evidence are handed out. Nothing
leaves that depends on something not yet stored.

An error of the machine or of its storage is our own bug, or a disk that fails: the driver logs it,
says nothing more and stops; `wait` raises it, so that the process can end. It is never a peer's
doing: what peers send is checked before, and rejected.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from quorumcast.core.errors import QuorumcastError
from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import ASIDE, Message
from quorumcast.core.records import Loaded, Read, Record
from quorumcast.runtime.around import Outbound
from quorumcast.wire.codec import Memo

_EARLY_SECONDS = 0.001
"""A loop's timer may ring this much too early; it is not worth another one."""

_READS_PER_TURN = 16
"""Reads that are answered in one turn: some megabytes, and then others have theirs."""

_log = logging.getLogger(__name__)


class Storage(Protocol):
    """What a driver asks of a store; `store` has the real one."""

    def commit(self, records: list[Record]) -> None:
        """Make a turn's records durable, all of them."""
        ...

    def read(self, request: Read) -> Loaded:
        """The answer to one of `Ready.reads`."""
        ...


class Aside(Protocol):
    """Whom a driver tells of links, and of what arrives on them that is not for its machine."""

    def linked(self, link: Outbound) -> None:
        """A link is up."""
        ...

    def unlinked(self, link: Outbound) -> None:
        """A link is gone."""
        ...

    def received(self, link: Outbound, message: Message) -> None:
        """The party at the other end says this."""
        ...


def _ignore(what: Any) -> None:
    """Nobody asked for this."""


class Driver:
    """Runs a machine; links tell it what arrives, `call` is for the machine's local calls.

    All of it happens on the thread of `loop`. `clock` is the machine's: seconds, never backwards.
    """

    def __init__(
        self,
        machine: Machine,
        *,
        loop: asyncio.AbstractEventLoop,
        storage: Storage | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.machine = machine
        self.links: dict[Party, Outbound] = {}
        """The link to each party that has one."""
        self.on_delivery: Callable[[Any], None] = _ignore
        self.on_outcome: Callable[[Any], None] = _ignore
        self.on_rejection: Callable[[Any], None] = _ignore
        self.on_evidence: Callable[[Any], None] = _ignore
        self.aside: Aside | None = None
        """Takes what is not for the machine; without one it is dropped."""
        self.failure: Exception | None = None
        """The error that stopped it, if one did."""
        self._loop = loop
        self._storage = storage
        self._clock = clock
        self._now = clock()
        self._begun = False
        self._due = False
        self._stopped = False
        self._over = asyncio.Event()
        self._reads: deque[Read] = deque()
        self._ring: float | None = None
        self._wake = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    # -- inputs --------------------------------------------------------------------------------

    def linked(self, link: Outbound) -> None:
        """A link is up; it replaces an older one to the same party."""
        if self._stopped:
            link.close()
            return
        older = self.links.get(link.party)
        self.links[link.party] = link
        if older is not None and older is not link:
            older.close()
        self._input(self.machine.linked, link.party)
        if self.aside is not None:
            self.aside.linked(link)

    def unlinked(self, link: Outbound) -> None:
        """A link is gone; of one that was replaced the machine hears nothing."""
        if self.aside is not None:
            self.aside.unlinked(link)
        if self.links.get(link.party) is link:
            del self.links[link.party]
            self._input(self.machine.unlinked, link.party)

    def received(self, link: Outbound, messages: list[Message]) -> None:
        """A party says this on its link; an older link's words are not heard any more."""
        if self._stopped or self.links.get(link.party) is not link:
            return
        try:
            self._begin()
            sender, step = link.party, self.machine.step
            for message in messages:
                if type(message) in ASIDE:
                    if self.aside is not None:
                        self.aside.received(link, message)
                else:
                    step(sender, message)
        except Exception as error:  # noqa: BLE001  whatever it is, it is our bug
            self._fail(error)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """A local call of the machine, as part of this turn; returns its result.

        A user's mistake (`QuorumcastError`, or a wrong argument's `TypeError`) is raised here.
        """
        if self._stopped:
            raise QuorumcastError("this connection to the cluster is closed: open another one")
        if not self._begun:
            self._input(_ignore, None)
            if self.failure is not None:
                raise self.failure
        try:
            return function(*arguments)
        except AssertionError as error:
            self._fail(error)
            raise

    def stop(self) -> None:
        """Finish the turn, send what it says, and take in nothing more. Links stay open."""
        if self._stopped:
            return
        if self._begun:
            self._turn()
        self._end()

    async def wait(self) -> None:
        """Until it stopped; raises the error that stopped it, if one did."""
        await self._over.wait()
        if self.failure is not None:
            raise self.failure

    # -- turns ---------------------------------------------------------------------------------

    def _input(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._stopped:
            return
        try:
            self._begin()
            function(*arguments)
        except Exception as error:  # noqa: BLE001  whatever it is, it is our bug
            self._fail(error)

    def _begin(self) -> None:
        """Begin a turn, unless one is under way."""
        if self._begun:
            return
        self._begun = True
        self._loop.call_soon(self._turn)
        now = self._now = max(self._now, self._clock())
        ring = self._ring
        if ring is not None and ring <= now + _EARLY_SECONDS:
            self._ring = None
            self._due = True
            now = self._now = max(now, ring)
        self.machine.at(now)

    def _turn(self) -> None:
        """Hand out what follows from the inputs since the last turn."""
        if self._stopped or not self._begun:
            return
        self._begun = False
        try:
            if self._due:
                self._due = False
                self.machine.tick()
            ready = self.machine.ready()
            if ready.records:
                assert self._storage is not None, f"{self.machine.me} has no storage"
                self._storage.commit(ready.records)
            if ready.messages:
                self._send(ready.messages)
            if ready.reads:
                self._want(ready.reads)
            self._arm(ready.timer)
            self._hand_out(ready)
        except Exception as error:  # noqa: BLE001  our bug, or a disk that fails
            self._fail(error)

    def _send(self, messages: dict[Party, list[Message]]) -> None:
        memo: Memo = {}
        links = self.links
        spoken: list[Outbound] = []
        for party, said in messages.items():
            link = links.get(party)
            if link is not None and said:
                link.send(said, memo)
                spoken.append(link)
        for link in spoken:  # all is said that this turn has to say: who waits, waits no longer
            link.flush()

    def _hand_out(self, ready: Ready) -> None:
        """Tell the users; they may call the machine, which begins the next turn."""
        for delivery in ready.deliveries:
            self.on_delivery(delivery)
        for outcome in ready.acknowledgements:
            self.on_outcome(outcome)
        for rejection in ready.rejections:
            self.on_rejection(rejection)
        for evidence in ready.evidence:
            self.on_evidence(evidence)

    # -- reads ---------------------------------------------------------------------------------

    def _want(self, reads: list[Read]) -> None:
        if not self._reads:
            self._loop.call_soon(self._load)
        self._reads += reads

    def _load(self) -> None:
        if self._stopped:
            return
        try:
            assert self._storage is not None, f"{self.machine.me} has no storage"
            self._begin()
            for _ in range(min(len(self._reads), _READS_PER_TURN)):
                request = self._reads.popleft()
                self.machine.loaded(request, self._storage.read(request))
        except Exception as error:  # noqa: BLE001  our bug, or a disk that fails
            self._fail(error)
        if self._reads:
            self._loop.call_soon(self._load)

    # -- time ----------------------------------------------------------------------------------

    def _arm(self, ring: float | None) -> None:
        """Wake up at this time. An earlier alarm stays: to ring in vain is cheaper than to move."""
        self._ring = ring
        if ring is None or (self._alarm is not None and self._wake <= ring):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._wake = ring
        self._alarm = self._loop.call_later(max(0.0, ring - self._clock()), self._rings)

    def _rings(self) -> None:
        self._alarm = None
        ring = self._ring
        if ring is None or self._stopped:
            return
        if ring > self._clock() + _EARLY_SECONDS:
            self._arm(ring)
            return
        try:
            self._begin()
        except Exception as error:  # noqa: BLE001  whatever it is, it is our bug
            self._fail(error)

    # -- the end -------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        if self._stopped:
            return
        self.failure = error
        _log.critical("%s stops: %r", self.machine.me, error, exc_info=error)
        self._end()
        for link in list(self.links.values()):
            link.close()

    def _end(self) -> None:
        self._stopped = True
        self._reads.clear()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._over.set()
