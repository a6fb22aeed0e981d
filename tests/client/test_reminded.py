"""A replica lets a publisher wait, and says what it has of this subscriber: who answers what."""

from __future__ import annotations

from typing import Any

from quorumcast.core.limits import ACTIVE_STREAMS, SUBSCRIBER_WINDOW
from quorumcast.core.machine import Ready
from quorumcast.core.messages import Follow, Subscribe, Unsubscribe
from tests.broadcast.cast import said
from tests.client.bench import ALL, Reader
from tests.scenarios.story import CHANNEL, Story


def remind(reader: Reader, story: Story, through: int, version: int = 1) -> Ready:
    return reader.say("r2", Follow(story.stream, version, through + 1, through))


def test_less_credit_than_was_given_is_given_again_to_who_asks() -> None:
    reader = Reader()
    story = reader.story()
    reader.deliver(story, "AB")
    ready = remind(reader, story, 2)
    assert ready.messages == {"r2": [Follow(story.stream, 1, 3, SUBSCRIBER_WINDOW)]}
    assert not said(remind(reader, story, SUBSCRIBER_WINDOW), Follow)


def test_stream_at_rest_is_answered_too() -> None:
    reader = Reader()
    story = reader.story("p", 0)
    reader.deliver(story, "AB")
    for nonce in range(1, ACTIVE_STREAMS + 2):
        reader.deliver(reader.story("p", nonce), "A")
    assert story.stream not in reader.following()
    (answer,) = said(remind(reader, story, 2), Follow, "r2")
    assert (answer.first, answer.through) == (3, 2 + SUBSCRIBER_WINDOW)
    reader.deliver(story, "C", first=3)
    assert reader.read(story) == "ABC"


def test_subscription_that_is_over_is_ended_again() -> None:
    reader = Reader()
    story = reader.story()
    reader.deliver(story, "AB")
    reader.do(lambda machine: machine.unsubscribe(CHANNEL))
    assert said(remind(reader, story, 2), Unsubscribe, "r2") == [Unsubscribe(CHANNEL, 1)]


def test_other_versions_are_left_to_the_subscription_that_is_repeated() -> None:
    reader = Reader()
    story = reader.story()
    reader.deliver(story, "AB")
    assert not said(remind(reader, story, 2, version=9), Follow)


def test_whether_it_blocks_is_said_with_every_subscription() -> None:
    reader = Reader(listed=False)

    def blocks(machine: Any) -> None:
        machine.subscribe(CHANNEL, ("*",), "earliest", blocks=True)

    reader.do(blocks)
    reader.link(ALL)
    assert {each.blocks for each in said(reader.lists(ALL), Subscribe)} == {True}
    assert {each.blocks for each in said(reader.subscribe(), Subscribe)} == set()
    assert {each.blocks for each in said(reader.lists(ALL), Subscribe)} == {False}
