"""Streams, contents and a bench for one stream of one replica, shared by the tests of this folder.

A text stands for contents: its k-th letter is what is published at the k-th position.
"""

from __future__ import annotations

from typing import Any, TypeVar

from blake3 import blake3

from quorumcast.auth.certificate import issue
from quorumcast.auth.digests import session_of
from quorumcast.auth.identity import Identity
from quorumcast.auth.signatures import sign_publication
from quorumcast.broadcast.context import Context, Replicas
from quorumcast.broadcast.intake import Intake
from quorumcast.broadcast.path import Path
from quorumcast.broadcast.stream import ReplicaStream
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Opening, Position, Stream
from quorumcast.core.machine import Agenda, Out, Ready
from quorumcast.core.messages import ConfirmedUpTo, Held, Message, Publish, ReadyUpTo
from quorumcast.sim.store import Store

T = TypeVar("T")

ZERO = Position(0, bytes(32))
LIFE = Incarnation(1, 7)


def identity(name: str) -> Identity:
    """One identity per name."""
    seeds = blake3(name.encode()).digest(length=64)
    return Identity.from_seeds(seeds[:32], seeds[32:])


OPERATOR, PROBE = identity("operator"), identity("probe")


def cluster(n: int = 4, f: int = 1, *, lab: bool = False) -> Cluster:
    """Replicas r1 to rn, of which f may be faulty."""
    names = tuple(f"r{number}" for number in range(1, n + 1))
    return Cluster(b"c" * 32, 1, names, f, OPERATOR.public.sign, lab)


CERTIFICATE = issue(OPERATOR, b"c" * 32, "probe", PROBE.public)


def digests(text: str) -> bytes:
    """Made-up digests, one per letter, wherever they stand."""
    return b"".join(letter.encode() * 32 for letter in text)


def path(text: str, base: Position = ZERO) -> Path:
    """The path of made-up digests."""
    return Path(base, digests(text))


def said(ready: Ready, kind: type[T], to: str | None = None) -> list[T]:
    """What a turn says of one kind, to one party or to anybody."""
    parties = ready.messages if to is None else [to]
    found = [each for party in parties for each in ready.messages.get(party, ())]
    return [each for each in found if isinstance(each, kind)]


def stored(ready: Ready, kind: type[T]) -> list[T]:
    """What a turn stores of one kind."""
    return [each for each in ready.records if isinstance(each, kind)]


class Bench:
    """One stream at replica r1, its driver and its store; peers r2 ... speak through the test."""

    def __init__(
        self, n: int = 4, f: int = 1, *, names: Incarnation = LIFE, lab: bool = False, **how: Any
    ) -> None:
        self.cluster = cluster(n, f, lab=lab)
        self.out, self.agenda = Out(), Agenda()
        self.replicas = Replicas("r1", self.cluster, self.out, self.agenda)
        self.replicas.valid = {LIFE}
        self.replicas.live = dict.fromkeys(self.replicas.peers, 1)
        self.channel = Channel("alerts", **{"alpha": 10, "publishers": ("*",), **how})
        self.context = Context(self.replicas, self.channel)
        self.opening = Opening("probe", 5, (names,) * n)
        self.key = PROBE.public.sign if self.channel.signed else b""
        session = session_of(self.cluster.id, self.cluster.epoch, self.opening, self.key)
        self.id = Stream("alerts", "probe", session, Lane.NORMAL)
        self.store = Store(self.cluster.id)
        self.fresh()
        self.stream.open(self.opening, CERTIFICATE, self.key)

    def fresh(self) -> None:
        """A stream of which nothing is known."""
        self.stream = ReplicaStream(self.context, self.id)
        self.intake = Intake(self.stream)

    # -- contents ------------------------------------------------------------------------------

    def digests(self, text: str, first: int = 1) -> bytes:
        """The digests of contents from a position on."""
        return self.stream.digester.digests(first, self.bodies(text))

    @staticmethod
    def bodies(text: str) -> tuple[bytes, ...]:
        """One body per letter."""
        return tuple(letter.encode() for letter in text)

    def path(self, text: str) -> Path:
        """The path of contents from the stream's beginning."""
        return Path(Position(0, self.stream.digester.origin), self.digests(text))

    def tip(self, text: str) -> Position:
        """The last position of contents, with its chain digest."""
        return self.path(text).tip

    def signatures(self, text: str, first: int = 1, by: Identity = PROBE) -> bytes:
        """Signatures of contents from a position on."""
        whole = self.digests(text, first)
        return b"".join(
            sign_publication(
                by, self.cluster.id, self.id, first + index, whole[index * 32 : index * 32 + 32]
            )
            for index in range(len(text))
        )

    # -- inputs --------------------------------------------------------------------------------

    def publish(self, text: str, first: int = 1, limit: int = 10**6, **how: bytes) -> str | None:
        """The publisher sends contents."""
        return self.intake.publish(Publish(self.id, first, self.bodies(text), **how), limit)

    def held(self, peer: str, text: str, first: int = 1) -> int | None:
        """A peer's votes."""
        return self.stream.held(peer, first, self.digests(text, first))

    def ready(self, peer: str, text: str) -> Position | None:
        """A peer is READY for contents."""
        return self.stream.ready_at(peer, self.tip(text))

    def confirmed(self, peer: str, text: str) -> Position | None:
        """A peer confirms contents."""
        return self.stream.confirmed_at(peer, self.tip(text))

    def turn(self) -> Ready:
        """The end of a turn: settle, store, hand out."""
        touched = self.context.touched
        while touched:
            stream = next(iter(touched))
            del touched[stream]
            stream.settle()
        ready = self.out.take(self.agenda.next)
        self.store.apply(ready.records)
        return ready

    def at(self, time: float) -> Ready:
        """The time comes; what was due before it has been done before it."""
        whole = Ready()
        while (due := self.agenda.next) is not None and due <= time:
            self.replicas.now = max(due, self.replicas.now)
            for stream, name in self.agenda.due(self.replicas.now):
                if name == "tell":
                    stream.teller.due()
                elif name == "repeat":
                    stream.teller.repeat()
                else:
                    stream.repair.tick()
            add(whole, self.turn())
        self.replicas.now = time
        return whole

    def restart(self) -> None:
        """The process dies and comes back with what it stored."""
        state = self.store.streams[self.id].state(whole=True)
        self.agenda = self.replicas.agenda = self.context.agenda = Agenda()
        self.context.touched.clear()
        self.fresh()
        self.stream.restore(state, self.key)
        self.stream.teller.revisit()


def add(whole: Ready, part: Ready) -> None:
    """Append a turn to those before it."""
    whole.records += part.records
    for party, messages in part.messages.items():
        whole.messages.setdefault(party, []).extend(messages)
    whole.evidence += part.evidence
    whole.rejections += part.rejections


def statements(ready: Ready, to: str = "r2") -> list[Message]:
    """HELD, READY and CONFIRMED to one peer, in their order."""
    kinds = (Held, ReadyUpTo, ConfirmedUpTo)
    return [each for each in ready.messages.get(to, ()) if isinstance(each, kinds)]
