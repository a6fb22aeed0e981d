"""The disk: what records make of a stream, what reads give back, what a crash leaves."""

from __future__ import annotations

import pytest

from quorumcast.auth.digests import Digester, chains_after, session_of
from quorumcast.core.ids import Incarnation, Lane, Opening, Position, Stream
from quorumcast.core.records import (
    Accepted,
    Closed,
    Confirmed,
    Floored,
    Forgotten,
    Incarnated,
    Installed,
    MadeReady,
    Opened,
    Range,
    ReadRange,
    ReadStream,
    ReadStreams,
    StreamState,
    Tainted,
)
from quorumcast.sim.disk import Disk, new_life

CLUSTER = b"c" * 32
OPENING = Opening("p1", 7, (Incarnation(1, 1),) * 4)
STREAM = Stream("alerts", "p1", session_of(CLUSTER, 1, OPENING), Lane.NORMAL)
OTHER = Stream("alerts", "p1", session_of(CLUSTER, 1, OPENING), Lane.URGENT)
DIGESTER = Digester(CLUSTER, STREAM)
ORIGIN = DIGESTER.origin


def bodies(first: int, last: int, mark: str = "a") -> tuple[bytes, ...]:
    return tuple(f"{mark}{position}".encode() for position in range(first, last + 1))


def accepted(first: int, last: int, mark: str = "a") -> Accepted:
    run = bodies(first, last, mark)
    return Accepted(STREAM, first, DIGESTER.digests(first, run), run, b"")


def installed(first: int, last: int, mark: str) -> Installed:
    run = bodies(first, last, mark)
    return Installed(STREAM, first, DIGESTER.digests(first, run), run, b"")


def chains(*marks: str) -> list[bytes]:
    """c at every position, when position k holds the body that the k-th mark names."""
    digests = [DIGESTER.digest(k, f"{mark}{k}".encode()) for k, mark in enumerate(marks, 1)]
    return [ORIGIN, *chains_after(ORIGIN, b"".join(digests))]


@pytest.fixture
def disk() -> Disk:
    disk = Disk(CLUSTER)
    disk.commit([Opened(STREAM, OPENING, b"cert")])
    return disk


def state(disk: Disk, stream: Stream = STREAM) -> StreamState:
    loaded = disk.read(ReadStream(stream))
    assert isinstance(loaded, StreamState)
    return loaded


def slots(disk: Disk, first: int, last: int, max_bytes: int = 10**6) -> Range:
    loaded = disk.read(ReadRange(STREAM, first, last, max_bytes))
    assert isinstance(loaded, Range)
    return loaded


def test_an_opened_stream_is_empty_at_its_origin(disk: Disk) -> None:
    assert state(disk) == StreamState(
        stream=STREAM,
        opening=OPENING,
        certificate=b"cert",
        floor=Position(0, ORIGIN),
        floor_confirmed=True,
        confirmed=Position(0, ORIGIN),
        votes=b"",
        head=0,
        ready=Position(0, ORIGIN),
        ready_first=1,
        ready_digests=b"",
        tainted=False,
        closed=False,
        signatures=b"",
    )


def test_a_stream_nobody_recorded_is_none(disk: Disk) -> None:
    assert disk.read(ReadStream(OTHER)) is None
    assert disk.read(ReadRange(OTHER, 1, 5, 100)) is None


def test_votes_are_the_digests_above_the_confirmed_position(disk: Disk) -> None:
    disk.commit([accepted(1, 3), accepted(4, 5)])
    disk.commit([Confirmed(STREAM, 2, chains("a", "a")[2])])
    found = state(disk)
    assert (found.head, found.confirmed.seq) == (5, 2)
    assert found.votes == DIGESTER.digests(3, bodies(3, 5))


def test_installed_content_takes_its_slot_and_later_votes_stay(disk: Disk) -> None:
    disk.commit([accepted(1, 4)])
    disk.commit([installed(2, 3, "b"), Confirmed(STREAM, 3, chains("a", "b", "b")[3])])
    found = slots(disk, 1, 4)
    assert found.bodies == (b"a1", b"b2", b"b3", b"a4")
    assert state(disk).votes == DIGESTER.digest(4, b"a4")


