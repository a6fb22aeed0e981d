"""The ledger sees whatever is lost, altered or repeated, and counts nothing twice."""

from __future__ import annotations

from itertools import permutations

import pytest

from quorumcast.api.received import PublicationId, Received
from quorumcast.core.ids import Lane
from quorumcast.lab.ledger import (
    Got,
    Ledger,
    Place,
    Sent,
    event_digest,
    received_digest,
    rows_digest,
)

STEPS = ("sent 1", "sent 2", "got 1", "got 2")


def at(seq: int, row: int = 0) -> Place:
    return Place("alerts", "probe", "00", "normal", seq, row)


def send(ledger: Ledger, place: Place, content: bytes = b"x", events: int = 1) -> None:
    ledger.published(events)
    ledger.acknowledged(place, Sent(content, events, 1.0))


def counts(ledger: Ledger) -> tuple[int, int, int]:
    return ledger.lost, ledger.altered, ledger.repeated


@pytest.mark.parametrize(
    "order", [order for order in permutations(STEPS) if order.index("got 1") < order.index("got 2")]
)
def test_whatever_comes_first_all_is_well(order: tuple[str, ...]) -> None:
    ledger = Ledger()
    ledger.published(2)
    for step in order:
        what, seq = step.split()
        if what == "sent":
            ledger.acknowledged(at(int(seq)), Sent(b"x", 1, 1.0))
        else:
            ledger.delivered(at(int(seq)), Got(b"x", 1, 2.0))
    assert ledger.settled
    assert counts(ledger) == (0, 0, 0)
    assert (ledger.sent, ledger.acked, ledger.got) == (2, 2, 2)


def test_the_time_between_is_told_by_whichever_comes_last() -> None:
    ledger = Ledger()
    ledger.published(2)
    assert ledger.acknowledged(at(1), Sent(b"x", 1, 1.0)) is None
    assert ledger.delivered(at(1), Got(b"x", 1, 1.5)) == 0.5
    assert ledger.delivered(at(2), Got(b"x", 1, 3.0)) is None
    assert ledger.acknowledged(at(2), Sent(b"x", 1, 1.0)) == 2.0


def test_what_is_acknowledged_and_does_not_come_is_lost() -> None:
    ledger = Ledger()
    send(ledger, at(1), events=1000)
    assert ledger.awaits(at(1))
    assert (ledger.settled, ledger.lost) == (False, 1000)


def test_what_is_not_acknowledged_is_neither_lost_nor_altered() -> None:
    ledger = Ledger()
    ledger.published(1)
    assert (ledger.unknown, ledger.settled, counts(ledger)) == (1, False, (0, 0, 0))
    ledger.delivered(at(1), Got(b"x", 1, 2.0))
    assert counts(ledger) == (0, 0, 0), "its outcome is unknown: it may come"


@pytest.mark.parametrize("got", [Got(b"y", 1, 2.0), Got(b"x", 2, 2.0)])
def test_another_content_is_altered(got: Got) -> None:
    ledger = Ledger()
    send(ledger, at(1))
    ledger.delivered(at(1), got)
    assert counts(ledger) == (0, got.events, 0)


def test_what_nobody_sent_is_altered() -> None:
    ledger = Ledger()
    send(ledger, at(1))
    ledger.delivered(at(1), Got(b"x", 1, 2.0))
    ledger.delivered(at(2), Got(b"x", 3, 2.0))
    assert counts(ledger) == (0, 3, 0)


@pytest.mark.parametrize("again", [at(1), at(2), at(1, row=5)])
def test_what_comes_again_or_late_is_repeated(again: Place) -> None:
    ledger = Ledger()
    for seq in (1, 2):
        send(ledger, at(seq))
        ledger.delivered(at(seq), Got(b"x", 1, 2.0))
    ledger.delivered(again, Got(b"x", 1, 2.0))
    assert counts(ledger) == (0, 0, 1)


def test_streams_have_orders_of_their_own() -> None:
    ledger = Ledger()
    for place in (at(7), at(7, row=1), at(1)._replace(lane="urgent"), at(1)._replace(session="1")):
        send(ledger, place)
        ledger.delivered(place, Got(b"x", 1, 2.0))
    assert counts(ledger) == (0, 0, 0)


def test_what_is_settled_is_forgotten() -> None:
    ledger = Ledger()
    for seq in range(1, 1000):
        send(ledger, at(seq))
        ledger.delivered(at(seq), Got(b"x", 1, 2.0))
    kept = [value for value in vars(ledger).values() if isinstance(value, dict)]
    assert sum(len(each) for each in kept) == 1, "one stream's last position"


# -- digests ---------------------------------------------------------------------------------------

EVENT = (b"x", 5, "k", False, {"a": 1.0, "b": "y"})


def digest(*event: object) -> bytes:
    payload, timestamp, key, urgent, attributes = event
    return event_digest(payload, timestamp, key, urgent, attributes.items())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "other",
    [
        (b"y", *EVENT[1:]),
        (b"x", 6, *EVENT[2:]),
        (b"x", 5, None, *EVENT[3:]),
        (*EVENT[:3], True, EVENT[4]),
        (*EVENT[:4], {"a": 1.5, "b": "y"}),
        (*EVENT[:4], {"a": 1.0, "b": None}),
        (*EVENT[:4], {"a": 1.0}),
    ],
)
def test_a_digest_covers_all_of_an_event(other: tuple[object, ...]) -> None:
    assert digest(*EVENT) != digest(*other)


def test_a_delivered_event_has_the_digest_of_the_sent_one() -> None:
    payload, timestamp, key, urgent, attributes = EVENT
    event = Received(
        PublicationId("alerts", "p", bytes(32), Lane.NORMAL, 4),
        0,
        1,
        timestamp,
        key,
        urgent,
        payload,
        dict(reversed(attributes.items())),
        3,
        False,
    )
    assert received_digest(event) == digest(*EVENT)
    assert Place.of(event.id, 0) == Place("alerts", "p", "00" * 32, "normal", 4, 0)


@pytest.mark.parametrize(
    ("payloads", "times"),
    [
        ([b"a", b"b"], [1, 2]),
        ([b"b", b"a"], [1, 1]),
        ([b"ab", b""], [1, 1]),
        ([b"ab"], [1]),
        ([b"a", b"b", b""], [1, 1, 1]),
    ],
)
def test_rows_are_told_apart(payloads: list[bytes], times: list[int]) -> None:
    assert rows_digest(payloads, times) != rows_digest([b"a", b"b"], [1, 1])
