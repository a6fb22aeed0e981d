"""Bodies stay within their channel's bytes: confirmed ones go first, votes never do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quorumcast.core.ids import Stream
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import (
    Accepted,
    Confirmed,
    Floored,
    Forgotten,
    Opened,
    ReadRange,
    Record,
)
from quorumcast.sim.store import Store
from quorumcast.store import Journal
from quorumcast.store.runs import BODY_OVERHEAD_BYTES
from tests.store.making import CLUSTER, OPENING, accepted, again, fresh, slots, state, stream_of

BODY = 900
COST = BODY + BODY_OVERHEAD_BYTES
ROOM = 20 * COST
FIRST, SECOND = stream_of(1), stream_of(2)
OTHER_CHANNEL = stream_of(1, "metrics")
CHAIN = b"c" * 32


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = fresh(tmp_path / "journal", window_bytes=ROOM)
    for stream in (FIRST, SECOND, OTHER_CHANNEL):
        journal.commit([Opened(stream, OPENING, b"")])
    yield journal
    journal.close()


def votes(stream: Stream, first: int, count: int = 1) -> Accepted:
    digests = b"".join([bytes([first + index]) * D for index in range(count)])
    return Accepted(stream, first, digests, (bytes(BODY),) * count, b"")


def kept(journal: Journal, stream: Stream) -> list[int]:
    """The positions whose bodies are here."""
    found = slots(journal, 1, 99, stream)
    return [found.first + index for index, body in enumerate(found.bodies) if body is not None]


def test_what_was_confirmed_first_goes_first_whatever_its_stream(journal: Journal) -> None:
    for position in range(1, 11):
        for stream in (FIRST, SECOND):
            journal.commit([votes(stream, position), Confirmed(stream, position, CHAIN)])
    assert kept(journal, FIRST) == kept(journal, SECOND) == list(range(1, 11))
    assert journal.used_bytes("alerts") == ROOM
    journal.commit([votes(FIRST, 11), votes(FIRST, 12), votes(FIRST, 13)])
    assert kept(journal, FIRST) == list(range(3, 14))  # 1 of each stream, then 2 of the first
    assert kept(journal, SECOND) == list(range(2, 11))
    assert journal.used_bytes("alerts") == ROOM


def test_digests_and_votes_of_bodies_that_went_are_answered(journal: Journal) -> None:
    for position in range(1, 41):
        journal.commit([votes(FIRST, position), Confirmed(FIRST, position, CHAIN)])
    found = slots(journal, 1, 40, FIRST)
    assert found.digests == votes(FIRST, 1, 40).digests
    assert found.bodies == (None,) * 20 + (bytes(BODY),) * 20
    assert state(journal, FIRST).head == 40


def test_unconfirmed_bodies_outlast_confirmed_ones(journal: Journal) -> None:
    journal.commit([votes(SECOND, 1, 5)])
    for position in range(1, 31):
        journal.commit([votes(FIRST, position), Confirmed(FIRST, position, CHAIN)])
    assert kept(journal, SECOND) == [1, 2, 3, 4, 5]
    assert kept(journal, FIRST) == list(range(16, 31))


def test_unconfirmed_bodies_alone_go_by_stream_and_their_votes_stay(
    journal: Journal, tmp_path: Path
) -> None:
    journal.commit([votes(SECOND, 1, 9)])
    journal.commit([votes(FIRST, 1, 9)])
    journal.commit([votes(FIRST, 10, 9)])
    assert journal.used_bytes("alerts") <= ROOM
    # An eighth of the room is made at once: 9 of the older stream, and 1 of the newer.
    assert (kept(journal, SECOND), kept(journal, FIRST)) == ([], list(range(2, 19)))
    found = state(journal, SECOND)
    assert (found.head, found.pledged) == (0, votes(SECOND, 1, 9).digests)
    with pytest.raises(AssertionError, match="second vote"):
        journal.commit([Accepted(SECOND, 3, b"?" * D, (b"",), b"")])
    journal.close()
    reopened = again(tmp_path / "journal")
    assert state(reopened, SECOND).pledged == votes(SECOND, 1, 9).digests
    reopened.close()


def test_channels_do_not_take_each_others_room(journal: Journal) -> None:
    journal.commit([votes(OTHER_CHANNEL, 1, 5), Confirmed(OTHER_CHANNEL, 5, CHAIN)])
    for position in range(1, 41):
        journal.commit([votes(FIRST, position), Confirmed(FIRST, position, CHAIN)])
    assert kept(journal, OTHER_CHANNEL) == [1, 2, 3, 4, 5]
    assert journal.used_bytes("metrics") == 5 * COST


def test_floors_and_forgotten_streams_give_their_room_back(journal: Journal) -> None:
    journal.commit([votes(FIRST, 1, 10), votes(SECOND, 1, 4), Confirmed(FIRST, 8, CHAIN)])
    assert journal.used_bytes("alerts") == 14 * COST
    journal.commit([Floored(FIRST, 6, CHAIN, confirmed=True)])
    assert journal.used_bytes("alerts") == 8 * COST
    journal.commit([Floored(SECOND, 3, bytes(32), confirmed=False)])
    assert journal.used_bytes("alerts") == 5 * COST
    journal.commit([Forgotten(SECOND), Forgotten(FIRST)])
    assert journal.used_bytes("alerts") == 0


def test_many_small_runs_are_joined_when_their_bodies_go(journal: Journal) -> None:
    stream = stream_of(3, "many")
    journal.commit([Opened(stream, OPENING, b"")])
    for position in range(1, 2001):
        run = Accepted(stream, position, b"d" * D, (b"x",), b"s" * 64)
        journal.commit([run, Confirmed(stream, position, CHAIN)])
    found = slots(journal, 1, 2000, stream)
    assert found.digests == b"d" * D * 2000
    assert found.signatures == b"s" * 64 * 2000
    assert journal.used_bytes("many") <= ROOM


def test_the_chain_is_right_wherever_a_read_begins(journal: Journal) -> None:
    """Over positions that were confirmed long ago, floors, and what is not confirmed."""
    stream, model = stream_of(4, "chains"), Store(CLUSTER)
    turns: list[list[Record]] = [[Opened(stream, OPENING, b"")]]
    for first in range(1, 1400, 100):
        turns.append([accepted(first, first + 99, stream=stream)])
        if first == 1001:
            turns.append([accepted(1101, 1101, stream=stream)])
    for records in turns:
        journal.commit(records)
        model.apply(records)
        stored = model.streams[stream]
        if 200 < stored.head <= 1200:
            position = stored.head - 130
            more: list[Record] = [Confirmed(stream, position, stored.chain(position))]
            if stored.head == 900:
                more.append(Floored(stream, 300, stored.chain(300), confirmed=True))
            journal.commit(more)
            model.apply(more)
    for first in (1, 1300, 301, 302, 556, 557, 800, 1071, 1072, 1399, 640, 1400, 2000):
        request = ReadRange(stream, first, first + 3, 0)
        assert journal.read(request) == model.read(request)
