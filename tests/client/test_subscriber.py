"""The subscriber machine: listing, subscribing, changing, candidates, streams at rest."""

from __future__ import annotations

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.limits import (
    ACTIVE_STREAMS,
    CANDIDATE_STREAMS,
    HEADS_MOST_SECONDS,
    PATTERNS,
    SUBSCRIBER_WINDOW,
)
from quorumcast.core.messages import (
    AskHeads,
    Follow,
    Hello,
    Status,
    StatusCode,
    Subscribe,
    SubscribeStatus,
    Unsubscribe,
)
from quorumcast.core.outcomes import SubscriptionRefused
from quorumcast.sim.checkers import measure
from tests.broadcast.cast import said
from tests.broker.bench import LIVES
from tests.client.bench import ALL, Reader
from tests.scenarios.story import CHANNEL

MIB = 2**20


def accepted(version: int = 1) -> SubscribeStatus:
    """A replica's yes."""
    return SubscribeStatus(CHANNEL, version, True)


# -- local calls -------------------------------------------------------------------------------


def test_wrong_calls_are_told_what_is_possible() -> None:
    machine = Reader(listed=False).machine
    with pytest.raises(ConfigError, match=f"no channel weather; there are: {CHANNEL}"):
        machine.subscribe("weather")
    with pytest.raises(ConfigError, match=f"use 1 to {PATTERNS}"):
        machine.subscribe(CHANNEL, ())
    with pytest.raises(ConfigError, match="patterns"):
        machine.subscribe(CHANNEL, ("x",) * (PATTERNS + 1))


def test_only_replicas_are_listened_to() -> None:
    reader = Reader()
    story = reader.story()
    ready = reader.say("mallory", story.held("A"))
    assert [each.reason for each in ready.rejections] == ["not a replica"]
    ready = reader.say("r1", Status(story.stream, StatusCode.OK, 0))
    assert [each.reason for each in ready.rejections] == ["Status is not for a subscriber"]
    assert not reader.say("r1", Hello(LIVES[0], ())).rejections


# -- listing and subscribing -------------------------------------------------------------------


def test_first_it_lists_then_it_subscribes_with_the_counter_of_the_list() -> None:
    reader = Reader(listed=False)
    assert said(reader.link("r1"), AskHeads, "r1") == [AskHeads(CHANNEL, 0)]
    ready = reader.lists("r1", counter=17)
    assert said(ready, Subscribe, "r1") == [Subscribe(CHANNEL, 1, ("*",), 17, SUBSCRIBER_WINDOW)]


def test_pages_are_asked_for_one_after_another() -> None:
    reader = Reader(listed=False)
    reader.link("r1")
    ready = reader.lists("r1", reader.story().head(1), counter=5, more=True)
    assert said(ready, AskHeads, "r1") == [AskHeads(CHANNEL, 5)]
    assert not said(ready, Subscribe)
    assert said(reader.lists("r1", counter=9), Subscribe, "r1")[0].begin == 9


def test_earliest_follows_listed_streams_from_the_first_position() -> None:
    reader = Reader()
    story = reader.story()
    reader.lists("r1 r2", story.head(5), counter=1)
    reader.say(ALL, story.held("AB"), story.bodies("AB"))
    assert reader.read() == "AB"


def test_subscription_is_repeated_until_it_is_answered() -> None:
    reader = Reader()
    reader.say("r1", accepted())
    ready = reader.until(10.0)
    assert not said(ready, Subscribe, "r1")
    assert said(ready, Subscribe, "r2")


def test_heads_are_asked_for_again_and_again_less_often() -> None:
    reader = Reader()
    reader.until(100.0)
    asks = said(reader.until(200.0), AskHeads, "r1")
    assert len(asks) == pytest.approx(100.0 / HEADS_MOST_SECONDS, abs=2)


def test_link_that_is_back_is_listed_and_subscribed_anew() -> None:
    reader = Reader()
    story = reader.story()
    reader.deliver(story, "AB")
    reader.unlink("r1")
    assert said(reader.link("r1"), AskHeads, "r1") == [AskHeads(CHANNEL, 0)]
    ready = reader.lists("r1", counter=3)
    assert [type(each) for each in ready.messages["r1"]] == [Subscribe, Follow]
    assert said(ready, Follow, "r1") == [story.follow(3, SUBSCRIBER_WINDOW)]


def test_what_comes_from_a_replica_without_a_desk_is_ignored() -> None:
    reader = Reader(listed=False)
    story = reader.story()
    reader.say(ALL, story.held("A"), story.bodies("A"))
    assert reader.read() == ""
    assert not reader.following()


# -- where to begin ----------------------------------------------------------------------------


def latest() -> Reader:
    """A subscriber that wants what comes from now on."""
    reader = Reader(start="latest", listed=False)
    reader.link(ALL)
    return reader


