"""The world: virtual time, nodes, and the driver that runs each node's machine.

Upon anything that arrives at a node in one tick (frames, links up or down, answers of its disk,
calls of its user, its timer): one turn of its machine, in the order that `core/machine.py` asks
for. The records of the turn are committed, then its messages are sealed under the link's keys and
handed to the network, then its reads are queued, then its user hears what it told him.

Frames are real: sealed and opened with the keys of the connection and direction. A node that
restarts has new links, and what was on its way on the old ones is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import ceil
from typing import Any

from quorumcast.core.errors import ProtocolError
from quorumcast.core.ids import Party
from quorumcast.core.machine import Machine, Ready
from quorumcast.core.messages import Message
from quorumcast.core.records import Record
from quorumcast.sim.clocks import Clock, drifting
from quorumcast.sim.disk import Disk
from quorumcast.sim.draws import derive
from quorumcast.sim.keys import Keyring
from quorumcast.sim.network import TICKS_PER_SECOND, Copy, Network
from quorumcast.sim.node import Node, Pipe
from quorumcast.sim.sayable import sayable
from quorumcast.sim.trace import Stored, Trace
from quorumcast.sim.watching import OUR_BUGS, MachineError, Watcher
from quorumcast.wire.codec import Memo

READ_TICKS = 4
"""The longest that a disk takes to answer."""

NOTICE_TICKS = 40
"""The longest that a peer's crash goes unnoticed by the link."""

_FRAME, _CALL, _UP, _DOWN, _LOADED = range(5)
Input = tuple[Any, ...]


