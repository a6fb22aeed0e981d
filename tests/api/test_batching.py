"""How events are gathered into bodies, and what becomes of their handles."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from quorumcast.api import NoQuorum, QuorumcastError
from quorumcast.api.batching import (
    FAILURES,
    PUBLICATION_BYTES,
    TURN_BYTES,
    Batching,
    Budget,
    Gathering,
)
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.outcomes import Acknowledged, OutcomeUnknown, Ticket
from quorumcast.events import BadPublication, Event, read
from tests.api.bench import SCHEMA, LocalCluster, channel, hub_of, run

STREAM = Stream("alerts", "probe", b"s" * 32, Lane.NORMAL)


async def at_once(waiting: Awaitable[None], what: str) -> None:
    await waiting


class Bench:
    """One lane, and the bodies that it published."""

    def __init__(self, lane: Lane = Lane.NORMAL, **settings: Any) -> None:
        self.bodies: list[bytes] = []
        self.budget = Budget(1000)
        self.refuses: QuorumcastError | None = None
        self.lane = Gathering(
            channel(schema=SCHEMA), lane, Batching(**settings), self.budget, self._publish, at_once
        )

    def _publish(self, body: bytes, lane: Lane) -> Ticket:
        if self.refuses is not None:
            raise self.refuses
        self.bodies.append(body)
        return Ticket("alerts", lane, len(self.bodies))

    def add(self, payload: bytes = b"", key: str | None = None, **attributes: Any) -> Any:
        return self.lane.add(payload, None, key, self.lane._is_urgent, attributes)

    def ack(self, first: int, last: int, *, confirmed: bool = False) -> None:
        said = Acknowledged(STREAM, last + 100, first, last, 3, confirmed)
        self.lane.acknowledged(said)

    def events(self, at: int) -> list[Event]:
        content = read(SCHEMA, self.bodies[at])
        assert not isinstance(content, BadPublication)
        return list(content)


def looped(work: Callable[[], None]) -> None:
    """Run something that needs a loop around it."""

    async def scenario() -> None:
        work()

    asyncio.run(scenario())


@pytest.mark.parametrize("lane", Lane)
def test_payloads_and_events_mix_in_a_batch_in_any_order(lane: Lane) -> None:
    def scenario() -> None:
        for mixed in ("pp", "pe", "ep", "ppepe", "ee", "p", "e"):
            bench = Bench(lane)
            for number, kind in enumerate(mixed):
                if kind == "p":
                    bench.add(b"%d" % number)
                else:
                    bench.add(b"%d" % number, key="k", severity=number)
            bench.lane.cut()
            events = bench.events(0)
            assert [event.payload for event in events] == [b"%d" % n for n in range(len(mixed))]
            assert [event.key for event in events] == [None if k == "p" else "k" for k in mixed]
            assert {event.urgent for event in events} == {lane is Lane.URGENT}
            assert all(event.timestamp > 1_700_000_000_000_000 for event in events)

    looped(scenario)


def test_handles_know_their_place_and_the_budget_comes_back() -> None:
    def scenario() -> None:
        bench = Bench()
        one, two = bench.add(b"a"), bench.add(b"b")
        assert bench.budget.left < 1000
        bench.lane.cut()
        whole = bench.lane.launch(b"prepared", 7)
        assert not bench.lane.idle
        bench.ack(1, 2)
        assert bench.budget.left == 1000
        assert bench.lane.idle
        assert [(each.ack.id.seq, each.ack.row, each.ack.rows) for each in (one, two, whole)] == [
            (101, 0, 1),
            (101, 1, 1),
            (102, 0, 7),
        ]
        bench.ack(1, 2, confirmed=True)
        assert one.ack.confirmed
        bench.ack(1, 2, confirmed=True)

    looped(scenario)


def test_a_body_prepared_elsewhere_comes_after_what_was_gathered() -> None:
    def scenario() -> None:
        bench = Bench()
        bench.add(b"a")
        bench.lane.launch(b"prepared", 1)
        assert bench.bodies[1] == b"prepared"
        assert bench.events(0)[0].payload == b"a"

    looped(scenario)


def test_what_was_acknowledged_does_not_fail_any_more() -> None:
    async def scenario() -> None:
        bench = Bench()
        handle = bench.add(b"a")
        bench.lane.cut()
        bench.ack(1, 1)
        bench.lane.failed(1, 1, NoQuorum("the session ended"))
        assert (await handle).replicas == 3
        bench.lane.raise_failure()
        with pytest.raises(NoQuorum, match="the session ended"):
            await handle.confirmed()

    asyncio.run(scenario())


def test_failures_are_told_once_and_only_if_nobody_was_told() -> None:
    async def scenario() -> None:
        bench = Bench(batch_events=1)
        handles = [bench.add(b"a"), bench.add(b"b"), bench.add(b"c")]
        bench.lane.failed(1, 2, NoQuorum("unknown"))
        with pytest.raises(NoQuorum):
            await handles[0]
        bench.ack(3, 3)
        assert bench.lane.idle
        with pytest.raises(NoQuorum, match="unknown"):
            bench.lane.raise_failure()
        bench.lane.raise_failure()
        assert bench.budget.left == 1000

    asyncio.run(scenario())


def test_a_lane_that_is_refused_remembers_no_failure_without_end() -> None:
    def scenario() -> None:
        bench = Bench(batch_events=1)
        bench.refuses = NoQuorum("no")
        for _ in range(FAILURES + 100):
            assert bench.add(b"a").done
        assert len(bench.lane._failures) == FAILURES
        assert bench.budget.left == 1000

    looped(scenario)


def test_all_that_is_gathered_and_in_flight_can_fail_at_once() -> None:
    def scenario() -> None:
        bench = Bench()
        one = bench.add(b"a")
        bench.lane.cut()
        two = bench.add(b"b")
        bench.lane.fail_all(NoQuorum("over"))
        assert one.done
        assert two.done
        assert bench.lane.idle
        bench.add(b"c")
        bench.lane.cut()
        assert [event.payload for event in bench.events(1)] == [b"c"]

    looped(scenario)


def test_a_session_that_ended_makes_outcomes_unknown() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        qc = await cluster.client().start()
        alerts = await qc.publisher("alerts")
        cluster.stop("r1")
        cluster.stop("r2")
        handle = await alerts.send(b"a")
        alerts._normal.cut()
        hub_of(qc)._settled(OutcomeUnknown("alerts", Lane.NORMAL, 1, 1))
        with pytest.raises(NoQuorum, match="look whether it is there before you publish it again"):
            await handle
        await qc.close()

    run(scenario)


@pytest.mark.parametrize("batch_events", [1, 1000])
def test_a_publisher_that_never_waits_lets_the_loop_send(batch_events: int) -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            limits = {"batch_events": batch_events, "buffer_bytes": 2**30}
            alerts = await qc.publisher("alerts", **limits)
            count = 16 * TURN_BYTES // (100 + PUBLICATION_BYTES // batch_events)
            handles = [await alerts.send(bytes(100)) for _ in range(count)]
            assert handles[0].done

    run(scenario)


def test_batches_that_follow_each_other_let_the_loop_send() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            alerts = await qc.publisher("alerts", buffer_bytes=2**30)
            size = TURN_BYTES // 4
            sent = [await alerts.send_batch([{"payload": bytes(size)}]) for _ in range(64)]
            assert sent[0][0].done

    run(scenario)
