"""Schedules that broke earlier versions: rights, votes, incarnations, epochs, evidence."""

from __future__ import annotations

from quorumcast.broker import subscriptions
from quorumcast.broker.replica import Replica
from quorumcast.core.channel import Channel, Retention
from quorumcast.core.evidence import Weight
from quorumcast.core.ids import Cluster
from quorumcast.core.messages import (
    AskBodies,
    AskOpening,
    AskVotes,
    Bodies,
    Heads,
    Held,
    Message,
    Release,
    Subscribe,
)
from quorumcast.core.outcomes import Delivery
from quorumcast.core.records import Accepted
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL


def test_a_client_without_rights_cannot_publish_through_one_lying_replica() -> None:
    """Rule 13: one signature is enough to adopt, but not for the right to publish."""
    channel = Channel(CHANNEL, publishers=("probe-*",), signed=True, alpha=5, within_seconds=0.05)
    stage = Stage(channels=(channel,))
    stage.subscriber("S1")
    story = stage.opens("X")  # certified, but not admitted; every correct replica rejects it
    assert stage.rejections["r1"] != []

    def help_it(_: str, message: Message) -> list[Message]:
        if isinstance(message, AskOpening):
            return [story.opening_of()]
        if isinstance(message, AskVotes):
            return [story.held("EVIL")]
        if isinstance(message, AskBodies):
            return [story.bodies("EVIL")]
        return []

    stage.answers("r4", help_it)
    stage.say("r4", "r1 r2 r3", story.held("EVIL"))
    stage.run(10.0)
    assert [stage.holds(r, story) for r in ("r1", "r2", "r3")] == ["", "", ""]
    assert stage.read("S1") == ""


def test_a_vote_and_its_release_in_one_frame() -> None:
    """Rule 3, one vote per id."""
    stage = Stage(alpha=5, protocol="bracha")
    stage.client("P")
    story = stage.opens("P", at="r4")  # only to make the story
    stage.say("P", "r1", story.open(), *[story.publish("A")] * 1024, Release(story.stream))
    stage.run(0.5)
    assert stage.holds("r1", story) == "A"
    stage.replica("r1").desks[CHANNEL]
    stage.say("P", "r1", story.open(), story.publish("B"))
    stage.run(0.5)  # the guard: r1 votes twice
    assert stage.holds("r1", story) == "A"


def test_sessions_beyond_the_limit_by_open_in_one_frame() -> None:
    """Streams with a vote are known to the shelf, to retention and to the limits."""
    stage = Stage(alpha=5, protocol="bracha")
    stage.client("P")
    for nonce in range(8):
        story = stage.opens("P", nonce=100 + nonce, at="r4")
        stage.say("P", "r1", story.open(), *[story.publish("A")] * 1024, Release(story.stream))
        stage.run(0.1)
    desk = stage.replica("r1").desks[CHANNEL]
    stored = len(stage.stores["r1"].streams)
    assert stored == len(desk.shelf.entries), (stored, len(desk.shelf.entries))
    assert len(desk.admission._counted) <= len(desk.shelf.entries)


def test_an_adopted_vote_and_its_eviction_in_one_frame() -> None:
    """The same through a lying replica on a signed channel, whatever publishers send."""
    stage = Stage(alpha=5, protocol="bracha", signed=True)
    story = stage.opens("P", at="r4")
    others = [stage.opens("P", nonce=50 + i, at="r4") for i in range(4)]
    text = "A"

    def help_it(_: str, message: Message) -> list[Message]:
        if isinstance(message, AskOpening):
            return [story.opening_of()]
        if isinstance(message, AskBodies) and message.stream == story.stream:
            return [story.bodies(text), *[each.held("Z") for each in others]]
        return []

    stage.answers("r4", help_it)
    stage.say("r4", "r1", story.held("A"))
    stage.run(2.0)
    assert stage.holds("r1", story) == "A"
    text = "B"
    stage.say("r4", "r1", story.held("B"))
    stage.run(2.0)
    assert stage.holds("r1", story) == "A"


def test_rotated_incarnation_stays_valid_until_the_retention_age() -> None:
    """Rule 2, 'rotated ones stay valid until the retention age'."""
    stage = Stage(
        alpha=5, within_seconds=0.05, retention=Retention(age_seconds=60.0), protocol="ab"
    )
    stage.subscriber("S1")
    stage.run(100.0)  # incarnations are older than the retention age
    gone = stage.cut("r3")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.run(0.5)  # r4 acknowledges too and withholds: A is acknowledged
    stage.stop("P")
    stage.rotate("r3")
    for rule in gone:
        rule.lift()
    stage.run(20.0)
    assert stage.holds("r3", story) == "A"
    assert stage.read("S1") == "A"