def test_the_chain_before_a_range_is_over_what_stands_in_the_slots_now(disk: Disk) -> None:
    disk.commit([accepted(1, 4)])
    assert slots(disk, 4, 4).chain_before == chains("a", "a", "a")[3]
    disk.commit([installed(2, 2, "b")])
    assert slots(disk, 2, 4).chain_before == chains("a")[1]
    assert slots(disk, 4, 4).chain_before == chains("a", "b", "a")[3]
    disk.commit([installed(1, 1, "c")])
    assert slots(disk, 4, 4).chain_before == chains("c", "b", "a")[3]


def test_a_range_ends_where_the_bytes_do_but_has_at_least_one_slot(disk: Disk) -> None:
    disk.commit([accepted(1, 9)])
    assert len(slots(disk, 1, 9, max_bytes=1).bodies) == 1
    assert len(slots(disk, 1, 9, max_bytes=6).bodies) == 3
    assert len(slots(disk, 3, 100).bodies) == 7


def test_a_range_beyond_the_head_is_empty_and_begins_after_it(disk: Disk) -> None:
    disk.commit([accepted(1, 2)])
    assert slots(disk, 8, 9) == Range(3, chains("a", "a")[2], b"", (), b"")


def test_a_confirmed_floor_takes_digests_too_and_keeps_the_chain(disk: Disk) -> None:
    disk.commit([accepted(1, 6), Confirmed(STREAM, 5, chains(*"aaaaa")[5])])
    disk.commit([Floored(STREAM, 3, chains(*"aaa")[3], confirmed=True)])
    found = state(disk)
    assert (found.floor, found.floor_confirmed) == (Position(3, chains(*"aaa")[3]), True)
    assert (found.confirmed.seq, found.head) == (5, 6)
    below = slots(disk, 1, 6)
    assert (below.first, below.bodies) == (4, bodies(4, 6))
    assert below.chain_before == chains(*"aaa")[3]
    assert slots(disk, 6, 6).chain_before == chains(*"aaaaa")[5]


def test_a_confirmed_floor_above_everything_is_where_the_stream_goes_on(disk: Disk) -> None:
    disk.commit([accepted(1, 2), Floored(STREAM, 9, b"x" * 32, confirmed=True)])
    found = state(disk)
    assert (found.confirmed, found.head, found.votes) == (Position(9, b"x" * 32), 9, b"")
    disk.commit([accepted(10, 11)])
    assert state(disk).head == 11
    assert slots(disk, 1, 11).chain_before == b"x" * 32


def test_under_an_unconfirmed_floor_the_bodies_go_and_the_votes_stay(disk: Disk) -> None:
    disk.commit([accepted(1, 4)])
    disk.commit([Floored(STREAM, 3, bytes(32), confirmed=False), Closed(STREAM)])
    found = state(disk)
    assert (found.floor.seq, found.floor_confirmed, found.closed) == (3, False, True)
    assert found.votes == DIGESTER.digests(1, bodies(1, 4))
    kept = slots(disk, 1, 4)
    assert kept.bodies == (None, None, None, b"a4")
    assert kept.chain_before == ORIGIN
    assert slots(disk, 4, 4).chain_before == chains(*"aaa")[3]


def test_a_floor_never_goes_down(disk: Disk) -> None:
    disk.commit([accepted(1, 6), Floored(STREAM, 4, chains(*"aaaa")[4], confirmed=True)])
    disk.commit([Floored(STREAM, 2, chains(*"aa")[2], confirmed=True)])
    assert state(disk).floor.seq == 4
    disk.commit([accepted(1, 2, "z")])  # late records below it change nothing
    assert slots(disk, 1, 6).first == 5


def test_ready_is_handed_back_with_its_digests(disk: Disk) -> None:
    run = DIGESTER.digests(1, bodies(1, 3, "b"))
    disk.commit([accepted(1, 2), MadeReady(STREAM, 3, chains(*"bbb")[3], 1, run)])
    found = state(disk)
    assert (found.ready, found.ready_first) == (Position(3, chains(*"bbb")[3]), 1)
    assert found.ready_digests == run
    assert found.votes == DIGESTER.digests(1, bodies(1, 2))


