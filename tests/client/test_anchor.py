"""Where a follower's chain begins: a start in the middle, a gap, the end of a stream."""

from __future__ import annotations

import pytest

from quorumcast.core.limits import SUBSCRIBER_WINDOW
from quorumcast.core.messages import AskConfirmed, AskDigests, Follow
from quorumcast.core.outcomes import Gap
from tests.broadcast.cast import said
from tests.client.bench import ALL, Reader
from tests.scenarios.story import Story

TEXT = "ABCDEFGHIJ"


def middle(first: int, **settings: object) -> tuple[Reader, Story]:
    """A subscriber that goes on at a position of a stream of which ten are confirmed."""
    story = Reader().story()
    reader = Reader(start={story.stream: first}, **settings)
    reader.lists(ALL, story.head(10, confirmed=10), counter=1)
    return reader, story


def gaps(reader: Reader) -> list[tuple[int, int, bool]]:
    """First, last, and whether the stream ended there."""
    return [(each.first, each.last, each.ended) for each in reader.told(Gap)]


# -- a start in the middle ---------------------------------------------------------------------


def test_base_below_the_start_is_asked_for_and_taken_on_f_plus_1_words() -> None:
    reader, story = middle(5)
    ready = reader.until(0.5)
    assert said(ready, AskConfirmed, "r1")[0] == story.ask_confirmed(4)
    assert not said(reader.say("r1", story.confirmed(TEXT[:4])), Follow)
    ready = reader.say("r2", story.confirmed(TEXT[:4]))
    assert said(ready, Follow, "r3") == [story.follow(5, 4 + SUBSCRIBER_WINDOW)]
    reader.say("r1 r2", story.bodies(TEXT[4:], first=5), story.confirmed(TEXT))
    assert reader.read() == TEXT[4:]


def test_one_replicas_word_is_no_base() -> None:
    reader, story = middle(5)
    reader.say("r4", story.confirmed("XXXX"))
    reader.say("r1", story.confirmed(TEXT[:4]))
    assert not said(reader.until(5.0), Follow)
    reader.say("r3", story.confirmed(TEXT[:4]))
    reader.say("r1 r2", story.bodies(TEXT[4:], first=5), story.confirmed(TEXT))
    assert reader.read() == TEXT[4:]


def test_nothing_before_the_start_is_delivered() -> None:
    story = Reader().story()
    reader = Reader(start={story.stream: 5})
    reader.lists(ALL, story.head(10, confirmed=2), counter=1)
    assert said(reader.until(0.5), AskConfirmed, "r1")[0] == story.ask_confirmed(2)
    ready = reader.say("r1 r2", story.confirmed("AB"))
    assert said(ready, Follow, "r1") == [story.follow(3, 4 + SUBSCRIBER_WINDOW)]
    reader.say("r1 r2 r3", story.held(TEXT[2:], first=3), story.bodies(TEXT[2:], first=3))
    assert reader.read() == TEXT[4:]


def test_word_is_linked_by_digests_to_one_for_which_f_plus_1_speak() -> None:
    reader, story = middle(5)
    reader.say("r1 r2", story.confirmed(TEXT))
    reader.say("r1", story.confirmed(TEXT[:4]))
    ready = reader.until(1.0)
    assert said(ready, AskDigests, "r1")[0] == story.ask_digests(5, 10)
    reader.say("r1", story.digests_under("XXXXXX", first=5))
    assert not said(reader.until(2.0), Follow)
    ready = reader.say("r1", story.digests_under(TEXT[4:], first=5))
    assert said(ready, Follow, "r2")


def test_votes_do_not_count_before_there_is_a_base() -> None:
    reader, story = middle(5)
    reader.say("r1 r2 r3", story.held(TEXT[4:], first=5), story.bodies(TEXT[4:], first=5))
    assert reader.read() == ""


# -- gaps --------------------------------------------------------------------------------------


def test_gap_needs_n_minus_f_floors() -> None:
    reader, story = Reader(), Reader().story()
    reader.say("r1 r4", story.floor(TEXT[:6]))
    reader.until(5.0)
    assert gaps(reader) == []
    reader.say("r2", story.floor(TEXT[:6]))
    assert gaps(reader) == [(1, 6, False)]
    reader.say("r1 r2 r3", story.held("GH", first=7), story.bodies("GH", first=7))
    assert reader.read() == "GH"


def test_reading_goes_on_at_the_n_minus_fth_highest_floor() -> None:
    reader, story = Reader(), Reader().story()
    for replica, length in (("r1", 3), ("r2", 3), ("r3", 5), ("r4", 5)):
        reader.say(replica, story.floor(TEXT[:length]))
    assert gaps(reader) == [(1, 3, False)]
    reader.say("r1 r2", story.bodies("DEFG", first=4), story.confirmed(TEXT[:7]))
    assert reader.read() == "DEFG"


