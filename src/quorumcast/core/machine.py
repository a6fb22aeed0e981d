"""What a machine is: inputs as they come, one `Ready` a turn.

A driver calls `at(now)` once a turn, then any of `linked`, `unlinked`, `step`, `tick`, `loaded`
and the machine's own local calls, then `ready()`. It makes `Ready.records` durable, then does
the rest in the order of the fields. So all that a turn says to one receiver is one frame, all
that it stores is one commit, and nothing leaves that depends on something not yet stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Any, Protocol

import msgspec

from quorumcast.core.evidence import Evidence
from quorumcast.core.ids import Party
from quorumcast.core.messages import Message
from quorumcast.core.records import Loaded, Read, Record


class Rejection(msgspec.Struct, frozen=True):
    """A message that was not accepted, from whom, and why; the state did not change.

    >>> Rejection("r4", "not a replica").reason
    'not a replica'
    """

    sender: Party
    reason: str


class Ready(msgspec.Struct):
    """Everything that follows from a turn's inputs, in the order in which it is to be done.

    >>> Ready().records
    []
    """

    records: list[Record] = msgspec.field(default_factory=list[Record])
    messages: dict[Party, list[Message]] = msgspec.field(default_factory=dict[Party, list[Message]])
    reads: list[Read] = msgspec.field(default_factory=list[Read])
    deliveries: list[Any] = msgspec.field(default_factory=list[Any])
    acknowledgements: list[Any] = msgspec.field(default_factory=list[Any])
    timer: float | None = None
    """When to call `tick()` next, on the clock of `at`; None: not before something arrives."""
    rejections: list[Rejection] = msgspec.field(default_factory=list[Rejection])
    evidence: list[Evidence] = msgspec.field(default_factory=list[Evidence])


class Machine(Protocol):
    """The interface that drivers and the simulator know."""

    me: Party

    def at(self, now: float) -> None:
        """The time, in seconds on a monotonic clock, for everything up to the next `ready`."""
        ...

    def linked(self, party: Party) -> None:
        """An authenticated link to this party is up; earlier ones to it are gone."""
        ...

    def unlinked(self, party: Party) -> None:
        """The link is gone; what was on its way may be lost."""
        ...

    def step(self, sender: Party, message: Message) -> None:
        """A message from an authenticated sender."""
        ...

    def tick(self) -> None:
        """The time that the last `Ready.timer` named has come."""
        ...

    def loaded(self, request: Read, result: Loaded) -> None:
        """The answer to one of `Ready.reads`."""
        ...

    def ready(self) -> Ready:
        """All that follows from the inputs since the last call."""
        ...


class Out:
    """The outbox that handlers note their effects in.

    >>> out = Out()
    >>> out.reject("r4", "not a replica")
    >>> out.take(None).rejections[0].sender
    'r4'
    """

    __slots__ = ("_ready", "messages", "records")

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._ready = Ready()
        self.messages: defaultdict[Party, list[Message]] = defaultdict(list)
        self.records: list[Record] = []

    def send(self, receiver: Party, message: Message) -> None:
        """Say this to one party."""
        self.messages[receiver].append(message)

    def record(self, record: Record) -> None:
        """Store this before anything of this turn leaves."""
        self.records.append(record)

    def read(self, request: Read) -> None:
        """Bring this by `loaded`."""
        self._ready.reads.append(request)

    def deliver(self, delivery: object) -> None:
        """Hand this to the user."""
        self._ready.deliveries.append(delivery)

    def acknowledge(self, acknowledgement: object) -> None:
        """Tell the local publisher that this is safe."""
        self._ready.acknowledgements.append(acknowledgement)

    def reject(self, sender: Party, reason: str) -> None:
        """Report that a message was not accepted."""
        self._ready.rejections.append(Rejection(sender, reason))

    def accuse(self, evidence: Evidence) -> None:
        """Report a fault."""
        self._ready.evidence.append(evidence)

    def take(self, timer: float | None) -> Ready:
        """Hand the turn out and begin a new one."""
        ready = self._ready
        ready.records = self.records
        ready.messages = self.messages
        ready.timer = timer
        self._renew()
        return ready


class Agenda:
    """What a machine has to do later: at most one time per key, one driver's timer for all.

    >>> agenda = Agenda()
    >>> agenda.set("repeat", 2.0); agenda.set("repeat", 1.0); agenda.next
    1.0
    >>> agenda.due(1.5), agenda.next
    (['repeat'], None)
    """

    __slots__ = ("_heap", "_tie", "_times")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []
        self._times: dict[Hashable, tuple[float, int]] = {}
        self._tie = 0

    def set(self, key: Hashable, time: float) -> None:
        """Do `key` at `time`, instead of when it was set before."""
        if self.time(key) == time:
            return
        self._tie += 1  # equal times run in the order in which they were set
        self._times[key] = (time, self._tie)
        heappush(self._heap, (time, self._tie, key))
        if len(self._heap) > 64 + 4 * len(self._times):
            self._heap = sorted(entry for entry in self._heap if self._stands(entry))

    def soon(self, key: Hashable, time: float) -> None:
        """Do `key` at `time` unless it is already set for earlier."""
        old = self.time(key)
        if old is None or time < old:
            self.set(key, time)

    def once(self, key: Hashable, time: float) -> None:
        """Do `key` at `time` unless it is already set, for whenever."""
        if key not in self._times:
            self.set(key, time)

    def cancel(self, key: Hashable) -> None:
        """Do not do `key`."""
        self._times.pop(key, None)

    def time(self, key: Hashable) -> float | None:
        """When `key` is set for, if it is."""
        known = self._times.get(key)
        return known[0] if known is not None else None

    @property
    def next(self) -> float | None:
        """The earliest time, or None."""
        heap = self._heap
        while heap and not self._stands(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> list[Any]:
        """Take out the keys whose time has come, earliest first."""
        keys: list[Hashable] = []
        while (time := self.next) is not None and time <= now:
            key = heappop(self._heap)[2]
            del self._times[key]
            keys.append(key)
        return keys

    def _stands(self, entry: tuple[float, int, Hashable]) -> bool:
        """Whether an entry was neither cancelled nor set anew."""
        return self._times.get(entry[2]) == (entry[0], entry[1])