def test_latest_waits_for_n_minus_f_lists() -> None:
    reader = latest()
    story = reader.story()
    for replica in ("r1", "r2"):
        assert not said(reader.lists(replica, story.head(5, 5), counter=1), Subscribe)
    ready = reader.lists("r3", story.head(5, 5), counter=1)
    assert sorted(ready.messages) == ["r1", "r2", "r3"]
    assert all(said(ready, Subscribe, replica) for replica in ("r1", "r2", "r3"))


def test_latest_begins_after_the_f_plus_1_highest_head() -> None:
    reader = latest()
    story = reader.story()
    for replica, last in (("r4", 99), ("r1", 5), ("r2", 4)):
        reader.lists(replica, story.head(last, 4), counter=1)
    reader.say("r1 r2", story.confirmed("ABCD"))
    reader.until(0.5)
    reader.say("r1 r2 r3", story.held("EFG", first=5), story.bodies("EFG", first=5))
    assert reader.read() == "FG"


def test_latest_reads_streams_that_come_later_from_their_beginning() -> None:
    reader = latest()
    reader.lists("r1 r2 r3")
    reader.deliver(reader.story("new"), "AB")
    assert reader.read() == "AB"


def test_cursor_goes_on_at_its_next_position_and_others_from_the_first() -> None:
    one, other = Reader().story("one"), Reader().story("other")
    reader = Reader(start={one.stream: 3})
    for story in (one, other):
        reader.lists(ALL, story.head(2, confirmed=2), counter=1)
    reader.say("r1 r2", one.confirmed("AB"))
    reader.deliver(one, "CD", first=3)
    reader.deliver(other, "XY")
    assert (reader.read(one), reader.read(other)) == ("CD", "XY")


# -- changes -----------------------------------------------------------------------------------


def test_only_what_matches_is_delivered() -> None:
    reader = Reader(patterns=("sensor-*",))
    wanted, other = reader.story("sensor-1"), reader.story("probe")
    reader.deliver(wanted, "A")
    ready = reader.say("r4", other.held("B"))
    assert [each.sender for each in ready.rejections] == ["r4"]
    reader.deliver(other, "B")
    assert reader.read() == "A"


def test_change_is_a_higher_version_and_goes_on_where_streams_are() -> None:
    reader = Reader()
    probe, other = reader.story("probe"), reader.story("other")
    reader.deliver(probe, "AB")
    reader.deliver(other, "A")
    assert said(reader.subscribe(("probe",)), AskHeads, "r1")
    ready = reader.lists("r1", probe.head(2), counter=4)
    (subscribe,) = said(ready, Subscribe, "r1")
    assert (subscribe.version, subscribe.patterns) == (2, ("probe",))
    assert said(ready, Follow, "r1") == [probe.follow(3, SUBSCRIBER_WINDOW, version=2)]
    reader.lists("r2 r3 r4", counter=4)
    reader.deliver(probe, "C", first=3)
    reader.deliver(other, "B", first=2)
    assert (reader.read(probe), reader.read(other)) == ("ABC", "A")


def test_change_sends_its_own_patterns_alone() -> None:
    reader = Reader(patterns=("a",))
    reader.subscribe(("b",))
    reader.lists("r2 r3")
    ready = reader.until(10.0)  # r1 and r4 have not listed yet
    assert {each.patterns for each in said(ready, Subscribe)} == {("b",)}


def test_answer_to_an_earlier_version_is_not_taken_for_the_present_one() -> None:
    reader = Reader()
    reader.subscribe(("probe",))
    reader.lists(ALL, counter=1)
    reader.say(ALL, accepted(1))
    assert said(reader.until(10.0), Subscribe, "r1")
    reader.say(ALL, accepted(2))
    assert not said(reader.until(30.0), Subscribe, "r1")


def test_changes_leave_nothing_behind() -> None:
    reader = Reader()
    sizes: list[int] = []
    for turn in range(400):
        reader.subscribe((f"p{turn}",))
        reader.lists(ALL, counter=turn)
        sizes.append(measure(reader.machine) if turn % 100 == 99 else 0)
    assert sizes[399] < 1.5 * sizes[99]


def test_unsubscribe_ends_everything_at_once() -> None:
    reader = Reader()
    story = reader.story()
    reader.say("r1 r2", story.held("A"))
    ready = reader.do(lambda machine: machine.unsubscribe(CHANNEL))
    assert said(ready, Unsubscribe, "r3") == [Unsubscribe(CHANNEL, 1)]
    reader.deliver(story, "A")
    assert reader.read() == ""
    assert not reader.until(120.0).messages


def test_subscription_after_an_end_has_a_higher_version() -> None:
    reader = Reader()
    reader.do(lambda machine: machine.unsubscribe(CHANNEL))
    reader.subscribe()
    assert said(reader.lists("r1"), Subscribe, "r1")[0].version == 2