def test_lying_floor_makes_no_gap_in_what_others_hold() -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "AB")
    reader.say("r4", story.floor(TEXT))
    reader.deliver(story, "CD", first=3)
    assert reader.read() == "ABCD"
    assert gaps(reader) == []


def test_floor_at_or_below_what_was_delivered_is_no_gap() -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "ABCD")
    reader.say(ALL, story.floor("ABCD"))
    assert gaps(reader) == []
    reader.deliver(story, "E", first=5)
    assert reader.read() == "ABCDE"


def test_gap_in_the_middle_keeps_what_was_delivered() -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "AB")
    reader.say("r1 r2 r3", story.floor(TEXT[:6]))
    assert gaps(reader) == [(3, 6, False)]
    reader.deliver(story, "GH", first=7)
    assert reader.read() == "ABGH"


def test_chain_at_a_gap_is_that_of_f_plus_1_not_of_a_liar() -> None:
    reader, story = Reader(), Reader().story()
    reader.say("r4", story.floor("XXXXXX"))
    reader.say("r1 r2", story.floor(TEXT[:6]))
    reader.say("r1 r2", story.bodies("GH", first=7), story.confirmed(TEXT[:8]))
    assert gaps(reader) == [(1, 6, False)]
    assert reader.read() == "GH"


@pytest.mark.parametrize("open_floors", [1, 2])
def test_a_few_open_floors_end_nothing(open_floors: int) -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "AB")
    names = ALL.split()
    for replica in names[:open_floors]:
        reader.say(replica, story.open_floor(6))
    reader.until(20.0)
    assert gaps(reader) == []


def test_stream_that_everybody_closed_has_ended() -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "AB")
    reader.say(ALL, story.open_floor(6))
    assert gaps(reader) == [(3, 6, True)]
    ready = reader.until(60.0)
    assert not said(ready, Follow)
    reader.say("r1 r2 r3", story.held(TEXT[2:]), story.bodies(TEXT[2:]))
    assert reader.read() == "AB"


def test_open_floors_where_confirmation_is_known_are_a_gap_and_no_end() -> None:
    reader, story = Reader(), Reader().story()
    reader.deliver(story, "AB")
    reader.say("r1 r2", story.floor(TEXT[:6]))
    reader.say("r3", story.open_floor(6))
    assert gaps(reader) == [(3, 6, False)]


def test_crash_channel_needs_no_chain_at_a_gap() -> None:
    reader = Reader(3, 1, protocol="plain")
    story = reader.story()
    reader.say("r1 r2", story.open_floor(4))
    assert gaps(reader) == [(1, 4, False)]
    reader.say("r1 r2", story.held("EF", first=5), story.bodies("EF", first=5))
    assert reader.read() == "EF"


# -- what was gone before ------------------------------------------------------------------------


def test_from_the_earliest_what_was_gone_before_is_no_loss() -> None:
    reader = Reader(listed=False)
    reader.link(ALL)
    story = reader.story()
    reader.lists(ALL, story.head(5, confirmed=3, floor=3), counter=1)
    reader.say(ALL, story.floor("ABC"), story.confirmed("ABC"))
    reader.deliver(story, "DE", first=4)
    (gap,) = reader.told(Gap)
    assert (gap.first, gap.last, gap.before) == (1, 3, True)
    assert reader.read() == "DE"


def test_what_goes_after_the_subscription_began_is_a_loss() -> None:
    reader = Reader(listed=False)
    reader.link(ALL)
    story = reader.story()
    reader.lists(ALL, story.head(5, confirmed=3, floor=2), counter=1)
    reader.say(ALL, story.floor("ABC"), story.confirmed("ABC"))
    (gap,) = reader.told(Gap)
    assert (gap.first, gap.last, gap.before) == (1, 3, False)


def test_floors_of_later_listings_do_not_count() -> None:
    reader = Reader()  # all replicas listed nothing
    story = reader.story()
    reader.lists(ALL, story.head(5, confirmed=3, floor=3), counter=1)
    reader.say(ALL, story.floor("ABC"), story.confirmed("ABC"))
    assert [gap.before for gap in reader.told(Gap)] == [False]


def test_floors_of_two_replicas_say_nothing_of_what_was_gone() -> None:
    reader = Reader(listed=False)
    reader.link(ALL)
    story = reader.story()
    reader.lists("r3 r4", story.head(5, confirmed=3, floor=3), counter=1)
    reader.lists("r1 r2", story.head(5, confirmed=3), counter=1)
    reader.say("r2 r3 r4", story.floor("ABC"), story.confirmed("ABC"))
    assert [gap.before for gap in reader.told(Gap)] == [False]
