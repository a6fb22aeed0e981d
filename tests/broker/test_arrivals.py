"""Publications of one turn become runs before they are voted for."""

from __future__ import annotations

from quorumcast.broker.arrivals import Arrivals
from quorumcast.core.ids import Lane
from quorumcast.core.limits import GATHERED_PUBLICATIONS
from quorumcast.core.machine import Out
from quorumcast.core.messages import AskBodies, AskVotes, Publish
from tests.broadcast.cast import said
from tests.broker.bench import Bench
from tests.scenarios.story import Story


class Gathered:
    """What arrivals hand on."""

    def __init__(self) -> None:
        self.out = Out()
        self.runs: list[Publish] = []
        self.arrivals = Arrivals(self.out, lambda _, run: self.runs.append(run))

    def shape(self) -> list[tuple[int, str]]:
        """First positions and contents."""
        return [(run.first, b"".join(run.bodies).decode()) for run in self.runs]


def story(nonce: int = 1, lane: Lane = Lane.NORMAL) -> Story:
    """A session of a publisher."""
    return Bench(link="").story("probe", nonce, lane=lane)


def test_single_publications_in_order_are_one_run() -> None:
    gathered, one = Gathered(), story()
    for at, letter in enumerate("ABCD", 1):
        gathered.arrivals.add("probe", one.publish(letter, at))
    assert gathered.runs == []
    gathered.arrivals.flush()
    assert gathered.runs == [one.publish("ABCD")]
    gathered.arrivals.flush()
    assert len(gathered.runs) == 1


def test_hole_or_repetition_begins_another_run() -> None:
    gathered, one = Gathered(), story()
    for first, text in ((1, "AB"), (3, "C"), (5, "E"), (1, "AB"), (6, "F")):
        gathered.arrivals.add("probe", one.publish(text, first))
    gathered.arrivals.flush()
    assert gathered.shape() == [(1, "ABC"), (5, "E"), (1, "AB"), (6, "F")]


def test_signatures_stay_with_their_bodies() -> None:
    gathered, one = Gathered(), Bench(signed=True).story()
    for at, letter in enumerate("ABC", 1):
        gathered.arrivals.add("probe", one.publish(letter, at))
    gathered.arrivals.flush()
    assert gathered.runs == [one.publish("ABC")]


def test_urgent_lanes_are_handed_on_first() -> None:
    gathered, slow, fast = Gathered(), story(1), story(2, Lane.URGENT)
    gathered.arrivals.add("probe", slow.publish("A"))
    gathered.arrivals.add("probe", fast.publish("U"))
    gathered.arrivals.flush()
    assert [run.stream.lane for run in gathered.runs] == [Lane.URGENT, Lane.NORMAL]


def test_name_of_another_is_rejected() -> None:
    gathered, one = Gathered(), story()
    gathered.arrivals.add("mallory", one.publish("A"))
    gathered.arrivals.flush()
    assert gathered.runs == []
    assert [each.sender for each in gathered.out.take(None).rejections] == ["mallory"]


def test_what_is_gathered_is_bounded() -> None:
    gathered, one = Gathered(), story()
    for at in range(GATHERED_PUBLICATIONS + 5):
        gathered.arrivals.add("probe", one.publish("A", at + 1))
    assert sum(len(run.bodies) for run in gathered.runs) >= GATHERED_PUBLICATIONS
    gathered.arrivals.flush()
    assert sum(len(run.bodies) for run in gathered.runs) == GATHERED_PUBLICATIONS + 5


def test_what_arrives_when_patience_ends_was_on_its_way() -> None:
    """A replica that had to wait for the processor asks nobody for what its publisher sent."""
    bench = Bench(protocol="bracha")
    session = bench.opens()
    bench.say("r2 r3", session.held("ABC"))
    patience = bench.timer
    assert patience is not None
    bench.now = patience
    bench.replica.at(bench.now)
    bench.replica.step("probe", session.publish("ABC"))
    bench.replica.tick()
    ready = bench.turn()
    assert not said(ready, AskVotes)
    assert not said(ready, AskBodies)

    late = Bench(protocol="bracha")
    late.opens()
    late.say("r2 r3", session.held("ABC"))
    assert said(late.until(1.0), AskVotes) or said(late.until(2.0), AskBodies)