def test_signatures_follow_the_votes(disk: Disk) -> None:
    run = bodies(1, 2)
    signed = b"1" * 64 + b"2" * 64
    disk.commit([Accepted(STREAM, 1, DIGESTER.digests(1, run), run, signed)])
    disk.commit([Confirmed(STREAM, 1, chains("a")[1])])
    assert state(disk).signatures == b"2" * 64
    assert slots(disk, 1, 2).signatures == signed


def test_marks_stay(disk: Disk) -> None:
    disk.commit([Tainted(STREAM)])
    assert state(disk).tainted
    assert not state(disk).closed


def test_streams_come_in_the_order_of_their_first_record_without_votes(disk: Disk) -> None:
    disk.commit([accepted(1, 3), Opened(OTHER, OPENING, b"cert")])
    disk.commit([MadeReady(STREAM, 1, chains("a")[1], 1, DIGESTER.digest(1, b"a1"))])
    page = disk.read(ReadStreams(0, 10))
    assert isinstance(page, list)
    assert [each.stream for each in page] == [STREAM, OTHER]
    assert (page[0].votes, page[0].ready_digests, page[0].head) == (b"", b"", 3)
    rest = disk.read(ReadStreams(1, 10))
    assert isinstance(rest, list)
    assert [each.stream for each in rest] == [OTHER]
    assert disk.read(ReadStreams(2, 10)) == []


def test_a_forgotten_stream_is_unknown_and_can_be_opened_anew(disk: Disk) -> None:
    disk.commit([accepted(1, 3), Forgotten(STREAM)])
    assert disk.read(ReadStream(STREAM)) is None
    disk.commit([Opened(STREAM, OPENING, b"new")])
    assert (state(disk).head, state(disk).certificate) == (0, b"new")


def test_what_was_synced_survives_a_crash(disk: Disk) -> None:
    disk.commit([accepted(1, 3)])
    assert not disk.crash(lose_tail=True)
    assert state(disk).head == 3


def test_a_crash_of_the_machine_loses_the_unsynced_tail_and_nothing_else() -> None:
    disk = Disk(CLUSTER, sync_every=3)
    disk.commit([Opened(STREAM, OPENING, b"cert")])
    disk.commit([accepted(1, 2)])
    disk.commit([accepted(3, 3)])  # synced with this one
    disk.commit([installed(2, 2, "b"), Tainted(STREAM)])
    assert (disk.unsynced, slots(disk, 2, 2).bodies) == (1, (b"b2",))
    assert disk.crash(lose_tail=True)
    assert slots(disk, 1, 5).bodies == bodies(1, 3)
    assert not state(disk).tainted
    disk.commit([accepted(4, 4)])  # the disk works on, and can lose again
    assert disk.crash(lose_tail=True)
    assert state(disk).head == 3


def test_a_crash_of_the_process_alone_loses_nothing() -> None:
    disk = Disk(CLUSTER, sync_every=10)
    disk.commit([Opened(STREAM, OPENING, b"cert"), accepted(1, 2)])
    assert not disk.crash(lose_tail=False)
    assert state(disk).head == 2


def test_a_wiped_disk_knows_nothing() -> None:
    disk = Disk(CLUSTER)
    disk.commit([Incarnated(((Incarnation(1, 1), 0.0),), ()), Opened(STREAM, OPENING, b"cert")])
    disk.wipe()
    assert disk.life is None
    assert disk.read(ReadStreams(0, 10)) == []


def test_a_new_life_keeps_what_was_seen_of_the_others() -> None:
    seen = (Incarnation(1, 1), Incarnation(2, 2))
    life = new_life(1, 2, Incarnation(9, 9), 3.0, seen)
    assert life.valid == ((Incarnation(9, 9), 3.0),)
    assert life.seen == (Incarnation(1, 1), Incarnation(9, 9))
