"""What one faulty replica cannot make a client keep or say."""

from __future__ import annotations

from quorumcast.core.limits import ACTIVE_STREAMS, COPIES_BYTES, EVIDENCE_PER_STREAM
from quorumcast.core.limits import REPEAT_MOST_SECONDS as MOST
from quorumcast.core.messages import Bodies, Open, Publish, Release, Status, StatusCode
from quorumcast.sim.checkers import measure
from tests.broadcast.cast import said
from tests.client.bench import ALL, Reader, Writer

MIB = 2**20


def flood(reader: Reader, pages: int, *, more_at_end: bool) -> None:
    """r4 lists streams that nobody else knows, page after page."""
    for page in range(pages):
        heads = [reader.story("q", page * 256 + number).head(1) for number in range(256)]
        reader.lists("r4", *heads, counter=page + 1, more=more_at_end or page < pages - 1)


def test_long_listing_of_one_replica_is_bounded_before_starts_are_known() -> None:
    reader = Reader(start="latest", listed=False)
    reader.link("r1 r4")
    flood(reader, 150, more_at_end=True)
    assert measure(reader.machine) < 8 * MIB


def test_long_listing_of_one_replica_is_bounded_after_it_too() -> None:
    reader = Reader(start="latest", listed=False)
    reader.link("r1 r2 r4")
    flood(reader, 150, more_at_end=False)
    reader.lists("r1 r2")
    assert measure(reader.machine) < 8 * MIB


def test_bodies_of_one_replica_are_bounded_over_all_streams() -> None:
    reader = Reader()
    for nonce in range(100):
        story = reader.story("p", nonce)
        reader.deliver(story, "A")
        for at in range(2):
            body = bytes([nonce, at]) * (MIB // 2)
            reader.say("r4", Bodies(story.stream, 3 + at, (body,)))
    assert measure(reader.machine) < COPIES_BYTES + 4 * MIB
    story = reader.story("p", 0)
    reader.deliver(story, "B", first=2)
    assert reader.read(story) == "AB"


def test_bodies_beyond_the_end_do_not_keep_streams_at_work() -> None:
    reader = Reader()
    for nonce in range(ACTIVE_STREAMS + 50):
        story = reader.story("p", nonce)
        reader.deliver(story, "A")
        reader.say("r4", story.bodies("X", 3))
    assert len(reader.following()) <= ACTIVE_STREAMS


def test_publisher_reports_a_liar_a_few_times() -> None:
    writer = Writer()
    story = writer.begin("AB")
    count = sum(len(writer.say("r4", story.held_up_to("AX")).evidence) for _ in range(100))
    assert count == EVIDENCE_PER_STREAM


def test_resends_back_off() -> None:
    writer = Writer()
    writer.begin("A")
    writer.until(60.0)
    assert 8 <= len(said(writer.until(60.0 + 10 * MOST), Publish, "r1")) <= 12


def test_asking_for_credit_backs_off() -> None:
    writer = Writer()
    writer.greet()
    writer.publish("A")
    writer.until(60.0)
    assert 8 <= len(said(writer.until(60.0 + 10 * MOST), Open, "r1")) <= 12


def test_places_that_are_given_up_are_given_up_for_a_while() -> None:
    writer = Writer()
    writer.greet()
    story = writer.story(writer.publish("A"))
    wait = Status(story.stream, StatusCode.WAIT, 0, "has them")
    writer.say(ALL, wait)
    released: list[float] = []
    opened: list[float] = []
    while writer.now < 60.0:
        ready = writer.until(writer.now + 0.1)
        released += [writer.now] * len(said(ready, Release, "r1"))
        if said(ready, Open, "r1"):
            opened.append(writer.now)
            writer.say(ALL, wait)
    assert len(released) >= 3
    for release in released[:3]:
        assert not [time for time in opened if release < time < release + 0.9]