class World:
    """Nodes, links and time; everything in it follows from the seed and from what is called."""

    def __init__(
        self, seed: int, keys: Keyring, network: Network, trace: Trace | None = None
    ) -> None:
        self.seed = seed
        self.keys = keys
        self.network = network
        self.trace = trace
        self.watcher: Watcher | None = None
        self.now = 0
        self.nodes: dict[str, Node] = {}
        self.deliveries = 0
        """Statements handed to a machine after decoding and verifying."""
        self.refused = 0
        """Frames that did not verify: replayed, damaged, or of a link that is gone."""
        self.crashes = 0
        self._times: list[int] = []
        self._inputs: dict[int, dict[Node, list[Input]]] = {}
        self._actions: dict[int, list[Callable[[], None]]] = {}
        self._connections = 0
        self._reads = derive(seed, "reads")
        self._notices = derive(seed, "notices")

    # -- time ----------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        """Virtual time in seconds."""
        return self.now / TICKS_PER_SECOND

    def at(self, tick: int, action: Callable[[], None]) -> None:
        """Do something to the world at a tick, before anything else happens in it."""
        self._due(tick)
        self._actions.setdefault(tick, []).append(action)

    def _due(self, tick: int) -> None:
        if tick not in self._inputs:
            self._inputs[tick] = {}
            heappush(self._times, tick)

    def _push(self, tick: int, node: Node, entry: Input | None) -> None:
        bucket = self._inputs.get(tick)
        if bucket is None:
            bucket = self._inputs[tick] = {}
            heappush(self._times, tick)
        entries = bucket.get(node)
        if entries is None:
            entries = bucket[node] = []
        if entry is not None:
            entries.append(entry)

    def run(self, until: int) -> None:
        """Let everything happen up to and including a tick."""
        times = self._times
        while times and times[0] <= until:
            self.now = now = heappop(times)
            actions = self._actions.pop(now, None)
            if actions is not None:
                for action in actions:
                    action()
            for node, entries in self._inputs.pop(now).items():
                if node.machine is not None:
                    self._turn(node, node.machine, entries)
        self.now = max(self.now, until)

    # -- nodes and links -----------------------------------------------------------------------

    def add(
        self,
        name: str,
        boot: Callable[[Node], Machine],
        *,
        party: Party | None = None,
        disk: Disk | None = None,
        clock: Clock | None = None,
    ) -> Node:
        """A node, not yet running; a twin has another's party and a name of its own."""
        clock = clock or drifting(derive(self.seed, "clock", name))
        node = Node(name, party or name, clock, boot, disk)
        self.nodes[name] = node
        return node

    def start(self, node: Node) -> None:
        """Run a node's machine, and link it to everybody it talks to."""
        node.boots += 1
        node.ring, node.wake, node.doom = None, None, None
        machine = node.machine = node.boot(node)
        begin = getattr(machine, "start", None)
        if begin is not None:
            self.call(node, begin)
        for other in self.nodes.values():
            if self._talk(node, other):
                self.connect(node, other)

    def _talk(self, one: Node, other: Node) -> bool:
        replicas = self.keys.cluster.replicas
        known = one.party in replicas or other.party in replicas
        return known and one.party != other.party and one.up and other.up

    def connect(self, one: Node, other: Node) -> None:
        """A fresh link with fresh keys; both hear of it in the next tick."""
        self._connections += 1
        draws = derive(self.seed, "link", str(self._connections))
        nonces = (draws.randbytes(32), draws.randbytes(32))
        for sender, receiver, mine, theirs in (
            (one, other, *nonces),
            (other, one, *reversed(nonces)),
        ):
            key = self.keys.link(sender.party, receiver.party, mine, theirs)
            draws = derive(self.seed, "pipe", str(self._connections), sender.name)
            pipe = Pipe(sender, receiver, key, draws)
            sender.out[receiver.party] = (*_others(sender, receiver), pipe)
            receiver.into[sender.name] = pipe
        self._push(self.now + 1, one, (_UP, one.boots, other.party))
        self._push(self.now + 1, other, (_UP, other.boots, one.party))

    def disconnect(self, one: Node, other: Node, notice: int = 1) -> None:
        """The link is gone, with what was on its way; both hear of it after `notice` ticks."""
        for sender, receiver in ((one, other), (other, one)):
            kept = _others(sender, receiver)
            gone = receiver.into.pop(sender.name, None)
            if kept:
                sender.out[receiver.party] = kept
            else:
                sender.out.pop(receiver.party, None)
            if gone is not None and receiver.up:
                self._push(self.now + notice, receiver, (_DOWN, receiver.boots, sender.party))

    def renew(self, one: Node, other: Node) -> None:
        """A link goes down and comes up again, if there was one."""
        if self._talk(one, other):
            self.disconnect(one, other)
            self.at(self.now + 2, lambda: self._reconnect(one, other))

    def _reconnect(self, one: Node, other: Node) -> None:
        if self._talk(one, other):
            self.connect(one, other)

    def crash(self, node: Node, *, lose_tail: bool = False) -> bool:
        """The process stops at once; says whether its disk lost commits."""
        if not node.up:
            return False
        node.machine = None
        self.crashes += 1
        for other in list(self.nodes.values()):
            if other.name in node.into or node.name in other.into:
                self.disconnect(node, other, 1 + int(self._notices.random() * NOTICE_TICKS))
        self.note(f"{node.name} crashes")
        return node.disk.crash(lose_tail=lose_tail) if node.disk is not None else False

    def call(self, node: Node, call: Callable[..., object], *arguments: object) -> None:
        """A local call, as part of the node's turn in this or the next tick."""
        tick = self.now if self.now in self._inputs else self.now + 1
        self._push(tick, node, (_CALL, node.boots, call, arguments))

    def note(self, text: str) -> None:
        """Put a line into the transcript."""
        if self.watcher is not None:
            self.watcher.noted(self.now, text)

    # -- turns ---------------------------------------------------------------------------------

    def _turn(self, node: Node, machine: Machine, entries: list[Input]) -> None:
        now = self.now
        if node.wake == now:
            node.wake = None
        shown = node.clock.read(now / TICKS_PER_SECOND)
        rings = node.ring is not None and node.ring <= shown + 1e-9
        if not rings and not entries:
            self._arm(node, node.ring)
            return
        try:
            if rings:
                assert node.ring is not None
                machine.at(node.clock.read(now / TICKS_PER_SECOND, node.ring))
                node.ring = None
                machine.tick()
            else:
                machine.at(shown)
            for entry in entries:
                if entry[0] == _FRAME:
                    self._open(node, machine, entry)
                elif entry[1] == node.boots:  # else meant for an earlier run of the process
                    _input(node, machine, entry)
            ready = machine.ready()
        except OUR_BUGS as error:
            raise MachineError(node.name, now, error) from error
        self._do(node, ready)

    def _open(self, node: Node, machine: Machine, entry: Input) -> None:
        _, pipe, frame, copy = entry
        if node.into.get(pipe.sender.name) is not pipe:
            self.refused += 1
            return
        try:
            messages: list[Message] = pipe.opener.open(frame)
        except ProtocolError:
            self.refused += 1
            return
        if copy is not None and self.trace is not None:
            self.trace.breaches.append(
                f"{node.name} took a {copy.name.lower()} frame of {pipe.sender.name}"
            )
        self.deliveries += len(messages)
        sender = pipe.party
        step = machine.step
        for message in messages:
            step(sender, message)

    def _do(self, node: Node, ready: Ready) -> None:
        if ready.records and not self._commit(node, ready.records):
            return
        if self.watcher is not None:
            self.watcher.turned(self.now, node, ready)
        if ready.messages:
            self._send(node, ready.messages)
        disk = node.disk
        if disk is not None:
            for request in ready.reads:
                tick = self.now + 1 + int(self._reads.random() * READ_TICKS)
                self._push(tick, node, (_LOADED, node.boots, request, disk.read(request)))
        if node.correct and self.trace is not None:
            self.trace.turn(self.now, node.life, node.party, ready)
        self._arm(node, ready.timer)

    def _commit(self, node: Node, records: list[Record]) -> bool:
        """Make a turn's records durable; says whether the node still runs."""
        assert node.disk is not None, f"{node.name} has no disk"
        doom, node.doom = node.doom, None
        if doom == "before":
            self.crash(node)
            return False
        node.disk.commit(records)
        if self.trace is not None:
            stored = self.trace.stored.setdefault(node.name, [])
            stored += [Stored(self.now, node.incarnation, record) for record in records]
        if doom == "after":
            self.crash(node)
            return False
        return True

    def _send(self, node: Node, messages: dict[Party, list[Message]]) -> None:
        network, now, watcher = self.network, self.now, self.watcher
        memo: Memo = {}
        for party, said in messages.items():
            statements = said if node.correct else sayable(said)
            if not statements:
                continue
            for pipe in node.out.get(party, ()):
                receiver = pipe.receiver
                for frame in pipe.sealer.seal_all(statements, memo):
                    delay = network.delay(pipe.draws, node.name, receiver.name, len(statements))
                    arrival = None if delay is None else now + delay
                    if watcher is not None:
                        watcher.sent(now, node.name, receiver.name, statements, arrival)
                    if arrival is None:
                        continue
                    self._push(arrival, receiver, (_FRAME, pipe, frame, None))
                    if network.weather.copies:
                        self._copies(pipe, statements, frame, arrival)

    def _copies(self, pipe: Pipe, statements: list[Message], frame: bytes, arrival: int) -> None:
        for copy, later in self.network.copies(pipe.draws):
            tick, draws = arrival + later, pipe.draws
            if copy is Copy.RESEALED:
                for again in pipe.sealer.seal_all(statements):
                    self._push(tick, pipe.receiver, (_FRAME, pipe, again, None))
                continue
            if copy is Copy.DAMAGED:
                damaged = bytearray(frame)
                damaged[draws.randrange(len(damaged))] ^= draws.randrange(1, 256)
                frame = bytes(damaged)
            self._push(tick, pipe.receiver, (_FRAME, pipe, frame, copy))

    def _arm(self, node: Node, ring: float | None) -> None:
        node.ring = ring
        if ring is None:
            return
        tick = max(self.now + 1, ceil(node.clock.when(ring) * TICKS_PER_SECOND - 1e-6))
        if node.wake is None or tick < node.wake:
            node.wake = tick
            self._push(tick, node, None)


def _others(sender: Node, receiver: Node) -> tuple[Pipe, ...]:
    """The sender's links to this receiver's party that are not to this very node: to twins."""
    return tuple(p for p in sender.out.get(receiver.party, ()) if p.receiver is not receiver)


def _input(node: Node, machine: Machine, entry: Input) -> None:
    kind, _, what, *rest = entry
    if kind == _CALL:
        what(*rest[0])
    elif kind == _LOADED:
        machine.loaded(what, rest[0])
    elif kind == _UP:
        machine.linked(what)
    elif what not in node.out:  # else there is a newer link already
        machine.unlinked(what)
