"""Freeman's figures 3.1 to 3.4, section 5.8 and section 7.3.4, as scenarios.

Plain AB is `confirm=False`: replicas tell each other nothing. Its losses are those of the
figures; with confirmation, which plays the history that Freeman sends by BRB, nothing is lost.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.messages import (
    Bodies,
    ConfirmedUpTo,
    Held,
    HeldUpTo,
    Publish,
    ReadyUpTo,
)
from quorumcast.core.outcomes import Delivery
from tests.scenarios.stage import LATENCY, Stage
from tests.scenarios.story import Story

REPLICAS = ("r1", "r2", "r3", "r4")
ALL = "r1 r2 r3 r4"


# -- figure 3.1: authenticated broadcast ----------------------------------------------------------


@pytest.mark.parametrize("confirm", [False, True])
def test_figure_3_1_three_forwards_deliver_and_the_fourth_is_discarded(confirm: bool) -> None:
    stage = Stage(scripted="", alpha=10, confirm=confirm)
    stage.subscriber("S1")
    slow = [stage.hold(replica, "S1", Held) for replica in REPLICAS[1:]]
    stage.publisher("p")
    stage.publish("p", "A")
    stage.run(0.05)
    assert stage.read("S1") == ""

    slow[0].lift()
    stage.run(0.01)
    assert stage.read("S1") == ""
    slow[1].lift()
    stage.run(0.01)
    assert stage.read("S1") == "A"
    slow[2].lift()
    stage.run(5.0)
    assert stage.read("S1") == "A"


# -- figure 3.2: authenticated broadcast, error scenario ------------------------------------------


def faulty_source_and_replica(stage: Stage) -> Story:
    """The source skips replica 4; replica 1 forwards to destination 1 and not to 2, nor to 4."""
    stage.subscriber("S1")
    stage.subscriber("S2")
    stage.drop("r1", "S2 r4")
    story = stage.opens("P", at="r1 r2 r3")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.flush()
    return story


def test_figure_3_2_plain_ab_reaches_one_destination_and_never_the_other() -> None:
    stage = Stage(scripted="", alpha=10, confirm=False)
    story = faulty_source_and_replica(stage)
    stage.run(60.0)
    assert stage.read("S1") == "A"
    assert stage.read("S2") == ""
    assert stage.holds("r4", story) == ""
    assert stage.said("r2", ALL, Held) == []


def test_figure_3_2_with_confirmation_both_destinations_are_reached() -> None:
    stage = Stage(scripted="", alpha=10)
    story = faulty_source_and_replica(stage)
    assert (stage.read("S1"), stage.read("S2")) == ("A", "")
    stage.run(5.0)
    assert stage.read("S2") == "A"
    assert stage.holds("r4", story) == "A"


# -- figure 3.3: Bracha's reliable broadcast ------------------------------------------------------


def test_figure_3_3_all_echo_all_are_ready_and_the_destination_processes_once() -> None:
    stage = Stage(scripted="", alpha=10, protocol="bracha")
    stage.subscriber("S1")
    stage.drop(ALL, ALL, ConfirmedUpTo)
    certain = stage.hold("r4", "r1 r2 r3", Held)  # Q+f echoes would confirm without any READY
    stage.drop(ALL, "S1", ConfirmedUpTo, Held)
    story = stage.opens("P")
    began = stage.now
    stage.say("P", ALL, story.publish("A"))
    stage.run(2.5 * LATENCY)
    assert stage.read("S1") == ""  # publication and echo arrived, ready is on its way
    stage.run(1.0 * LATENCY)
    assert stage.read("S1") == "A"
    assert certain.hits > 0

    for replica in REPLICAS:
        others = [each for each in REPLICAS if each != replica]
        for other in others:
            assert story.held("A") in stage.said(replica, other, Held, since=began)
            assert story.ready("A") in stage.said(replica, other, ReadyUpTo, since=began)
    stage.run(5.0)
    assert stage.read("S1") == "A"


# -- figure 3.4: Bracha's reliable broadcast, error scenario --------------------------------------


def test_figure_3_4_two_readys_make_the_replica_that_was_left_out_ready() -> None:
    stage = Stage(scripted="", alpha=10, protocol="bracha")
    stage.subscriber("S1")
    stage.drop("r1", "r4 S1")
    stage.drop("r2 r3", "r4", Held, Bodies)  # r4 has two READYs to go by, and nothing else
    stage.drop(ALL, "r4", ConfirmedUpTo)
    story = stage.opens("P", at="r1 r2 r3")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(1.0)

    assert stage.holds("r4", story) == ""
    assert stage.ready("r4", story) == 1
    assert story.ready("A") in stage.said("r4", "r2", ReadyUpTo)
    assert stage.said("r4", "*", ConfirmedUpTo) == []


def test_figure_3_4_the_destination_processes_on_the_readys_of_2_3_and_4() -> None:
    stage = Stage(scripted="", alpha=10, protocol="bracha")
    stage.subscriber("S1")
    stage.drop("r1", "r4 S1")
    stage.drop("r2 r3", "S1", ConfirmedUpTo)
    waits = stage.hold("r4", "S1")
    story = stage.opens("P", at="r1 r2 r3")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.run(3.0)
    assert stage.read("S1") == ""  # replicas 2 and 3 alone are not enough

    waits.lift()
    stage.run(3.0)
    assert stage.read("S1") == "A"
    assert [stage.confirmed(each, story) for each in REPLICAS] == [1, 1, 1, 1]


# -- section 7.3.4: a malicious broker ------------------------------------------------------------


def withhold(stage: Stage) -> None:
    """Replica 1 sends publications to neither replica 2 nor any subscriber."""
    stage.drop("r1", "r2 S1 S2", Held, Bodies, ReadyUpTo, ConfirmedUpTo)


def alter(stage: Stage) -> None:
    """Replica 1 alters the contents of every publication to replica 2 and all subscribers."""
    whom = "r2 S1 S2"

    def other_votes(message: Held) -> Held:
        changed = bytes(byte ^ 1 for byte in message.digests)
        return msgspec.structs.replace(message, digests=changed)

    def other_bodies(message: Bodies) -> Bodies:
        changed = tuple(body + b"!" for body in message.bodies)
        return msgspec.structs.replace(message, bodies=changed)

    def other_chain(message: ReadyUpTo) -> ReadyUpTo:
        return msgspec.structs.replace(message, chain=bytes(32))

    stage.alter("r1", whom, Held, other_votes)
    stage.alter("r1", whom, Bodies, other_bodies)
    stage.alter("r1", whom, ReadyUpTo, other_chain)
    stage.alter("r1", whom, ConfirmedUpTo, other_chain)


MALICE = {"withhold": withhold, "alter": alter}
TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXY"


def malicious_broker(malice: str, **settings: Any) -> Stage:
    """A publisher that ignores replica 4, a malicious replica 1, and two subscribers."""
    stage = Stage(scripted="", **settings)
    stage.subscriber("S1")
    stage.subscriber("S2")
    MALICE[malice](stage)
    stage.publisher("p")
    stage.drop("p", "r4", Publish, Bodies)
    for letter in TEXT:
        stage.publish("p", letter)
        stage.run(0.2)
    return stage


@pytest.mark.parametrize("malice", MALICE)
def test_section_7_3_4_plain_ab_delivers_nothing(malice: str) -> None:
    stage = malicious_broker(malice, alpha=10, confirm=False)
    stage.run(60.0)
    assert stage.acknowledged("p") == len(TEXT)
    assert stage.read("S1") == stage.read("S2") == ""


@pytest.mark.parametrize("alpha", [1, 3, 10])
@pytest.mark.parametrize("malice", MALICE)
def test_section_7_3_4_with_confirmation_every_subscriber_gets_everything(
    malice: str, alpha: int
) -> None:
    stage = malicious_broker(malice, alpha=alpha)
    stage.run(20.0)
    assert stage.read("S1") == stage.read("S2") == TEXT
    assert stage.acknowledged("p", confirmed=True) == len(TEXT)


@pytest.mark.parametrize("malice", MALICE)
def test_section_7_3_4_bracha_delivers_everything(malice: str) -> None:
    stage = malicious_broker(malice, alpha=10, protocol="bracha")
    stage.run(20.0)
    assert stage.read("S1") == stage.read("S2") == TEXT


@pytest.mark.parametrize("malice", MALICE)
def test_section_7_3_4_plain_ab_loses_nothing_when_the_publisher_skips_nobody(
    malice: str,
) -> None:
    stage = Stage(scripted="", alpha=10, confirm=False)
    stage.subscriber("S1")
    MALICE[malice](stage)
    stage.publisher("p")
    stage.publish("p", TEXT)
    stage.run(5.0)
    assert stage.read("S1") == TEXT


# -- section 5.8: α counts per publisher and topic ------------------------------------------------


def topics() -> tuple[Channel, ...]:
    """Two topics whose exchange is due after three publications, and not for a long time."""
    return tuple(
        Channel(name, publishers=("*",), alpha=3, within_seconds=600.0)
        for name in ("news", "alerts")
    )


def exchanged(stage: Stage) -> list[Held]:
    return stage.heard("r4", Held, "r1")


def test_section_5_8_alpha_counts_per_topic() -> None:
    stage = Stage(channels=topics())
    news, alerts = stage.opens("P", 1), stage.opens("P", 2, channel="alerts")
    for seq, letter in enumerate("AB", 1):
        stage.say("P", "r1", news.publish(letter, first=seq), alerts.publish(letter, first=seq))
        stage.run(1.0)
    assert exchanged(stage) == []  # four publications, two of each topic

    stage.say("P", "r1", news.publish("C", first=3))
    stage.run(0.1)
    assert exchanged(stage) == [news.held("ABC")]
    stage.say("P", "r1", alerts.publish("C", first=3))
    stage.run(0.1)
    assert exchanged(stage)[1:] == [alerts.held("ABC")]


def test_section_5_8_alpha_counts_per_publisher() -> None:
    stage = Stage(channels=topics())
    one, two = stage.opens("P"), stage.opens("Q")
    for story, name in ((one, "P"), (two, "Q")):
        stage.say(name, "r1", story.publish("AB"))
        stage.run(1.0)
    assert exchanged(stage) == []
    stage.say("Q", "r1", two.publish("C", first=3))
    stage.run(0.1)
    assert exchanged(stage) == [two.held("ABC")]


def test_section_5_8_confirmation_of_one_topic_waits_for_no_other() -> None:
    stage = Stage(scripted="", channels=topics())
    stage.subscriber("S1")
    stage.publisher("p")
    stage.publish("p", "XY", channel="alerts")
    stage.publish("p", "ABC")
    stage.run(5.0)
    confirmed = {message.stream.channel for message in stage.said("r1", "p", ConfirmedUpTo)}
    assert confirmed == {"news"}
    assert {each.stream.channel for each in stage.said("r1", "p", HeldUpTo)} == {"news", "alerts"}
    only = {each.stream.channel for each in stage.outcomes["S1"] if isinstance(each, Delivery)}
    assert only == {"news"}  # subscribers get the topics that they asked for
