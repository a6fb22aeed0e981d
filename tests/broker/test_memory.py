"""A million of anything from one faulty party leaves a machine under a fixed cap.

Inputs go to one real machine, turn by turn, as a driver hands them in. What counts is the machine
and all it holds on to, measured ten times on the way; its store is the driver's and does not count.
"""

from __future__ import annotations

from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.core.channel import Retention
from quorumcast.core.ids import Lane, Opening, Party, Stream
from quorumcast.core.limits import CANDIDATE_STREAMS, FOREIGN_STREAMS_PER_PEER
from quorumcast.core.messages import (
    AskHeads,
    Bodies,
    ConfirmedUpTo,
    Credit,
    FloorAt,
    Head,
    Heads,
    Held,
    Message,
    Open,
    Publish,
    ReadyUpTo,
)
from quorumcast.sim.checkers import measure
from tests.broker.bench import LIVES, Bench
from tests.client.bench import Reader
from tests.scenarios.story import CHANNEL

MILLION = 1_000_000
MIB = 2**20

REPLICA_CAP_BYTES = 8 * MIB
"""Above all that a replica holds in these tests, whatever is sent to it."""

SUBSCRIBER_CAP_BYTES = 20 * MIB
"""The same for a subscriber: 256 candidates of one replica, with 64 KiB of bodies each."""


