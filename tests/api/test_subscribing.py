"""Subscribing: where to begin, ways to read, errors, the end."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from quorumcast.api import (
    Closed,
    ConfigError,
    Cursor,
    NotAllowed,
    Received,
    Rejected,
    Subscription,
)
from quorumcast.core.ids import Lane
from tests.api.bench import (
    SCHEMA,
    LocalCluster,
    channel,
    hub_of,
    publish,
    run,
    texts,
)

# -- where to begin ----------------------------------------------------------------------------


def test_latest_begins_with_what_is_published_next_and_earliest_with_the_first() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            await publish(writer, "abc")
            late = await reader.subscribe("alerts").ready()
            await publish(writer, "de")
            assert await texts(late, 2) == "de"
            await late.close()
            early = reader.subscribe("alerts", from_="earliest")
            assert await texts(early, 5) == "abcde"

    run(scenario)


def test_a_cursor_goes_on_where_it_stood_in_all_streams() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("other") as second:
            await publish(writer, "abc")
            async with cluster.client("screen") as reader:
                events = await reader.subscribe("alerts").ready()
                assert await texts(events, 0) == ""
                kept = str(events.cursor)  # nothing was read, and yet it knows where latest was
            await publish(writer, "de")
            await publish(second, "xy")
            async with cluster.client("screen") as reader:
                events = reader.subscribe("alerts", from_=kept)
                assert sorted(await texts(events, 4)) == list("dexy")
                kept_now = events.cursor
            await publish(writer, "f")
            async with cluster.client("screen") as reader:
                events = reader.subscribe("alerts", from_=kept_now)
                assert await texts(events, 1) == "f"

    run(scenario)


def test_a_cursor_within_a_batch_repeats_no_row() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer:
            publisher = await writer.publisher("alerts")
            (handle,) = await publisher.send_batch(
                [{"payload": each} for each in (b"a", b"b", b"c")]
            )
            await handle.confirmed()
            async with cluster.client("screen") as reader:
                events = reader.subscribe("alerts", from_="earliest")
                assert await texts(events, 2) == "ab"
                kept = events.cursor
                await events.close()
                assert events.cursor == kept
                again = reader.subscribe("alerts", from_=kept)
                await publisher.publish(b"d")
                assert await texts(again, 2) == "cd"

    run(scenario)


def test_a_time_begins_with_events_that_say_they_are_not_older() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            publisher = await qc.publisher("alerts", batch_events=1)
            for second in (1, 2, 3):
                at = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
                await publisher.publish(b"%d" % second, timestamp=at)
            begin = datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)
            events = qc.subscribe("alerts", from_=begin)
            assert await texts(events, 2) == "23"

    run(scenario)


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        ("yesterday", "this is no cursor"),
        (5, "from_ = 5 is no place to begin"),
        (datetime(2026, 1, 1), "has no zone"),  # noqa: DTZ001  that is what is wrong with it
        (Cursor("logs", {}), "the cursor is for logs: subscribe to that, not alerts"),
    ],
)
def test_a_start_that_makes_no_sense_is_refused(begin: Any, said: str) -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            with pytest.raises(ConfigError, match=said):
                qc.subscribe("alerts", from_=begin)
            assert qc.subscribe("alerts", from_="earliest").channel == "alerts"

    run(scenario)


def test_patterns_choose_publishers() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with (
            cluster.client("probe") as one,
            cluster.client("other") as two,
            cluster.client("screen") as reader,
        ):
            events = await reader.subscribe("alerts", publishers=("oth*",)).ready()
            await publish(one, "abc")
            await publish(two, "xyz")
            assert await texts(events, 3) == "xyz"
            assert events.waiting == 0

    run(scenario)


# -- ways to read ------------------------------------------------------------------------------


def test_poll_gives_a_table_of_typed_columns() -> None:
    async def scenario() -> None:
        async with LocalCluster(channel(schema=SCHEMA)).client() as qc:
            events = await qc.subscribe("alerts").ready()
            publisher = await qc.publisher("alerts")
            await publisher.publish_batch([{"severity": 1, "host": "a"}, {"severity": 2}])
            await publisher.publish(b"x", severity=3)
            rows: list[dict[str, Any]] = []
            while len(rows) < 3:
                table = await events.poll(max_events=2, timeout=5.0)
                assert 0 < table.num_rows <= 2
                rows += table.to_pylist()
            assert [(row["seq"], row["row"], row["severity"], row["host"]) for row in rows] == [
                (1, 0, 1, "a"),
                (1, 1, 2, None),
                (2, 0, 3, None),
            ]
            assert str(table.schema.field("severity").type) == "int8"
            nothing = await events.poll(timeout=0.01)
            assert (nothing.num_rows, nothing.schema) == (0, table.schema)
            with pytest.raises(ConfigError, match="max_events = 0"):
                await events.poll(0)

    run(scenario)


def test_take_waits_for_the_first_event_and_not_for_more() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            events = await qc.subscribe("alerts").ready()
            assert await events.take(10, timeout=0.01) == []
            waiting = asyncio.ensure_future(events.take(10))
            await publish(qc, "a")
            assert [event.payload for event in await waiting] == [b"a"]

    run(scenario)


@pytest.mark.parametrize("waits", [False, True])
def test_a_callback_gets_every_event_in_order(waits: bool) -> None:
    async def scenario() -> None:
        got: list[bytes] = []
        done = asyncio.Event()

        def note(event: Received) -> None:
            got.append(event.payload)
            if len(got) == 5:
                done.set()

        async def note_later(event: Received) -> None:
            await asyncio.sleep(0)
            note(event)

        async with LocalCluster().client() as qc:
            events = qc.subscribe("alerts", on_event=note_later if waits else note)
            await events.ready()
            await publish(qc, "abcde")
            await done.wait()
            assert got == [b"a", b"b", b"c", b"d", b"e"]
            await events.close()

    run(scenario)


def test_what_a_callback_raises_comes_out_of_join() -> None:
    async def scenario() -> None:
        def refuse(event: Received) -> None:
            raise ValueError(event.payload)

        async with LocalCluster().client() as qc:
            events = qc.subscribe("alerts", on_event=refuse)
            await events.ready()
            await publish(qc, "a")
            with pytest.raises(ValueError, match="a"):
                await events.join()

    run(scenario)


def test_a_body_that_no_publisher_of_ours_makes_is_delivered_in_its_place() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            events = await qc.subscribe("alerts").ready()
            await publish(qc, "a")
            hub_of(qc).publish("alerts", b"\xff not a body", Lane.NORMAL)
            await publish(qc, "b")
            first, bad, last = [await anext(events) for _ in range(3)]
            assert (first.payload, last.payload) == (b"a", b"b")
            assert (bad.payload, bad.error) == (b"\xff not a body", "form 255 is unknown")
            assert bad.publisher == "probe"
            assert bad.seq == 2

    run(scenario)


# -- errors and the end ------------------------------------------------------------------------


def test_who_may_not_subscribe_is_told_so() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(subscribers=("screen",)))
        async with cluster.client("stranger") as qc:
            said = "stranger may not subscribe to alerts: ask the operator"
            with pytest.raises(NotAllowed, match=said):
                await qc.subscribe("alerts").ready()
            events = qc.subscribe("alerts")  # the first one is over
            with pytest.raises(NotAllowed, match=said):
                await anext(events)
            with pytest.raises(NotAllowed, match=said):
                await events.ready()

    run(scenario)


def test_a_channel_that_has_all_its_subscribers_says_so() -> None:
    async def scenario() -> None:
        cluster = LocalCluster(channel(max_subscribers=1))
        async with cluster.client("screen") as one, cluster.client("other") as two:
            await one.subscribe("alerts").ready()
            with pytest.raises(Rejected, match="cannot subscribe to alerts: alerts takes 1 subs"):
                await two.subscribe("alerts").ready()

    run(scenario)


def test_a_channel_is_subscribed_to_once_at_a_time() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            async with qc.subscribe("alerts") as events:
                with pytest.raises(ConfigError, match="close that subscription first"):
                    qc.subscribe("alerts")
                await events.ready()
            again = await qc.subscribe("alerts").ready()
            await publish(qc, "a")
            assert await texts(again, 1) == "a"
            with pytest.raises(ConfigError, match="there is no channel logs; there are: alerts"):
                qc.subscribe("logs")

    run(scenario)


def test_closing_a_subscription_ends_its_loop_and_closing_the_client_raises() -> None:
    async def scenario() -> None:
        async def read(events: Subscription) -> int:
            return len([event async for event in events])

        cluster = LocalCluster()
        qc = await cluster.client().start()
        events = await qc.subscribe("alerts").ready()
        reading = asyncio.ensure_future(read(events))
        await asyncio.sleep(0)
        await events.close()
        assert await reading == 0
        await events.close()

        other = await qc.subscribe("alerts").ready()
        hub = hub_of(qc)
        reading = asyncio.ensure_future(read(other))
        await asyncio.sleep(0)
        await hub.close()
        with pytest.raises(Closed, match="the client probe is closed"):
            await reading
        with pytest.raises(Closed):
            qc.subscribe("alerts")
        await qc.close()

    run(scenario)


def test_the_cursor_of_latest_is_not_known_before_it_is_decided() -> None:
    async def scenario() -> None:
        async with LocalCluster().client() as qc:
            events = qc.subscribe("alerts")
            with pytest.raises(ConfigError, match="wait for ready"):
                events.cursor  # noqa: B018
            await events.ready()
            assert events.cursor == Cursor("alerts", {})

    run(scenario)


def test_a_subscription_survives_replicas_that_restart() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            events = await reader.subscribe("alerts").ready()
            for number, name in enumerate(("r1", "r2", "r3", "r4")):
                cluster.stop(name)
                await publish(writer, "abcd"[number])
                cluster.start(name)
                assert await texts(events, 1) == "abcd"[number]

    run(scenario)


def test_one_pattern_is_one_pattern() -> None:
    async def scenario() -> None:
        cluster = LocalCluster()
        async with cluster.client("probe") as writer, cluster.client("screen") as reader:
            events = await reader.subscribe("alerts", publishers="pro*").ready()
            await publish(writer, "a")
            assert await texts(events, 1) == "a"

    run(scenario)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"overflow": "xx"}, "overflow = 'xx' is not known: use \"lag\""),
        ({"on_gap": "no"}, 'on_gap = \'no\' is not known: use "fail", "continue"'),
        ({"publishers": ()}, "is nobody"),
        ({"publishers": ("probe 7",)}, "contains white space"),
    ],
)
def test_what_cannot_be_subscribed_to_is_told(wrong: dict[str, Any], told: str) -> None:
    async def scenario() -> None:
        async with LocalCluster().client("screen") as reader:
            with pytest.raises(ConfigError, match=told):
                reader.subscribe("alerts", **wrong)

    run(scenario)