def test_votes_of_an_earlier_epoch() -> None:
    """Rule 21, votes are never counted across epochs."""
    stage = Stage(alpha=5, protocol="bracha")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("A"))
    stage.run(0.2)
    old = stage.cluster
    cluster = Cluster(old.id, 2, ("r1", "r2", "r3", "r5"), 1, old.operator)
    life = stage.stores["r1"].life
    assert life is not None
    machine = Replica("r1", cluster, stage.channels, life)
    machine.at(1000.0)
    machine.start()
    ready = machine.ready()
    sent: list = []
    for _ in range(5):
        for request in ready.reads:
            machine.loaded(request, stage.stores["r1"].read(request))
        ready = machine.ready()
        sent += [m for ms in ready.messages.values() for m in ms]
    for party in ("r2", "r3", "r5", "P"):
        machine.linked(party)
    machine.step("P", story.open())
    machine.step("P", story.publish("B", first=2))
    ready = machine.ready()
    assert not [r for r in ready.records if isinstance(r, Accepted)], (
        "votes in an old epoch's session"
    )


def test_delivered_as_confirmed_means_confirmed() -> None:
    """Delivery.confirmed. 1 has Q votes, not Q+f; 2 has Q+f; nothing is confirmed by anybody."""
    stage = Stage(alpha=50, within_seconds=100.0)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "S1", story.held("A"))
    stage.run(1.0)
    assert stage.read("S1") == "A"
    late = stage.hold("r1 r2 r3", "S1", Bodies)
    stage.say("P", "r1 r2 r3", story.publish("C", first=2))
    stage.say("r4", "S1", story.held("C", first=2))
    stage.run(0.05)
    late.lift()
    stage.run(1.0)
    assert stage.read("S1") == "AC"
    assert [stage.confirmed(r, story) for r in ("r1", "r2", "r3")] == [0, 0, 0]
    flags = [o.confirmed for o in stage.outcomes["S1"] if isinstance(o, Delivery)]
    assert flags == [False, False]


def test_a_liar_cannot_use_up_the_evidence_of_a_stream() -> None:
    """Rule 22. Eight suspicions, and the proof against the publisher is not reported."""
    stage = Stage(alpha=20, signed=True, within_seconds=5.0)
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABCDEFGHIJ"))
    stage.say("r4", "r1", Held(story.stream, 1, story.digests("XXXXXXXXXX"), bytes(640)))
    stage.run(2.0)
    stage.say("P", "r1", story.publish("Z", first=10))  # a signed second content for 10
    stage.run(1.0)
    assert [e for e in stage.evidence["r1"] if e.weight is Weight.PROOF]


def test_plain_floor_below_the_window() -> None:
    """A floor on a crash channel below where the path of votes begins."""
    stage = Stage(n=3, f=1, scripted="r2 r3", protocol="plain", alpha=2)
    story = stage.opens("P")
    text = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcd"
    for first in range(1, 31, 2):
        stage.say("P", "r1", story.publish(text[first - 1 : first + 1], first))
        stage.flush()
    assert stage.holds("r1", story) == text
    # r2 stands at 20 and dropped 1 to 10; of r3 only a listing arrives
    stage.say("r2", "r1", story.floor(text[:10]), story.confirmed(text[:20]))
    stage.say("r3", "r1", Heads(CHANNEL, 5, (story.head(31, 20),), False))
    stage.run(5.0)
    active = stage.replica("r1").desks[CHANNEL].shelf.entries[story.stream].active
    assert active is not None
    assert active.head == 30
    assert active.path.tip == story.position(text)
    stage.say("P", "r1", story.publish("e", 31))
    stage.run(1.0)


def test_following_too_many_streams_does_not_crash_a_replica(monkeypatch) -> None:
    monkeypatch.setattr(subscriptions, "FOLLOWED_STREAMS", 2)
    stage = Stage(alpha=5, protocol="bracha")
    stories = [stage.opens("P", nonce=n + 1) for n in range(3)]
    for story in stories:
        stage.say("P", "r1 r2 r3", story.publish("A"))
        stage.run(0.5)
    stage.client("S")
    stage.say("S", "r1", Subscribe(CHANNEL, 1, ("*",), 10**6, 10))
    for story in stories:
        stage.say("S", "r1", story.follow(1, 10))
    stage.run(0.5)
