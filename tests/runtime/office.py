"""A driver with a machine, a store and links that note what they are asked, in one diary."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Incarnation, Party
from quorumcast.core.machine import Ready
from quorumcast.core.messages import AskHeads, Message
from quorumcast.core.records import Incarnated, Loaded, Read, ReadStreams, Record
from quorumcast.runtime.driver import Driver
from quorumcast.wire.codec import Memo

RECORD = Incarnated(((Incarnation(1, 7), 0.0),), ())
READ = ReadStreams(0, 10)
ASK = AskHeads("alerts", 1)


class Diary:
    """What happened, in order; wakes who waits for an entry."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._changed = asyncio.Event()

    def note(self, *entry: Any) -> None:
        self.entries.append(entry[0] if len(entry) == 1 else entry)
        self._changed.set()

    async def until(self, entry: Any) -> None:
        while entry not in self.entries:
            self._changed.clear()
            await self._changed.wait()

    def take(self) -> list[Any]:
        taken, self.entries = self.entries, []
        return taken


class Clerk:
    """A machine that notes its inputs and hands out what a test put into `next`."""

    me: Party = "clerk"

    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        self.next = Ready()
        self.times: list[float] = []
        self.fails_at = ""

    def _note(self, what: str, *rest: Any) -> None:
        if what == self.fails_at:
            raise KeyError(what)
        self.diary.note(what, *rest)

    def at(self, now: float) -> None:
        self.times.append(now)
        self._note("at")

    def linked(self, party: Party) -> None:
        self._note("linked", party)

    def unlinked(self, party: Party) -> None:
        self._note("unlinked", party)

    def step(self, sender: Party, message: Message) -> None:
        self._note("step", sender)

    def tick(self) -> None:
        self._note("tick")

    def loaded(self, request: Read, result: Loaded) -> None:
        self._note("loaded")

    def ready(self) -> Ready:
        self._note("ready")
        ready, self.next = self.next, Ready()
        return ready

    def ask(self, number: int) -> int:
        self._note("ask", number)
        if number < 0:
            raise ConfigError("a number is positive")
        assert number < 100
        return number + 1


class Shelf:
    """A store that notes what it is asked."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        self.full = False

    def commit(self, records: list[Record]) -> None:
        if self.full:
            raise OSError("no space left")
        self.diary.note("commit")

    def read(self, request: Read) -> Loaded:
        self.diary.note("read")
        return []


class End:
    """A link's end that notes what is sent."""

    def __init__(self, diary: Diary, party: Party) -> None:
        self.diary = diary
        self.party = party
        self.closed = False

    def send(self, messages: list[Message], memo: Memo | None = None) -> None:
        assert memo is not None
        self.diary.note("send", self.party, len(messages))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class Office:
    """A driver with all of these."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.diary = Diary()
        self.clerk = Clerk(self.diary)
        self.shelf = Shelf(self.diary)
        loop = asyncio.get_running_loop()
        settings: dict[str, Any] = {} if clock is None else {"clock": clock}
        self.driver = Driver(self.clerk, loop=loop, storage=self.shelf, **settings)
        self.driver.on_delivery = lambda what: self.diary.note("delivery", what)
        self.driver.on_outcome = lambda what: self.diary.note("outcome", what)
        self.driver.on_rejection = lambda what: self.diary.note("rejection")
        self.driver.on_evidence = lambda what: self.diary.note("evidence")

    def link(self, party: Party) -> End:
        end = End(self.diary, party)
        self.driver.linked(end)
        return end
