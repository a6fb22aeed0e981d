"""The queue between deliveries and a reader: policies, gaps, age, bodies that cannot be read."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.api import Closed, Gap
from quorumcast.api.cursor import Next, Tracker
from quorumcast.api.feed import Feed, Policy
from quorumcast.api.tables import received_table, to_table
from quorumcast.core import outcomes
from quorumcast.core.ids import Lane, Stream
from quorumcast.events import Schema, build_batch, build_event

ONE = Stream("alerts", "probe", b"1" * 32, Lane.NORMAL)
TWO = Stream("alerts", "other", b"2" * 32, Lane.URGENT)


def single(text: str, timestamp: int = 1) -> bytes:
    return build_event(Schema(), text.encode(), timestamp=timestamp)


def batch(text: str, timestamp: int = 1) -> bytes:
    (body,) = build_batch(
        Schema(), [{"payload": each.encode()} for each in text], timestamp=timestamp
    )
    return body


class Bench:
    """A feed, and what it asked of the machine."""

    def __init__(self, skip: dict[Stream, Next] | None = None, **policy: Any) -> None:
        usual = Policy(Schema(), 4, "lag", True, None, None)
        self.asked: list[str] = []
        self.now = 100.0
        self.tracker = Tracker("alerts", skip or {})
        self.feed = Feed(
            usual._replace(**policy),
            self.tracker,
            skip or {},
            lambda: self.asked.append("hold"),
            lambda: self.asked.append("release"),
            lambda: self.now,
        )
        self._next = {ONE: 1, TWO: 1}

    def deliver(self, *bodies: bytes, stream: Stream = ONE, first: int | None = None) -> None:
        at = first or self._next[stream]
        self._next[stream] = at + len(bodies)
        self.feed.deliver(outcomes.Delivery(stream, at, bodies, 3, False))

    def read(self, most: int = 100) -> str:
        return "".join(event.payload.decode() for event in self.feed.take(most))

    def at(self, stream: Stream = ONE) -> Next | None:
        return self.tracker.cursor({}).streams.get(stream)

    def table(self, most: int = 100) -> Any:
        feed = self.feed
        return to_table(feed.policy.schema, feed.parts(most), feed.oldest(), feed.passed)


# -- policies ----------------------------------------------------------------------------------


def test_lag_holds_when_it_is_full_and_goes_on_when_half_was_read() -> None:
    bench = Bench()
    bench.deliver(single("a"), single("b"), single("c"))
    assert bench.asked == []
    bench.deliver(single("d"), single("e"))
    assert (bench.asked, bench.feed.held, bench.feed.events) == (["hold"], True, 5)
    assert bench.read(2) == "ab"
    assert bench.asked == ["hold"]
    assert bench.read(1) == "c"
    assert (bench.asked, bench.feed.held) == (["hold", "release"], False)
    assert (bench.read(), bench.feed.dropped) == ("de", 0)


def test_rows_count_and_not_publications() -> None:
    bench = Bench()
    bench.deliver(batch("abcd"))
    assert bench.asked == ["hold"]
    assert bench.table(2).num_rows == 2
    assert bench.asked == ["hold", "release"]


def test_block_holds_too() -> None:
    bench = Bench(overflow="block")
    bench.deliver(batch("abcd"))
    assert bench.asked == ["hold"]


def test_drop_oldest_drops_what_waits_for_longest_and_moves_the_cursor() -> None:
    bench = Bench(overflow="drop-oldest")
    bench.deliver(batch("abc"), single("d"))
    assert bench.feed.dropped == 0
    bench.deliver(single("e"))
    assert (bench.feed.dropped, bench.at(), bench.asked) == (3, Next(2), [])
    assert bench.read() == "de"


def test_drop_oldest_keeps_the_latest_publication_however_long() -> None:
    bench = Bench(overflow="drop-oldest")
    bench.deliver(single("a"), batch("bcdefghi"))
    assert (bench.feed.dropped, bench.read()) == (1, "bcdefghi")


def test_drop_oldest_counts_only_what_was_not_read() -> None:
    bench = Bench(overflow="drop-oldest")
    bench.deliver(batch("abc"))
    assert bench.read(1) == "a"
    bench.deliver(batch("defg"))
    assert (bench.feed.dropped, bench.read()) == (2, "defg")


def test_drop_newest_ignores_what_comes_while_it_is_full() -> None:
    bench = Bench(overflow="drop-newest")
    bench.deliver(batch("abcd"))
    bench.deliver(batch("ef"), single("g"), b"bad")
    assert (bench.feed.dropped, bench.asked) == (4, [])
    assert bench.read() == "abcd"
    bench.deliver(single("h"))
    assert bench.read() == "h"
    assert bench.at() == Next(6)


# -- bytes -------------------------------------------------------------------------------------

SMALL = len(single("a"))


@pytest.mark.parametrize("overflow", ["lag", "block"])
def test_large_bodies_hold_before_the_number_of_events_does(overflow: str) -> None:
    bench = Bench(overflow=overflow, bytes=2 * SMALL)
    bench.deliver(single("a"))
    assert bench.asked == []
    bench.deliver(single("b"), single("c"))
    assert (bench.asked, bench.feed.bytes) == (["hold"], 3 * SMALL)
    assert bench.read(1) == "a"
    assert bench.asked == ["hold"]
    assert bench.read(1) == "b"
    assert (bench.asked, bench.feed.bytes) == (["hold", "release"], SMALL)
    assert (bench.read(), bench.feed.bytes) == ("c", 0)


def test_a_body_larger_than_the_queue_is_read_all_the_same() -> None:
    bench = Bench(bytes=1)
    bench.deliver(batch("ab"))
    assert (bench.asked, bench.feed.bytes) == (["hold"], len(batch("ab")))
    assert bench.table(1).num_rows == 1
    assert bench.asked == ["hold"]  # its bytes stay until its last event is read
    assert bench.table(1).num_rows == 1
    assert (bench.asked, bench.feed.bytes) == (["hold", "release"], 0)


def test_drop_oldest_makes_room_in_bytes() -> None:
    bench = Bench(overflow="drop-oldest", bytes=2 * SMALL)
    bench.deliver(single("a"), single("b"), single("c"))
    assert (bench.feed.dropped, bench.feed.bytes) == (1, 2 * SMALL)
    bench.deliver(batch("def"))
    assert (bench.feed.dropped, bench.feed.bytes) == (3, len(batch("def")))
    assert bench.read() == "def"
    assert bench.feed.bytes == 0


def test_drop_newest_lets_go_what_has_no_room_in_bytes() -> None:
    bench = Bench(overflow="drop-newest", bytes=2 * SMALL)
    bench.deliver(single("a"), single("b"), single("c"))
    bench.deliver(batch("de"), single("f"))
    assert (bench.feed.dropped, bench.feed.bytes) == (4, 2 * SMALL)
    assert bench.read() == "ab"
    bench.deliver(batch("gh"))
    assert (bench.read(), bench.feed.bytes) == ("gh", 0)


def test_what_a_cursor_leaves_out_is_not_counted() -> None:
    bench = Bench(skip={ONE: Next(1, 1)})
    bench.deliver(single("a"), single("b"))
    assert bench.feed.bytes == SMALL
    assert (bench.read(), bench.feed.bytes) == ("b", 0)


@given(
    st.sampled_from(["lag", "block", "drop-oldest", "drop-newest"]),
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), max_size=12),
    st.integers(1, 20 * SMALL),
)
def test_bytes_are_those_of_what_waits(
    overflow: str, deliveries: list[list[int]], most: int
) -> None:
    bench = Bench(overflow=overflow, bytes=most, events=9)
    for rows in deliveries:
        bench.deliver(*[single("a") if count == 1 else batch("a" * count) for count in rows])
        waiting = bench.feed._queue
        assert bench.feed.bytes == sum(getattr(each, "size", 0) for each in waiting)
        if overflow == "drop-oldest":
            assert bench.feed.bytes <= most or len(waiting) == 1
        bench.read(rows[0])
    bench.read(1000)
    assert (bench.feed.bytes, bench.feed.events, bench.feed.held) == (0, 0, False)


# -- gaps and the end --------------------------------------------------------------------------


def test_a_gap_is_raised_in_its_place_and_reading_goes_on_after_it() -> None:
    bench = Bench()
    bench.deliver(single("a"))
    bench.feed.gap(outcomes.Gap(ONE, 2, 9, ended=False))
    bench.deliver(single("b"), first=10)
    assert bench.read() == "a"
    assert bench.at() == Next(2)
    with pytest.raises(Gap, match="publications 2 to 9 are gone") as caught:
        bench.feed.take(1)
    assert (caught.value.stream, caught.value.first, caught.value.last) == (ONE, 2, 9)
    assert bench.at() == Next(10)
    assert bench.read() == "b"


def test_a_table_ends_before_a_gap_and_the_next_one_raises_it() -> None:
    bench = Bench()
    bench.deliver(single("a"), batch("bc"))
    bench.feed.gap(outcomes.Gap(ONE, 3, 9, ended=True))
    assert bench.table().num_rows == 3
    with pytest.raises(Gap) as caught:
        bench.table()
    assert caught.value.ended
    assert bench.table().num_rows == 0


def test_gaps_can_be_skipped() -> None:
    bench = Bench(fail_on_gap=False)
    bench.feed.gap(outcomes.Gap(ONE, 1, 9, ended=False))
    assert bench.at() == Next(10)
    bench.deliver(single("b"), first=10)
    assert bench.read() == "b"


def test_what_was_gone_before_is_passed_over() -> None:
    bench = Bench()
    bench.feed.gap(outcomes.Gap(ONE, 1, 9, ended=False, before=True))
    assert bench.at() == Next(10)
    bench.deliver(single("b"), first=10)
    assert bench.read() == "b"


def test_what_waits_can_be_read_after_the_end() -> None:
    bench = Bench()
    bench.deliver(single("a"))
    bench.feed.end(Closed("over"))
    bench.deliver(single("b"))
    bench.feed.gap(outcomes.Gap(ONE, 2, 9, ended=False))
    assert bench.read() == "a"
    with pytest.raises(Closed, match="over"):
        bench.feed.take(1)


def test_waiting_ends_with_a_delivery_a_gap_or_the_end() -> None:
    async def scenario() -> None:
        for happens in (
            lambda bench: bench.deliver(single("a")),
            lambda bench: bench.feed.gap(outcomes.Gap(ONE, 1, 2, ended=False)),
            lambda bench: bench.feed.end(Closed("over")),
        ):
            bench = Bench()
            waiters = [asyncio.ensure_future(bench.feed.wait()) for _ in range(2)]
            await asyncio.sleep(0)
            waiters[1].cancel()
            await asyncio.sleep(0)
            assert not waiters[0].done()
            happens(bench)
            await waiters[0]

    asyncio.run(scenario())


# -- age ---------------------------------------------------------------------------------------


def test_events_beyond_their_ttl_are_not_handed_over() -> None:
    bench = Bench(ttl_seconds=10.0)
    stale, fresh = 89_000_000, 91_000_000
    bench.deliver(batch("ab", stale), single("c", stale), single("d", fresh))
    assert bench.read() == "d"
    assert (bench.feed.expired, bench.feed.events, bench.at()) == (3, 0, Next(4))
    bench.deliver(single("e", fresh))
    bench.now += 1.5  # it is judged when it is read, not when it comes
    assert bench.read() == ""
    assert bench.feed.expired == 4


@pytest.mark.parametrize("over", ["gap", "end"])
def test_what_was_read_before_a_gap_or_the_end_is_handed_over_first(over: str) -> None:
    bench = Bench(ttl_seconds=10.0)
    stale, fresh = 89_000_000, 91_000_000
    bench.deliver(single("a", fresh), single("b", stale))
    if over == "gap":
        bench.feed.gap(outcomes.Gap(ONE, 3, 9, ended=False))
    else:
        bench.feed.end(Closed("over"))
    assert [each.payload for each in bench.feed.take(10)] == [b"a"]
    with pytest.raises(Gap if over == "gap" else Closed):
        bench.feed.take(10)


def test_tables_have_no_events_beyond_their_ttl() -> None:
    bench = Bench(ttl_seconds=10.0)
    stale, fresh = 89_000_000, 91_000_000
    bench.deliver(batch("ab", stale), b"bad", single("d", fresh))
    table = bench.table()
    assert table.column("payload").to_pylist() == [b"bad", b"d"]
    assert bench.feed.expired == 2


def test_a_start_in_time_passes_over_earlier_events_and_calls_them_not_expired() -> None:
    bench = Bench(since=50)
    bench.deliver(single("a", 49), single("b", 50), batch("cd", 10), single("e", 60))
    assert bench.read() == "be"
    assert bench.feed.expired == 0


# -- cursors -----------------------------------------------------------------------------------


def test_a_cursor_within_a_batch_goes_on_with_its_row() -> None:
    bench = Bench({ONE: Next(3, 2)})
    bench.deliver(batch("abcd"), single("e"), first=3)
    bench.deliver(single("x"), stream=TWO)
    assert bench.feed.events == 4
    assert bench.read(1) == "c"
    assert bench.at() == Next(3, 3)
    assert bench.read() == "dex"
    assert (bench.at(), bench.at(TWO)) == (Next(5), Next(2))


def test_a_cursor_whose_publication_is_gone_skips_no_row_of_another() -> None:
    bench = Bench({ONE: Next(3, 2)})
    bench.feed.gap(outcomes.Gap(ONE, 3, 3, ended=False))
    bench.deliver(batch("abc"), first=4)
    with pytest.raises(Gap):
        bench.read()
    assert bench.read() == "abc"


def test_the_cursor_stands_behind_what_was_read_row_by_row() -> None:
    bench = Bench()
    bench.deliver(batch("abc"), single("d"))
    assert bench.at() is None
    assert bench.table(2).num_rows == 2
    assert bench.at() == Next(1, 2)
    assert bench.table(1).num_rows == 1
    assert bench.at() == Next(2)


# -- bodies ------------------------------------------------------------------------------------


def test_a_body_that_cannot_be_read_is_delivered_with_the_reason() -> None:
    bench = Bench()
    bench.deliver(single("a"), b"\xff nonsense", single("b"))
    first, bad, last = bench.feed.take(10)
    assert (first.payload, last.payload) == (b"a", b"b")
    assert (bad.payload, bad.error) == (b"\xff nonsense", "form 255 is unknown")
    assert (bad.id.seq, bad.row, bad.rows, bad.votes) == (2, 0, 1, 3)


def test_a_table_says_of_each_row_where_it_is_from() -> None:
    bench = Bench(events=100)
    bench.deliver(single("a", 5), single("b", 6), batch("cd", 7), b"bad")
    bench.deliver(single("x", 8), stream=TWO)
    table = bench.table()
    columns = {name: table.column(name).to_pylist() for name in table.schema.names}
    assert columns["channel"] == ["alerts"] * 6
    assert columns["publisher"] == ["probe"] * 5 + ["other"]
    assert columns["session"] == [ONE.session.hex()] * 5 + [TWO.session.hex()]
    assert columns["lane"] == ["normal"] * 5 + ["urgent"]
    assert columns["seq"] == [1, 2, 3, 3, 4, 1]
    assert columns["row"] == [0, 0, 0, 1, 0, 0]
    assert columns["payload"] == [b"a", b"b", b"c", b"d", b"bad", b"x"]
    assert table.column("timestamp").cast("int64").to_pylist() == [5, 6, 7, 7, None, 8]
    assert columns["urgent"] == [False, False, False, False, None, False]
    assert columns["votes"] == [3] * 6
    assert columns["error"] == [None] * 4 + ["form 98 is unknown", None]


def test_events_that_were_handed_over_make_the_same_table() -> None:
    one, other = Bench(events=100), Bench(events=100)
    for bench in (one, other):
        bench.deliver(single("a", 5), batch("cd", 7), b"bad")
    assert received_table(Schema(), one.feed.take(10)).equals(other.table().combine_chunks())
