"""The client without async: the same, from ordinary code."""

from __future__ import annotations

import threading
from typing import Any

import pyarrow as pa
import pytest

from quorumcast.api import (
    AsyncClient,
    Client,
    Closed,
    ConfigError,
    Cursor,
    NoQuorum,
    NotAllowed,
    Received,
)
from tests.api.bench import SCHEMA, LocalCluster, channel


class Local:
    """A cluster that lives on the client's own thread."""

    def __init__(self, *channels: Any, name: str = "probe", timeout: float = 10.0) -> None:
        self._channels = channels
        self._name = name
        self._timeout = timeout
        self.cluster: LocalCluster | None = None

    async def make(self) -> AsyncClient:
        self.cluster = LocalCluster(*self._channels)
        return self.cluster.client(self._name, self._timeout)

    def client(self) -> Client:
        return Client.over(self.make)


def test_publish_and_iterate() -> None:
    with Local(channel(schema=SCHEMA)).client() as client:
        assert client.name == "probe"
        assert [each.name for each in client.channels] == ["alerts"]
        with client.subscribe("alerts").ready() as events:
            alerts = client.publisher("alerts")
            ack = alerts.publish(b"disk failing", key="db-3", severity=5)
            assert (ack.id.publisher, ack.id.seq, ack.level) == ("probe", 1, "memory")
            event = next(events)
            assert (event.payload, event.key, event["severity"]) == (b"disk failing", "db-3", 5)
            assert event.id == ack.id
            assert events.next(timeout=0.01) is None
        assert events.next(timeout=None) is None
        assert list(events) == []


def test_send_flush_and_batches() -> None:
    with Local().client() as client:
        with client.publisher("alerts") as alerts:
            handles = [alerts.send(b"%d" % number) for number in range(100)]
            alerts.flush()
            assert all(handle.done for handle in handles)
            assert handles[99].result().id.seq >= 1
            assert handles[0].confirmed().confirmed
            (ack,) = alerts.publish_batch(pa.table({"payload": [b"a", b"b"]}))
            assert ack.rows == 2
            (handle,) = alerts.send_batch([{"payload": b"c"}, {"payload": b"d"}])
            assert handle.result().rows == 2
        events = client.subscribe("alerts", from_="earliest")
        expected = [b"%d" % number for number in range(100)] + [b"a", b"b", b"c", b"d"]
        assert [next(events).payload for _ in expected] == expected


def test_the_cursor_stands_behind_what_was_handed_over_and_not_what_was_fetched() -> None:
    with Local().client() as client:
        alerts = client.publisher("alerts")
        events = client.subscribe("alerts", from_="earliest")
        alerts.send_batch([{"payload": each} for each in (b"a", b"b", b"c")])[0].confirmed()
        alerts.send(b"d").confirmed()
        assert [next(events).payload for _ in range(2)] == [b"a", b"b"]
        kept = str(events.cursor)
        events.close()
        assert next(iter(Cursor.parse(kept).streams.values())) == (1, 2)
        events = client.subscribe("alerts", from_=kept)
        assert [next(events).payload for _ in range(2)] == [b"c", b"d"]


def test_polling_after_iterating_leaves_nothing_out() -> None:
    with Local().client() as client:
        alerts = client.publisher("alerts")
        events = client.subscribe("alerts", from_="earliest").ready()
        alerts.send_batch([{"payload": each} for each in (b"a", b"b", b"c")])[0].confirmed()
        assert next(events).payload == b"a"
        payloads: list[bytes] = []
        while len(payloads) < 2:
            payloads += events.poll(max_events=1).column("payload").to_pylist()
        assert payloads == [b"b", b"c"]
        assert events.poll(timeout=0.01).num_rows == 0
        alerts.publish(b"d")
        assert events.poll(timeout=5.0).column("seq").to_pylist() == [2]
        assert (events.dropped, events.expired) == (0, 0)


def test_callbacks_come_on_the_clients_thread_and_cannot_wait_there() -> None:
    with Local().client() as client:
        alerts = client.publisher("alerts")
        said: list[str] = []
        done = threading.Event()

        def note(event: Received) -> None:
            try:
                alerts.publish(b"again")
            except ConfigError as error:
                said.append(str(error))
            done.set()

        client.subscribe("alerts", on_event=note).ready()
        alerts.publish(b"a")
        assert done.wait(10.0)
        assert said[0].startswith("a callback cannot wait on the thread that calls it")


def test_errors_come_out_as_they_are() -> None:
    with Local(name="stranger").client() as client:
        alerts = client.publisher("alerts")
        with pytest.raises(NotAllowed):
            alerts.publish(b"a")
        with pytest.raises(ConfigError, match="there is no channel logs"):
            client.publisher("logs")
        with pytest.raises(ConfigError, match="there is no channel logs"):
            client.subscribe("logs")
        assert client.evidence is not None
    with pytest.raises(Closed):
        client.subscribe("alerts")
    client.close()


def test_a_client_that_cannot_connect_leaves_no_thread() -> None:
    before = threading.active_count()

    async def make() -> AsyncClient:
        cluster = LocalCluster()
        cluster.stop("r1")
        cluster.stop("r2")
        return cluster.client(timeout=0.05)

    with pytest.raises(NoQuorum, match="cannot connect"):
        Client.over(make)
    with pytest.raises(ConfigError, match=r"no-such\.qc"):
        Client("no-such.qc")
    assert threading.active_count() == before


def test_leaving_a_client_flushes() -> None:
    with Local().client() as client:
        alerts = client.publisher("alerts", linger_ms=60_000)
        sent = alerts.send(b"a")
        assert not sent.done
    assert sent.done


def test_take_gives_what_iteration_left_and_then_more() -> None:
    with Local().client() as client, client.subscribe("alerts").ready() as events:
        client.publisher("alerts").publish_batch([{"payload": b"%d" % n} for n in range(5)])
        assert next(events).payload == b"0"
        assert not events.lagging
        got = [each.payload for each in events.take(3)]
        while len(got) < 4:
            got += [each.payload for each in events.take(3, timeout=5.0)]
        assert got == [b"1", b"2", b"3", b"4"]
        assert events.take(3, timeout=0.01) == []