# -- refusal -----------------------------------------------------------------------------------


def test_refused_when_f_plus_1_refuse_alike() -> None:
    reader = Reader()
    reader.say("r4", SubscribeStatus(CHANNEL, 1, False, "no"))
    reader.say("r3", SubscribeStatus(CHANNEL, 1, False, "full"))
    assert reader.told(SubscriptionRefused) == []
    reader.say("r2", SubscribeStatus(CHANNEL, 1, False, "no"))
    reader.say("r1 r2 r4", SubscribeStatus(CHANNEL, 1, False, "no"))
    assert reader.told(SubscriptionRefused) == [SubscriptionRefused(CHANNEL, "no")]


def test_one_replica_cannot_refuse() -> None:
    reader = Reader()
    for _ in range(5):
        reader.say("r4", SubscribeStatus(CHANNEL, 1, False, "no"))
    reader.deliver(reader.story(), "A")
    assert reader.told(SubscriptionRefused) == []
    assert reader.read() == "A"


# -- candidates --------------------------------------------------------------------------------


def test_streams_of_one_replica_are_candidates_and_bounded() -> None:
    reader = Reader()
    stories = [reader.story("p", nonce) for nonce in range(CANDIDATE_STREAMS + 50)]
    for story in stories:
        reader.say("r4", story.held("X"), story.bodies("X"), story.confirmed("X"))
    assert len(reader.following()) == CANDIDATE_STREAMS
    assert stories[-1].stream in reader.following()
    assert reader.read() == ""


def test_candidate_costs_no_questions() -> None:
    reader = Reader()
    reader.say(ALL, accepted())
    reader.say("r4", reader.story().held("X"))
    kinds = {type(each).__name__ for sent in reader.until(30.0).messages.values() for each in sent}
    assert kinds == {"AskHeads"}


def test_liar_does_not_drive_out_what_others_announce() -> None:
    reader = Reader()
    story = reader.story()
    reader.say("r1 r2", story.held("A"))
    reader.say("r4", story.held("A"))
    for nonce in range(10, 10 + 2 * CANDIDATE_STREAMS):
        reader.say("r4", reader.story("p", nonce).held("X"))
    reader.say("r3", story.held("A"), story.bodies("A"))
    assert reader.read(story) == "A"


def test_candidates_go_with_the_link_of_their_replica() -> None:
    reader = Reader()
    for turn in range(5):
        for nonce in range(CANDIDATE_STREAMS):
            reader.say("r4", reader.story(f"p{turn}", nonce).held("X"))
        reader.link("r4")
        reader.lists("r4")
    assert len(reader.following()) <= CANDIDATE_STREAMS


def test_bodies_of_a_candidate_are_few() -> None:
    reader = Reader()
    story = reader.story()
    for position in range(1, 100):
        message = story.bodies("X", position)
        reader.say("r4", type(message)(story.stream, position, (bytes(10_000),)))
    assert measure(reader.machine) < MIB // 2


# -- rest --------------------------------------------------------------------------------------


@pytest.fixture
def rested() -> Reader:
    """A subscriber that delivered AB of a stream which went to rest since."""
    reader = Reader()
    reader.deliver(reader.story("p", 0), "AB")
    for nonce in range(1, ACTIVE_STREAMS + 2):
        reader.deliver(reader.story("p", nonce), "A")
    assert len(reader.following()) == ACTIVE_STREAMS
    assert reader.story("p", 0).stream not in reader.following()
    return reader


def test_stream_at_rest_goes_on_where_it_was(rested: Reader) -> None:
    story = rested.story("p", 0)
    rested.deliver(story, "C", first=3)
    assert rested.read(story) == "ABC"


def test_listing_of_a_stream_at_rest_without_news_does_not_wake_it(rested: Reader) -> None:
    story = rested.story("p", 0)
    rested.lists(ALL, story.head(2, confirmed=2), counter=5)
    assert story.stream not in rested.following()
    rested.lists(ALL, story.head(3, confirmed=2), counter=6)
    assert story.stream in rested.following()


def test_stream_at_rest_that_a_liar_wakes_and_drives_out_is_not_delivered_twice(
    rested: Reader,
) -> None:
    story = rested.story("p", 0)
    rested.say("r4", story.held("X", first=3))
    for nonce in range(CANDIDATE_STREAMS + 2):
        rested.say("r4", rested.story("q", nonce).held("X"))
    rested.say("r1 r2 r3", story.held("ABC"), story.bodies("ABC"))
    assert rested.read(story) == "ABC"


def test_change_keeps_what_was_delivered_of_streams_at_rest(rested: Reader) -> None:
    story = rested.story("p", 0)
    rested.subscribe(("p*",))
    rested.lists(ALL, counter=9)
    rested.deliver(story, "ABC")
    assert rested.read(story) == "ABC"