class Gauge:
    """Measures a machine now and then; the test asks for the most that it held."""

    def __init__(self, machine: object, turns: int) -> None:
        self._machine = machine
        self._every = max(1, turns // 10)
        self._turn = 0
        self.most = 0

    def turn(self) -> None:
        """A turn is over."""
        self._turn += 1
        if self._turn % self._every == 0:
            self.most = max(self.most, measure(self._machine))


def stranger(publisher: Party, number: int, lane: Lane = Lane.NORMAL) -> Stream:
    """A stream that nobody opened."""
    return Stream(CHANNEL, publisher, number.to_bytes(32, "big"), lane)


# -- a faulty publisher ------------------------------------------------------------------------


def test_a_million_ids_that_nobody_confirms() -> None:
    bench = Bench(alpha=1000)
    story = bench.opens()
    run, turns = 1000, MILLION // 1000
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        bodies = tuple(b"%d" % (turn * run + index) for index in range(run))
        bench.say("probe", Publish(story.stream, turn * run + 1, bodies))
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    entry = bench.entry(story)
    assert entry is not None
    assert entry.head == 2000  # 2α of them were taken


def test_a_million_ids_with_holes_between_them() -> None:
    bench = Bench(alpha=1000)
    story = bench.opens()
    each, turns = 1000, MILLION // 1000
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        first = turn * 2 * each + 2
        lonely = range(first, first + 2 * each, 2)
        bench.say("probe", *(Publish(story.stream, at, (b"%08d" % at * 512,)) for at in lonely))
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    assert bench.holds(story) == ""


def test_a_million_ids_that_are_confirmed_and_dropped() -> None:
    bench = Bench(alpha=500, retention=Retention(events=5000))
    story = bench.opens()
    digester = Digester(bench.cluster.id, story.stream)
    chain, run, turns = digester.origin, 1000, MILLION // 1000
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        first, bodies = turn * run + 1, (b"x" * 56,) * run
        chain = chains_after(chain, digester.digests(first, bodies))[-1]
        bench.now += 1.0
        bench.say("probe", Publish(story.stream, first, bodies))
        bench.say("r2 r3 r4", ConfirmedUpTo(story.stream, first + run - 1, chain))
        bench.until(bench.now)
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    entry = bench.entry(story)
    assert entry is not None
    assert entry.confirmed.seq == MILLION
    assert entry.floor.seq > MILLION - 12_000


def test_a_million_sessions_with_a_publication_in_each() -> None:
    bench = Bench()
    bench.link("probe")
    each, turns = 50, MILLION // 50
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        messages: list[Message] = []
        for nonce in range(turn * each, (turn + 1) * each):
            opening = Opening("probe", nonce, LIVES[:4])
            session = session_of(bench.cluster.id, 1, opening)
            stream = Stream(CHANNEL, "probe", session, Lane(nonce % 2))
            messages.append(Open(stream, opening, b""))
            if nonce % 50 == 0:
                messages.append(Publish(stream, 1, (b"x" * 1000,)))
        bench.say("probe", *messages)
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    assert len(bench.replica.desks[CHANNEL].shelf.entries) < 20


# -- a faulty subscriber -----------------------------------------------------------------------


def test_a_million_questions_for_retransmission() -> None:
    bench = Bench()
    text = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    stories = [bench.past("probe", nonce, text[:10], Lane(nonce % 2)) for nonce in range(20)]
    bench.subscribes("screen", begin=MILLION)
    turns = MILLION // 1000
    gauge = Gauge(bench.replica, turns)
    answers = 0
    for turn in range(turns):
        story = stories[turn % len(stories)]
        questions: list[Message] = [
            story.ask_bodies(text[:10]),
            story.ask_bodies(text[:5], first=3),
            story.ask_votes(),
            story.ask_votes(7),
            story.ask_digests(1, 10),
            story.ask_confirmed(4),
            story.ask_opening(),
            AskHeads(CHANNEL, 0),
            story.follow(1, 1000),
            Credit(story.stream, turn),
        ]
        bench.now += 0.4  # so slowly that its tokens suffice for most of them
        answers += len(bench.say("screen", *(questions * 100)).messages["screen"])
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    assert answers > MILLION // 4


# -- a faulty replica --------------------------------------------------------------------------


def test_a_peer_that_speaks_of_streams_that_nobody_opened() -> None:
    bench = Bench()
    turns = 1000
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        few = turn < 500  # publishers; later each stream has one of its own
        numbers = range(turn * 100, turn * 100 + 100)
        streams = [stranger(f"p{number % 9 if few else number}", number) for number in numbers]
        if turn % 2:
            heads = tuple(Head(stream, 0, 9, 9) for stream in streams)
            bench.say("r4", Heads(CHANNEL, turn, heads, False))
        else:
            bench.say("r4", *(Held(stream, 1, b"x" * 320) for stream in streams))
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    assert len(bench.replica.desks[CHANNEL].shelf.entries) <= FOREIGN_STREAMS_PER_PEER


def test_a_peer_that_states_a_million_things_about_one_stream() -> None:
    bench = Bench(alpha=1000)
    story = bench.opens()
    bench.say("probe", story.publish("ABC"))
    each, turns = 1000, MILLION // 1000
    gauge = Gauge(bench.replica, turns)
    for turn in range(turns):
        said: list[Message] = []
        for number in range(turn * each, (turn + 1) * each, 4):
            chain = number.to_bytes(32, "big")
            said += [
                Held(story.stream, number + 1, chain),
                ReadyUpTo(story.stream, number + 2, chain),
                ConfirmedUpTo(story.stream, number + 3, chain),
                FloorAt(story.stream, number + 4, chain, confirmed=True),
            ]
        bench.now += 0.1
        bench.say("r4", *said)
        bench.until(bench.now)
        gauge.turn()
    assert gauge.most < REPLICA_CAP_BYTES
    assert bench.holds(story) == "ABC"


def test_a_subscriber_that_one_replica_floods() -> None:
    reader = Reader()
    each, turns = 100, 1000
    gauge = Gauge(reader.machine, turns)
    for turn in range(turns):
        streams = [stranger("p", turn * each + index) for index in range(each)]
        flood: list[Message] = [Held(stream, 1, b"x" * 320) for stream in streams]
        for stream in streams if turn % 5 == 4 else ():
            flood += [Bodies(stream, at, (stream.session * 400,)) for at in range(1, 9)]
        reader.say("r4", *flood)
        gauge.turn()
    assert gauge.most < SUBSCRIBER_CAP_BYTES
    assert len(reader.following()) <= CANDIDATE_STREAMS
