"""Schedules in which earlier versions never delivered: long absences, listings, floors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorumcast.broker.replica import Replica
from quorumcast.client.publisher import Publisher
from quorumcast.client.subscriber import Subscriber
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Cluster, Incarnation, Lane, Position, Stream
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskHeads,
    AskVotes,
    Head,
    Heads,
    Message,
)
from quorumcast.core.records import Incarnated, ReadRange, SessionState
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL, Story, opening

CLUSTER = Cluster(b"c" * 32, 1, ("r1", "r2", "r3", "r4"), 1, b"o" * 32)


@pytest.mark.parametrize("away", [120.0, 400.0])
def test_a_replica_that_was_away_for_minutes_gets_what_was_acknowledged(away: float) -> None:
    """Rule 13. r3 has 1, misses 2 and is away; r4 acknowledged 2 and withholds it."""
    stage = Stage(alpha=5, within_seconds=0.05)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(1.0)
    assert [stage.confirmed(r, story) for r in ("r1", "r2", "r3")] == [1, 1, 1]
    stage.stop("r3")
    stage.say("P", "r1 r2", story.publish("B", first=2))
    stage.say("r4", "r1 r2", story.held("X", first=2))  # a lie that does not fit
    stage.run(1.0)
    stage.stop("P")
    stage.run(away)
    stage.start("r3")
    stage.run(120.0)
    assert stage.holds("r3", story) == "AB"
    assert stage.read("S1") == "AB"


@pytest.mark.parametrize("how", ["down", "wiped"])
def test_a_replica_gets_every_session_that_it_missed(how: str) -> None:
    """Rules 2, 13, 18. p had ten short sessions while r3 was away."""
    stage = Stage(scripted="", alpha=5, within_seconds=0.05)
    if how == "down":
        stage.stop("r3")
    stories = []
    for nonce in range(10):
        story = stage.opens("P", nonce=nonce + 1, at="r1 r2 r4" if how == "down" else "*")
        stage.say("P", "r1 r2 r3 r4", story.publish("A"))
        stage.run(1.0)
        stories.append(story)
    assert all(stage.confirmed("r1", each) == 1 for each in stories)
    stage.stop("P")
    for name in ("r1", "r2", "r4"):  # a rolling restart: settled streams are at rest now
        stage.restart(name)
        stage.run(5.0)
    if how == "down":
        stage.start("r3")
    else:
        stage.wipe("r3")
    stage.run(300.0)
    assert [stage.confirmed("r3", each) for each in stories] == [1] * 10


def test_one_replica_cannot_fill_a_channel_with_publishers() -> None:
    """Rules 15, 19: a place is taken by who opens, not by who is spoken of."""
    stage = Stage(alpha=5, max_publishers=2, within_seconds=0.05)
    for name in ("X1", "X2"):
        named = opening(name, 1, [stage.life(r) for r in stage.cluster.replicas])
        story = Story(stage.cluster, named)
        stage.say("r4", "r1 r2 r3", story.held("A"))
    stage.run(1.0)
    stage.publisher("p")
    stage.publish("p", "ABC")
    stage.run(60.0)
    assert stage.acknowledged("p") == 3


def _streams(count: int) -> list[Stream]:
    return [Stream(CHANNEL, "p", i.to_bytes(32, "big"), Lane.NORMAL) for i in range(count)]


def test_a_listing_that_comes_replica_by_replica_loses_no_stream() -> None:
    """Rules 15, 16. r1 lists all its streams, then r2, then r3: nobody lies."""
    subscriber = Subscriber("S", CLUSTER, [Channel(CHANNEL)])
    subscriber.at(0.0)
    subscriber.subscribe(CHANNEL, start="earliest")
    for replica in CLUSTER.replicas:
        subscriber.linked(replica)
    subscriber.ready()
    streams = _streams(1024)
    for replica in ("r1", "r2", "r3"):
        for page in range(4):
            part = streams[page * 256 : page * 256 + 256]
            heads = tuple(Head(stream, 0, 1, 1) for stream in part)
            subscriber.step(replica, Heads(CHANNEL, page * 256 + 256, heads, page < 3))
            subscriber.ready()
    followed = subscriber._subscriptions[CHANNEL].followers
    lost = [s for s in streams if s not in followed or not followed[s].believed]
    assert len(lost) == 0


def test_a_listing_is_not_complete_while_there_is_more() -> None:
    """Rule 16. A page of nothing but superseded changes ends the listing of a subscriber."""

    life = Incarnated(((Incarnation(1, 7), 0.0),), ())
    replica = Replica("r1", CLUSTER, [Channel(CHANNEL, publishers=("*",))], life)
    shelf = replica.desks[CHANNEL].shelf
    hot = _streams(1025)[-1]
    for stream in _streams(1025):
        entry = shelf.add(stream)
        entry.stored = True
        entry.head = 1
        shelf._bump(entry)
    for _ in range(1030):  # one busy publisher
        shelf.entries[hot].head += 1
        shelf._bump(shelf.entries[hot])

    subscriber = Subscriber("S", CLUSTER, [Channel(CHANNEL)])
    subscriber.at(0.0)
    subscriber.subscribe(CHANNEL, start="latest")
    for name in CLUSTER.replicas:
        subscriber.linked(name)
    subscriber.ready()
    subscription = subscriber._subscriptions[CHANNEL]
    for name in CLUSTER.replicas:
        for _ in range(20):
            desk = subscription.desks[name]
            if desk.complete:
                break
            counter, heads, more = shelf.heads(desk.since)
            subscriber.step(name, Heads(CHANNEL, counter, tuple(heads), more))
        subscriber.ready()
    assert subscription.fixed
    assert subscription.starts.get(hot, 1) == shelf.entries[hot].head + 1


def test_a_journal_with_two_unfinished_sessions() -> None:
    """Rule 1, 'first finishes the old session'."""
    stage = Stage(scripted="", alpha=5, within_seconds=0.05)
    lives = [stage.life(r) for r in stage.cluster.replicas]
    one = Story(stage.cluster, opening("p", 1, lives))
    two = Story(stage.cluster, opening("p", 2, lives))
    zero = one.position("")
    machine = Publisher(
        "p", stage.cluster, stage.channels, b"", iter(range(99)).__next__, None, journal=True
    )
    machine.at(stage.now)
    machine.resume(
        [
            SessionState(one.stream, one.opening, Position(0, zero.chain), (b"A", b"B")),
            SessionState(two.stream, two.opening, two.position(""), (b"C",)),
        ]
    )
    stage.subscriber("S1")
    stage._enter("p", machine)
    stage.run(120.0)
    assert stage.read("S1", two) == "C"
    assert stage.read("S1", one) == "AB"


TEXT = "ABCDEFGH"


def confirmed_replica(story: Story, floor: int) -> Callable[[str, Message], list[Message]]:
    """One that confirmed all of TEXT and dropped what lies up to its floor."""

    def reply(_: str, message: Message) -> list[Message]:
        match message:
            case AskHeads():
                return [Heads(CHANNEL, 9, (story.head(8, 8, floor),), False)]
            case AskVotes():
                gone: list[Message] = [story.floor(TEXT[:floor])] if floor else []
                return [*gone, story.confirmed(TEXT)]
            case AskConfirmed() if message.position >= floor:
                return [story.confirmed(TEXT[: message.position])]
            case AskConfirmed():
                return [story.floor(TEXT[:floor])]
            case AskBodies():
                first = max(message.first, floor + 1)
                return [story.bodies(TEXT[first - 1 :], first)]
            case AskDigests():
                return [story.digests_under(TEXT[message.first - 1 : message.last], message.first)]
            case _:
                return []

    return reply


def closed_replica(story: Story) -> Callable[[str, Message], list[Message]]:
    """One whose bodies went by age before they were confirmed, or that says so."""

    def reply(_: str, message: Message) -> list[Message]:
        match message:
            case AskHeads():
                return [Heads(CHANNEL, 9, (story.head(5, 0, 5),), False)]
            case AskVotes():
                return [story.open_floor(5), story.held("ABCDE")]
            case _:
                return []

    return reply


def test_an_open_floor_of_a_liar_does_not_end_a_stream_that_goes_on() -> None:
    """Rule 18: r1 and r2 confirmed 8, r1 dropped 5; r3 aged out at 5, and r4 says so too."""
    stage = Stage(scripted="r1 r2 r3 r4", alpha=5, within_seconds=0.05)
    story = stage.opens("P")
    stage.answers("r1", confirmed_replica(story, 5))
    stage.answers("r2", confirmed_replica(story, 0))
    stage.answers("r3", closed_replica(story))
    stage.answers("r4", closed_replica(story))
    slow = stage.drop("S1", "r2")
    stage.subscriber("S1")
    stage.run(5.0)
    slow.lift()
    stage.run(30.0)
    assert not any(gap.ended for gap in stage.gaps("S1"))
    assert stage.read("S1").endswith("FGH")


def test_a_replica_behind_a_long_one_way_partition_catches_up() -> None:
    """Rule 13, 'replicas repair each other all the time'. Links stay up, messages are lost."""
    stage = Stage(alpha=5, within_seconds=0.05)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(1.0)
    deaf = stage.drop("r3", "r1 r2")  # what r3 says is lost; it hears
    stage.say("P", "r1 r2", story.publish("B", first=2))
    stage.run(1.0)
    stage.stop("P")
    stage.run(900.0)
    {r: stage.replica(r).desks["news"].shelf.entries[story.stream] for r in ("r1", "r2", "r3")}
    deaf.lift()
    stage.run(600.0)
    assert stage.holds("r3", story) == "AB"
    assert stage.read("S1") == "AB"


def test_nobody_repeats_and_nobody_asks() -> None:
    """All messages between replicas are lost for ten minutes, links stay up."""
    stage = Stage(alpha=5, within_seconds=0.05)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(1.0)
    lost = stage.drop("r1 r2 r3", "r1 r2 r3")
    stage.say("P", "r1 r2", story.publish("B", first=2))
    stage.run(1.0)
    stage.stop("P")
    stage.run(600.0)
    lost.lift()
    stage.run(600.0)
    assert stage.holds("r3", story) == "AB"
    assert stage.read("S1") == "AB"


def test_a_read_that_finds_nothing_gives_its_place_back() -> None:
    """Four ranges of streams that went meanwhile, and a party is never served again."""
    stage = Stage(alpha=5, protocol="bracha")
    stories = []
    for nonce in range(5):
        story = stage.opens("P", nonce=nonce + 1)
        stories.append(story)
        stage.say("P", "r1 r2 r3", story.publish("A"))
        stage.run(0.5)
    machine = stage.replica("r1")
    machine.ready()
    for story in stories[:4]:
        machine.step("r2", story.ask_bodies("A"))
        reads = machine.ready().reads
        assert reads
        for request in reads:
            assert isinstance(request, ReadRange)
            machine.loaded(request, None)  # the store: unknown stream
    machine.step("r2", stories[4].ask_bodies("A"))
    assert machine.ready().reads != []


def test_a_replica_that_missed_many_windows_catches_up_without_waiting_in_between() -> None:
    """Sixty windows of 2α: each needs three questions and answers, and no patience."""
    stage = Stage(scripted="", alpha=5, within_seconds=0.05)
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(2.0)
    stage.stop("r3")
    for _ in range(60):
        stage.publish("p", "ABCDEFGHIJ")
        stage.run(0.3)
    story = stage.story("p")
    assert stage.confirmed("r1", story) == 601
    stage.start("r3")
    stage.run(2.0)
    assert stage.confirmed("r3", story) == 601


def test_words_that_peers_say_one_by_one_add_up_in_a_stream_that_was_given_up() -> None:
    """r1 lacks two words of CONFIRMED, which come with minutes between them."""
    stage = Stage(scripted="r2 r3 r4", alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.flush()
    stage.stop("P")
    stage.run(400.0)
    stage.say("r2", "r1", story.confirmed("A"))
    stage.run(3.0)
    assert stage.confirmed("r1", story) == 0
    stage.say("r3", "r1", story.confirmed("A"))
    stage.run(0.5)
    assert stage.confirmed("r1", story) == 1
