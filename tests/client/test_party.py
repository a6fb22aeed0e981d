"""A client that publishes and subscribes under one identity: who gets which message."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from quorumcast.client.party import ClientParty, Reached
from quorumcast.client.reader import Subscribed
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Lane, Opening, Party
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    AskHeads,
    Bodies,
    ConfirmedUpTo,
    Credit,
    Heads,
    Hello,
    Message,
    Open,
    Publish,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
)
from quorumcast.core.outcomes import Acknowledged, Delivery, SubscriptionRefused
from tests.broker.bench import LIVES
from tests.broker.bench import cluster as make_cluster
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL, Story, certificate, identity

ALL = ("r1", "r2", "r3", "r4")


def enter(stage: Stage, name: Party = "C", **subscription: Any) -> ClientParty:
    """A client comes on stage; with keywords, it subscribes."""
    party = ClientParty(
        name,
        stage.cluster,
        stage.channels,
        certificate(stage.cluster, name),
        count(500).__next__,
        identity(name).sign,
    )
    party.at(stage.now)
    if subscription:
        party.subscribe(CHANNEL, **subscription)
    stage._enter(name, party)
    return party


def told(stage: Stage, kind: type, name: Party = "C") -> list[Any]:
    return [each for each in stage.outcomes.get(name, []) if isinstance(each, kind)]


def read(stage: Stage, name: Party = "C", publisher: Party | None = None) -> str:
    return "".join(
        body.decode()
        for each in told(stage, Delivery, name)
        if publisher in (None, each.stream.publisher)
        for body in each.bodies
    )


def alone(*channels: Channel) -> ClientParty:
    """A client without anybody around it."""
    chosen = channels or (Channel(CHANNEL, publishers=("*",)),)
    return ClientParty("C", make_cluster(), chosen, b"", count(1).__next__, None)


def turn(party: ClientParty, *inputs: tuple[Party, Message]) -> Ready:
    for sender, message in inputs:
        party.step(sender, message)
    return party.ready()


# -- both halves on one link -------------------------------------------------------------------


def test_a_client_publishes_and_reads_what_it_and_others_publish() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest")
    stage.publisher("P")
    stage.publish("C", "abc")
    stage.publish("P", "xyz")
    stage.run(2.0)
    assert read(stage, publisher="C") == "abc"
    assert read(stage, publisher="P") == "xyz"
    acknowledged = told(stage, Acknowledged)
    assert [each.last for each in acknowledged if not each.confirmed] == [3]
    assert acknowledged[-1].confirmed
    assert stage.rejections["C"] == []
    assert stage.evidence["C"] == []


def test_confirmations_of_an_own_stream_serve_both_halves() -> None:
    """On bracha a subscriber delivers on confirmations, and a publisher waits for them too."""
    stage = Stage(scripted="", protocol="bracha")
    enter(stage, start="earliest")
    stage.publish("C", "abc")
    stage.run(1.0)
    assert read(stage) == "abc"
    assert told(stage, Acknowledged)[-1].confirmed


def test_a_confirmation_of_an_own_stream_is_heard_by_the_subscriber() -> None:
    """It alone makes the difference here: nobody is READY, and votes do not count on bracha."""
    party = alone(Channel(CHANNEL, protocol="bracha", publishers=("*",)))
    party.subscribe(CHANNEL, start="earliest")
    for name in ALL:
        party.linked(name)
    turn(party, *[(name, Heads(CHANNEL, 0, (), False)) for name in ALL])
    story = Story(make_cluster(), Opening("C", 1, LIVES))
    turn(party, ("r1", story.bodies("ab")), ("r2", story.bodies("ab")))
    assert turn(party, ("r1", story.confirmed("ab"))).deliveries == []
    (delivery,) = turn(party, ("r2", story.confirmed("ab"))).deliveries
    assert delivery.bodies == (b"a", b"b")


def test_confirmations_of_an_own_stream_that_is_not_read_are_no_reason_to_reject() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest", patterns=("P",))
    stage.publisher("P")
    stage.publish("C", "abc")
    stage.publish("P", "x")
    stage.run(2.0)
    assert read(stage) == "x"
    assert told(stage, Acknowledged)[-1].confirmed
    assert stage.rejections["C"] == []


def test_what_both_halves_say_to_a_replica_is_one_list() -> None:
    party = alone()
    party.subscribe(CHANNEL)
    party.publish(CHANNEL, b"a")
    party.linked("r1")
    assert [type(each) for each in party.ready().messages["r1"]] == [AskHeads]
    greetings = [(name, Hello(LIVES[index], LIVES)) for index, name in enumerate(ALL[:3])]
    ready = turn(party, *greetings, ("r1", Heads(CHANNEL, 0, (), False)))
    assert [type(each) for each in ready.messages["r1"]] == [Open]
    more = [(name, Heads(CHANNEL, 0, (), False)) for name in ("r2", "r3")]
    for name in ("r2", "r3"):
        party.linked(name)
    ready = turn(party, *more)
    kinds = [type(each) for each in ready.messages["r2"]]
    assert kinds == [Open, AskHeads, Subscribe]


def test_the_timer_is_the_earlier_one() -> None:
    party = alone()
    party.at(10.0)
    assert party.ready().timer is None
    party.subscribe(CHANNEL)
    party.linked("r1")
    listing = party.ready().timer
    assert listing is not None
    assert listing > 10.0
    party.at(listing)
    party.tick()
    assert [type(each) for each in party.ready().messages["r1"]] == [AskHeads]

    party.at(20.0)
    party.unsubscribe(CHANNEL)
    assert party.ready().timer is None
    party.publish(CHANNEL, b"a")
    for index, name in enumerate(ALL[:3]):
        party.linked(name)
        party.step(name, Hello(LIVES[index], LIVES))
    publishing = party.ready().timer
    assert publishing is not None
    assert publishing > 20.0


def test_strangers_and_messages_for_others_are_rejected() -> None:
    party = alone()
    stream = Stage(scripted="r1 r2 r3 r4").opens("P").stream
    ready = turn(
        party,
        ("mallory", Heads(CHANNEL, 0, (), False)),
        ("r1", Publish(stream, 1, (b"a",))),
        ("r2", Subscribe(CHANNEL, 1, ("*",), 0, 10)),
    )
    assert [(each.sender, each.reason) for each in ready.rejections] == [
        ("mallory", "not a replica"),
        ("r1", "Publish is not for a client"),
        ("r2", "Subscribe is not for a client"),
    ]
    assert party.ready().rejections == []


# -- what a user is told -----------------------------------------------------------------------


def test_reach_is_told_when_replicas_greet_and_when_links_break() -> None:
    party = alone()
    party.linked("r1")
    assert party.ready().acknowledgements == []
    assert turn(party, ("r1", Hello(LIVES[0], LIVES))).acknowledgements == [
        Reached(frozenset({"r1"}))
    ]
    assert turn(party, ("r1", Hello(LIVES[0], LIVES))).acknowledgements == []
    party.unlinked("r1")
    assert party.ready().acknowledgements == [Reached(frozenset())]
    party.linked("r1")
    assert party.ready().acknowledgements == []


def test_a_subscription_is_in_force_once_all_but_f_replicas_accepted_it() -> None:
    party = alone()
    party.subscribe(CHANNEL)
    for name in ALL:
        party.linked(name)
    turn(party, *[(name, Heads(CHANNEL, 0, (), False)) for name in ALL])
    assert party.starts(CHANNEL) == {}
    accepted = SubscribeStatus(CHANNEL, 1, accepted=True)
    assert turn(party, ("r1", accepted), ("r2", accepted)).deliveries == []
    assert turn(party, ("r2", accepted)).deliveries == []
    assert turn(party, ("r4", accepted)).deliveries == [Subscribed(CHANNEL)]
    assert turn(party, ("r3", accepted)).deliveries == []


def test_who_may_not_read_a_channel_is_told_so_though_nobody_lists_it() -> None:
    stage = Stage(scripted="", subscribers=("S",))
    enter(stage, start="latest")
    stage.run(1.0)
    reason = f"C may not subscribe to {CHANNEL}"
    assert told(stage, SubscriptionRefused) == [SubscriptionRefused(CHANNEL, reason)]
    assert not told(stage, Subscribed)


def test_a_knock_at_a_slow_replica_harms_no_subscription() -> None:
    stage = Stage(scripted="")
    stage.publisher("P")
    stage.publish("P", "ab")
    stage.run(1.0)
    late = stage.hold("*", "C", Heads)
    enter(stage, start="latest")
    stage.run(2.0)
    assert stage.said("C", "r1", Subscribe), "it knocked"
    late.lift()
    stage.publish("P", "cd")
    stage.run(2.0)
    assert read(stage) == "cd"
    assert told(stage, Subscribed) == [Subscribed(CHANNEL)]
    assert not told(stage, SubscriptionRefused)


def test_starts_are_unknown_until_latest_is_decided() -> None:
    stage = Stage(scripted="")
    stage.publisher("P")
    stage.publish("P", "abc")
    stage.run(1.0)
    party = alone()
    assert party.starts(CHANNEL) is None
    party.subscribe(CHANNEL)
    assert party.starts(CHANNEL) is None
    party = enter(stage, start="latest")
    stage.run(1.0)
    assert party.starts(CHANNEL) == {stage.story("P").stream: 4}


def test_obstacles_are_what_replicas_last_said() -> None:
    party = alone()
    story = Stage(scripted="r1 r2 r3 r4").opens("C")
    elsewhere = story.stream._replace(channel="made-up")
    foreign = story.stream._replace(publisher="P")
    turn(
        party,
        ("r1", Status(story.stream, StatusCode.WAIT, 0, "news takes 1 publishers")),
        ("r2", Status(story.stream, StatusCode.WAIT, 0, "news takes 1 publishers")),
        ("r3", Status(elsewhere, StatusCode.WAIT, 0, "no")),
        ("r4", Status(foreign, StatusCode.WAIT, 0, "no")),
    )
    assert party.obstacles(CHANNEL) == dict.fromkeys(("r1", "r2"), "news takes 1 publishers")
    assert party.obstacles("made-up") == {}
    turn(party, ("r1", Status(story.stream, StatusCode.OK, 0)))
    party.unlinked("r2")
    assert party.obstacles(CHANNEL) == {}


def test_an_obstacle_is_over_when_more_may_be_sent_than_it_let_through() -> None:
    party = alone()
    stage = Stage(scripted="r1 r2 r3 r4")
    stream = stage.opens("C").stream
    urgent = stage.opens("C", 2, lane=Lane.URGENT).stream
    turn(party, ("r1", Status(stream, StatusCode.WAIT, 4, "wait")), ("r1", Credit(stream, 4)))
    turn(party, ("r1", Credit(urgent, 20)), ("r1", Status(urgent, StatusCode.OK, 0)))
    assert party.obstacles(CHANNEL) == {"r1": "wait"}
    turn(party, ("r1", Credit(stream, 5)))
    assert party.obstacles(CHANNEL) == {}


def test_channels_can_be_learnt_while_it_runs() -> None:
    party = alone()
    with pytest.raises(ConfigError, match="there is no channel alerts; there are: news"):
        party.publish("alerts", b"a")
    with pytest.raises(ConfigError, match="there is no channel alerts; there are: news"):
        party.subscribe("alerts")
    party.learn([Channel("alerts", publishers=("*",))])
    assert party.publish("alerts", b"a").number == 1
    party.subscribe("alerts")
    assert party.obstacles("alerts") == {}


# -- falling behind ----------------------------------------------------------------------------


def sent(stage: Stage, kind: type[Message], to: Party) -> list[Any]:
    return [
        each
        for _, _, receiver, each in stage.transcript
        if receiver == to and isinstance(each, kind)
    ]


def test_a_held_channel_delivers_nothing_and_replicas_pause() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest")
    stage.publisher("P")
    stage.publish("P", "ab")
    stage.run(1.0)
    assert read(stage) == "ab"

    stage._do("C", lambda machine: machine.hold(CHANNEL))
    stage.flush()
    before = len(sent(stage, Bodies, "C"))
    stage.publish("P", "cdef")
    stage.run(5.0)
    assert read(stage) == "ab"
    assert len(sent(stage, Bodies, "C")) == before

    stage._do("C", lambda machine: machine.release(CHANNEL))
    stage.run(0.05)  # before anybody would lose patience and pull
    assert read(stage) == "abcdef"


def test_what_was_on_its_way_to_a_held_channel_is_delivered_once() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest")
    stage.publisher("P")
    stage.publish("P", "ab")
    stage.run(1.0)
    stage.publish("P", "cd")
    stage._do("C", lambda machine: machine.hold(CHANNEL))  # before they arrive
    stage.flush()
    stage.publisher("Q")  # a stream that begins meanwhile
    stage.publish("Q", "xyz")
    stage.run(3.0)
    assert read(stage) == "ab"
    stage._do("C", lambda machine: machine.release(CHANNEL))
    stage.publish("P", "ef")
    stage.run(3.0)
    assert read(stage, publisher="P") == "abcdef"
    assert read(stage, publisher="Q") == "xyz"


def test_a_hold_ends_with_its_subscription() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest")
    stage.publisher("P")
    stage.publish("P", "ab")
    stage.run(1.0)
    stage._do("C", lambda machine: machine.hold(CHANNEL))
    stage._do("C", lambda machine: machine.unsubscribe(CHANNEL))
    stage.publish("P", "cd")
    stage.run(1.0)
    stage.guard.reset("C")
    stage._do("C", lambda machine: machine.subscribe(CHANNEL, ("*",), "earliest"))
    stage.run(1.0)
    assert read(stage) == "ab" + "abcd"


def test_own_publications_go_on_while_reading_is_held() -> None:
    stage = Stage(scripted="")
    enter(stage, start="earliest")
    stage._do("C", lambda machine: machine.hold(CHANNEL))
    stage.publish("C", "abc")
    stage.run(2.0)
    assert told(stage, Acknowledged)[-1].confirmed
    assert read(stage) == ""
    assert sent(stage, ConfirmedUpTo, "C")
