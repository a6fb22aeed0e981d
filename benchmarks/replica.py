"""What a publication costs a replica machine: decode, digest, vote, HELD to all who hear of it."""

from __future__ import annotations

from time import perf_counter
from typing import Literal

from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.broker import Replica
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Opening, Stream
from quorumcast.core.messages import ConfirmedUpTo, Hello, Open, Publish, Subscribe
from quorumcast.core.records import Incarnated, ReadStreams
from quorumcast.wire.codec import decode_payload, encode_payload

PAYLOAD_BYTES = 56
BODY = bytes(11) + b"x" * PAYLOAD_BYTES
"""As long as a compact record of one event with this payload."""

PER_TURN = 64
_REPLICAS = ("r1", "r2", "r3", "r4")


class Bench:
    """Replica r1 of four, with three peers, a publisher and a subscriber linked to it."""

    def __init__(self, protocol: Literal["ab", "bracha"]) -> None:
        cluster = Cluster(bytes(32), 1, _REPLICAS, 1, bytes(32))
        channel = Channel("alerts", protocol=protocol, publishers=("*",))
        lives = tuple(Incarnation(1, index) for index in range(4))
        self.replica = replica = Replica(
            "r1", cluster, [channel], Incarnated(((lives[0], 0.0),), ())
        )
        replica.start()
        replica.ready()
        replica.loaded(ReadStreams(0, 1024), [])
        for party in ("r2", "r3", "r4", "probe", "screen"):
            replica.linked(party)
        for peer, life in zip(_REPLICAS[1:], lives[1:], strict=True):
            replica.step(peer, Hello(life, lives))
        opening = Opening("probe", 1, lives)
        session = session_of(cluster.id, cluster.epoch, opening)
        self.stream = Stream("alerts", "probe", session, Lane.NORMAL)
        replica.step("screen", Subscribe("alerts", 1, ("*",), 0, 1 << 40))
        replica.step("probe", Open(self.stream, opening, b""))
        replica.ready()
        self.digester = Digester(cluster.id, self.stream)
        self.chain = self.digester.origin
        self.position = 0

    def turn(self, payloads: list[bytes], *, encode: bool) -> float:
        """One turn with these payloads from the publisher; returns its seconds."""
        replica = self.replica
        start = perf_counter()
        for payload in payloads:
            for message in decode_payload(payload, b""):
                replica.step("probe", message)
        ready = replica.ready()
        if encode:
            for messages in ready.messages.values():
                encode_payload(messages)
        return perf_counter() - start

    def confirm(self, count: int) -> None:
        """Two peers confirm what was published, so that the window moves on."""
        digests = self.digester.digests(self.position + 1, [BODY] * count)
        self.chain = chains_after(self.chain, digests)[-1]
        self.position += count
        for peer in ("r2", "r3"):
            self.replica.step(peer, ConfirmedUpTo(self.stream, self.position, self.chain))
        self.replica.ready()


def cost(protocol: Literal["ab", "bracha"], *, single: bool = False, encode: bool = False) -> float:
    """Microseconds per publication when 64 arrive in a turn: as one run, or in single messages."""
    bench = Bench(protocol)
    seconds, turns = 0.0, 200
    for turn in range(turns):
        first = bench.position + 1
        if single:
            messages = [Publish(bench.stream, first + at, (BODY,)) for at in range(PER_TURN)]
        else:
            messages = [Publish(bench.stream, first, (BODY,) * PER_TURN)]
        payloads = [encode_payload([message])[0] for message in messages]
        bench.replica.at(turn * 0.001)
        seconds += bench.turn(payloads, encode=encode)
        bench.confirm(PER_TURN)
    return seconds / turns / PER_TURN * 1e6


def run() -> list[tuple[str, float]]:
    """What was measured, and its microseconds: the best of five, for the machine is noisy."""
    rows: list[tuple[str, float]] = []
    for protocol in ("ab", "bracha"):
        for single in (False, True):
            how = "in 64 messages" if single else "in one run"
            best = min(cost(protocol, single=single) for _ in range(5))
            rows.append((f"replica, {protocol}: a publication, 64 a turn {how}", best))
        best = min(cost(protocol, encode=True) for _ in range(5))
        rows.append((f"replica, {protocol}: the same in one run, answers encoded too", best))
    return rows
