"""Turns: what belongs to one, in which order it is done, and what ends them."""

from __future__ import annotations

import asyncio

import pytest

from quorumcast.core.errors import ConfigError, QuorumcastError
from quorumcast.core.machine import Ready, Rejection
from tests.runtime.kit import LOOPS, Loops, run
from tests.runtime.office import ASK, READ, RECORD, End, Office


@LOOPS
def test_a_turn_is_done_in_order(loops: Loops) -> None:
    async def work() -> None:
        office = Office()
        office.link("r1")
        office.clerk.next = Ready(
            records=[RECORD],
            messages={"r1": [ASK, ASK], "r2": [ASK]},
            reads=[READ],
            deliveries=["d1", "d2"],
            acknowledgements=["a"],
            rejections=[Rejection("r1", "why")],
        )
        await office.diary.until("loaded")
        office.driver.stop()
        assert office.diary.take() == [
            *["at", ("linked", "r1"), "ready", "commit", ("send", "r1", 2)],
            *[("delivery", "d1"), ("delivery", "d2"), ("outcome", "a"), "rejection"],
            *["at", "read", "loaded", "ready"],
        ]

    run(work, loops)


@LOOPS
def test_all_that_arrives_in_one_iteration_is_one_turn(loops: Loops) -> None:
    async def work() -> None:
        office = Office()
        driver = office.driver
        one, other = office.link("r1"), office.link("r2")
        driver.received(one, [ASK, ASK])
        driver.received(other, [ASK])
        assert driver.call(office.clerk.ask, 3) == 4
        await office.diary.until("ready")
        driver.received(one, [ASK])
        await asyncio.sleep(0)
        await office.diary.until("ready")
        assert office.diary.take() == [
            *["at", ("linked", "r1"), ("linked", "r2")],
            *[("step", "r1"), ("step", "r1"), ("step", "r2"), ("ask", 3), "ready"],
            *["at", ("step", "r1"), "ready"],
        ]
        assert office.clerk.times == sorted(office.clerk.times)
        driver.stop()

    run(work, loops)


def test_nothing_leaves_that_is_not_stored(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        office = Office()
        end = office.link("r1")
        office.shelf.full = True
        office.clerk.next = Ready(records=[RECORD], messages={"r1": [ASK]}, deliveries=["d"])
        with pytest.raises(OSError, match="no space left"):
            await office.driver.wait()
        assert office.diary.take() == ["at", ("linked", "r1"), "ready"]
        assert end.closed

    run(work)
    assert "clerk stops: OSError('no space left')" in caplog.text


@pytest.mark.parametrize("where", ["linked", "step", "unlinked", "tick", "loaded", "ready", "at"])
def test_a_machine_that_fails_stops_its_driver(
    where: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        office = Office()
        driver = office.driver
        other = office.link("r2")
        office.clerk.next = Ready(reads=[READ], timer=0.0)
        if where not in ("loaded", "tick"):
            await office.diary.until("ready")
            await office.diary.until("loaded")
            await office.diary.until("tick")
        office.clerk.fails_at = where
        end = office.link("r1")
        driver.received(end, [ASK])
        driver.unlinked(end)
        with pytest.raises(KeyError, match=where):
            await driver.wait()
        assert isinstance(driver.failure, KeyError)
        assert other.closed
        before = len(office.diary.entries)
        driver.received(other, [ASK])
        driver.unlinked(other)
        office.clerk.fails_at = ""
        late = End(office.diary, "r3")
        driver.linked(late)
        assert late.closed
        with pytest.raises(QuorumcastError, match="closed"):
            driver.call(office.clerk.ask, 1)
        await asyncio.sleep(0)
        assert len(office.diary.entries) == before

    run(work)
    assert [(each.levelname, each.name) for each in caplog.records] == [
        ("CRITICAL", "quorumcast.runtime.driver")
    ]
    assert f"clerk stops: KeyError('{where}')" in caplog.text


def test_a_user_s_mistake_is_the_user_s_and_ours_is_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        office = Office()
        driver = office.driver
        with pytest.raises(ConfigError, match="positive"):
            driver.call(office.clerk.ask, -1)
        with pytest.raises(TypeError):
            driver.call(office.clerk.ask, None)
        assert driver.failure is None
        assert driver.call(office.clerk.ask, 1) == 2
        with pytest.raises(AssertionError):
            driver.call(office.clerk.ask, 100)
        assert isinstance(driver.failure, AssertionError)

    run(work)
    assert "clerk stops: AssertionError" in caplog.text


def test_a_newer_link_replaces_an_older_one() -> None:
    async def work() -> None:
        office = Office()
        driver = office.driver
        older, newer = office.link("r1"), office.link("r1")
        assert (older.closed, newer.closed) == (True, False)
        driver.received(older, [ASK])
        driver.unlinked(older)
        driver.received(newer, [ASK])
        await office.diary.until("ready")
        assert office.diary.take() == [
            *["at", ("linked", "r1"), ("linked", "r1"), ("step", "r1"), "ready"]
        ]
        driver.unlinked(newer)
        await office.diary.until("ready")
        assert office.diary.take() == ["at", ("unlinked", "r1"), "ready"]
        assert driver.links == {}
        driver.stop()

    run(work)


def test_reads_are_answered_a_few_a_turn() -> None:
    async def work() -> None:
        office = Office()
        office.link("r1")
        office.clerk.next = Ready(reads=[READ] * 40)
        while office.diary.entries.count("loaded") < 40:
            await office.diary.until("loaded")
            await asyncio.sleep(0)
        counts: list[int] = []
        for each in office.diary.take():
            if each == "at":
                counts.append(0)
            elif each == "loaded":
                counts[-1] += 1
        assert counts == [0, 16, 16, 8]
        office.driver.stop()

    run(work)


@LOOPS
def test_the_timer_rings_when_it_should_and_not_before(loops: Loops) -> None:
    async def work() -> None:
        time = 100.0
        office = Office(lambda: time)
        office.link("r1")
        office.clerk.next = Ready(timer=100.01)
        await office.diary.until("ready")
        office.diary.take()
        # The loop's own time passes, the machine's does not: it is asked again, and no tick.
        loop = asyncio.get_running_loop()
        passed = asyncio.Event()
        loop.call_later(0.03, passed.set)
        await passed.wait()
        assert office.diary.take() == []
        time = 100.02
        await office.diary.until("tick")
        await office.diary.until("ready")
        assert office.diary.take() == ["at", "tick", "ready"]
        assert office.clerk.times == [100.0, 100.02]
        office.driver.stop()

    run(work, loops)


def test_a_later_ready_moves_or_cancels_the_timer() -> None:
    async def work() -> None:
        time = 100.0
        office = Office(lambda: time)
        one = office.link("r1")
        office.clerk.next = Ready(timer=100.001)
        await office.diary.until("ready")
        office.diary.take()
        time = 100.0001
        office.driver.received(one, [ASK])  # due now, within what a loop's timer may be early
        await office.diary.until("ready")
        assert office.diary.take() == ["at", ("step", "r1"), "tick", "ready"]
        time = 100.5  # ready() said None: no tick any more
        office.driver.received(one, [ASK])
        await office.diary.until("ready")
        assert office.diary.take() == ["at", ("step", "r1"), "ready"]
        office.driver.stop()

    run(work)


def test_time_never_goes_back() -> None:
    async def work() -> None:
        time = 100.0
        office = Office(lambda: time)
        one = office.link("r1")
        await office.diary.until("ready")
        time = 99.0
        office.driver.received(one, [ASK])
        await office.diary.until("ready")
        assert office.clerk.times == [100.0, 100.0]
        office.driver.stop()

    run(work)


def test_what_a_user_calls_upon_a_delivery_is_the_next_turn() -> None:
    async def work() -> None:
        office = Office()
        driver = office.driver
        driver.on_delivery = lambda what: driver.call(office.clerk.ask, what)
        office.link("r1")
        office.clerk.next = Ready(messages={"r1": [ASK]}, deliveries=[5])
        await office.diary.until(("ask", 5))
        await asyncio.sleep(0)
        assert office.diary.take() == [
            *["at", ("linked", "r1"), "ready", ("send", "r1", 1)],
            *["at", ("ask", 5), "ready"],
        ]
        driver.stop()

    run(work)


def test_stopping_finishes_the_turn() -> None:
    async def work() -> None:
        office = Office()
        one = office.link("r1")
        office.clerk.next = Ready(records=[RECORD], messages={"r1": [ASK]}, timer=0.0)
        office.driver.stop()
        assert office.diary.take() == [
            *["at", ("linked", "r1"), "ready", "commit", ("send", "r1", 1)]
        ]
        office.driver.received(one, [ASK])
        await office.driver.wait()
        await asyncio.sleep(0)
        assert office.diary.take() == []
        assert not one.closed

    run(work)
