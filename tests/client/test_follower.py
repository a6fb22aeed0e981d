"""One stream at a subscriber: what delivers it, what is missing, what is false."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.core.evidence import Weight
from quorumcast.core.limits import EVIDENCE_PER_STREAM, SUBSCRIBER_WINDOW
from quorumcast.core.machine import Ready
from quorumcast.core.messages import (
    AskBodies,
    AskConfirmed,
    AskDigests,
    AskVotes,
    Bodies,
    Credit,
    Follow,
    Held,
    SubscribeStatus,
)
from quorumcast.core.outcomes import Delivery
from tests.broadcast.cast import said
from tests.client.bench import ALL, Reader
from tests.scenarios.story import CHANNEL, Story


def told(*args: object, **settings: object) -> tuple[Reader, Story]:
    """A subscriber and a stream."""
    reader = Reader(**settings)
    return reader, reader.story(*args)


def asked(ready: Ready, kind: type) -> list[str]:
    """The replicas that a turn asks something."""
    return [replica for replica in ready.messages if said(ready, kind, replica)]


# -- votes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "f", "votes"), [(4, 1, 3), (5, 1, 4), (6, 1, 4), (7, 2, 5), (10, 3, 7)]
)
def test_delivers_on_q_equal_votes_and_not_before(n: int, f: int, votes: int) -> None:
    reader = Reader(n, f)
    story = reader.story()
    names = reader.all.split()
    reader.say(names[0], story.bodies("A"))
    for replica in names[: votes - 1]:
        reader.say(replica, story.held("A"))
    assert reader.read() == ""
    reader.say(names[votes - 1], story.held("A"))
    assert reader.read() == "A"


def test_delivery_says_how_many_vouched_and_whether_it_is_confirmed() -> None:
    reader, story = told()
    reader.deliver(story, "AB")
    reader.say(ALL, story.held("C", first=3), story.bodies("C", first=3))
    reader.say(ALL, story.confirmed("ABCD"), story.bodies("D", first=4))
    first, *_ = reader.told(Delivery)
    assert (first.votes, first.confirmed) == (3, False)
    assert reader.told(Delivery)[-1].confirmed
    assert reader.read() == "ABCD"


def test_votes_for_different_contents_do_not_add_up() -> None:
    reader, story = told()
    reader.say("r1 r2", story.held("A"), story.bodies("A"))
    reader.say("r3 r4", story.held("B"), story.bodies("B"))
    reader.until(5.0)
    assert reader.read() == ""


def test_bracha_delivers_on_confirmation_alone() -> None:
    reader, story = told(protocol="bracha")
    reader.say("r1 r2 r3", story.held("AB"), story.bodies("AB"))
    reader.until(2.0)
    assert reader.read() == ""
    reader.say("r1 r2", story.ready("AB"))
    assert reader.read() == ""
    reader.say("r3", story.ready("A"))
    assert reader.read() == "A"
    reader.say("r1 r2", story.confirmed("AB"))
    assert reader.read() == "AB"


def test_crash_channel_delivers_on_f_plus_1_forwards() -> None:
    reader = Reader(3, 1, protocol="plain")
    story = reader.story()
    reader.say("r1", story.held("A"), story.bodies("A"))
    assert reader.read() == ""
    reader.say("r2", story.held("A"))
    assert reader.read() == "A"


def test_first_delivers_on_one_forward() -> None:
    reader = Reader(2, 1, protocol="plain", deliver="first")
    story = reader.story()
    reader.say("r2", story.held("AB"), story.bodies("AB"))
    assert reader.read() == "AB"


def test_each_position_is_delivered_once_whatever_is_repeated() -> None:
    reader, story = told()
    for _ in range(3):
        reader.deliver(story, "AB")
        reader.say(ALL, story.confirmed("AB"))
    assert reader.read() == "AB"


def test_order_is_kept_and_holes_wait() -> None:
    reader, story = told()
    reader.say("r1 r2 r3", story.held("ABC"), story.bodies("C", first=3))
    reader.say("r1", story.bodies("A"))
    assert reader.read() == "A"
    reader.say("r2", story.bodies("B", first=2))
    assert reader.read() == "ABC"


# -- false words -------------------------------------------------------------------------------


def test_false_body_is_thrown_away_and_the_true_one_asked_for() -> None:
    reader, story = told()
    reader.say("r4", story.bodies("X"))
    ready = reader.say("r1 r2 r3", story.held("A"))
    assert [(each.sender, each.reason) for each in ready.rejections] == [
        ("r4", "a false body at position 1")
    ]
    ready = reader.until(1.0)
    assert said(ready, AskBodies)[0] == story.ask_bodies("A")
    assert len(asked(ready, AskBodies)) >= 2  # one of f+1 is correct
    reader.say("r2", story.bodies("A"))
    assert reader.read() == "A"


def test_replica_that_votes_twice_is_accused_with_both_votes() -> None:
    reader, story = told()
    reader.say("r1 r4", story.held("A"))
    (found,) = reader.say("r4", story.held("B")).evidence
    assert (found.weight, found.parties) == (Weight.LOCAL, frozenset({"r4"}))
    assert found.first == Held(story.stream, 1, story.digests("A"))
    assert found.second == Held(story.stream, 1, story.digests("B"))


@pytest.mark.parametrize("kind", ["ready", "confirmed"])
def test_replica_that_states_two_chains_is_accused(kind: str) -> None:
    reader, story = told()
    say = getattr(story, kind)
    reader.say("r1 r4", say("AB"))
    (found,) = reader.say("r4", say("AX")).evidence
    assert (found.first, found.second) == (say("AB"), say("AX"))


def test_evidence_is_limited() -> None:
    reader, story = told()
    reader.say("r1 r4", story.held("A"))
    count = sum(len(reader.say("r4", story.held("B")).evidence) for _ in range(40))
    assert count == EVIDENCE_PER_STREAM


def test_confirmation_that_fits_no_votes_is_looked_into() -> None:
    reader, story = told(protocol="bracha")
    reader.say("r1", story.held("AX"))
    reader.say("r2 r3", story.held("AB"))
    reader.say("r4", story.held("XB"))
    reader.say("r1 r2", story.confirmed("AAB"))
    ready = reader.until(1.0)
    assert set(asked(ready, AskDigests)) >= {"r1", "r2"}
    reader.say("r2", story.digests_under("AAB"))
    ready = reader.until(3.0)
    assert said(ready, AskBodies)
    reader.say("r1", story.bodies("AAB"))
    assert reader.read() == "AAB"


def test_digests_that_do_not_prove_themselves_are_ignored() -> None:
    reader, story = told(protocol="bracha")
    reader.say("r1 r2", story.held("X"), story.confirmed("AB"))
    reader.until(1.0)
    reader.say("r1", story.digests_under("AC"))
    reader.say("r2", story.digests_under("A"))
    reader.say("r1 r2", story.bodies("AC"))
    reader.until(5.0)
    assert reader.read() == ""


# -- missing things ----------------------------------------------------------------------------


def test_behind_f_plus_1_heads_it_asks_everybody_for_votes() -> None:
    reader, story = told()
    reader.lists("r1 r2", story.head(3), counter=1)
    ready = reader.until(0.5)
    assert asked(ready, AskVotes) == ALL.split()
    assert said(ready, AskVotes, "r3")[0] == story.ask_votes(1)


def test_what_comes_when_patience_ends_was_on_its_way() -> None:
    reader, story = told()
    reader.deliver(story, "A")
    reader.lists("r1 r2", story.head(3), counter=1)
    assert reader.timer is not None
    reader.now = reader.timer

    def hear(machine: Any) -> None:
        for replica in ("r1", "r2", "r3"):
            machine.step(replica, story.held("BC", first=2))
            machine.step(replica, story.bodies("BC", first=2))
        machine.tick()

    ready = reader.do(hear)
    assert reader.read() == "ABC"
    assert not asked(ready, AskVotes)
    assert not asked(ready, AskBodies)


def test_one_replicas_head_is_no_reason_to_ask() -> None:
    reader, story = told()
    reader.deliver(story, "AB")
    reader.say("r4", story.confirmed("ABCDE"), story.held("CDE", first=3))
    ready = reader.until(30.0)
    assert not said(ready, AskVotes)
    assert not said(ready, AskBodies)


def test_questions_back_off_and_are_capped() -> None:
    reader, story = told()
    reader.say("r1 r2", story.held("A"))
    reader.until(60.0)
    ready = reader.until(160.0)
    assert 18 <= len(said(ready, AskVotes, "r1")) <= 22


def test_nothing_is_asked_when_all_is_delivered() -> None:
    reader, story = told()
    reader.deliver(story, "AB")
    reader.say(ALL, story.confirmed("AB"), SubscribeStatus(CHANNEL, 1, accepted=True))
    kinds = {type(each).__name__ for sent in reader.until(60.0).messages.values() for each in sent}
    assert kinds == {"AskHeads"}


def test_missing_confirmation_is_asked_for_at_the_position_that_is_here() -> None:
    reader, story = told(protocol="bracha")
    reader.say("r1 r2 r3", story.held("AB"), story.bodies("AB"))
    assert story.ask_confirmed(2) in said(reader.until(1.0), AskConfirmed, "r1")


def test_channel_without_repair_asks_for_bodies_alone() -> None:
    reader, story = told(confirm=False)
    reader.say("r1 r2 r3", story.held("A"))
    ready = reader.until(5.0)
    assert asked(ready, AskBodies)
    assert not asked(ready, AskVotes)
    assert not asked(ready, AskConfirmed)


def test_holders_are_asked_in_turn() -> None:
    reader, story = told()
    reader.say("r1 r2 r3", story.held("A"))
    assert set(asked(reader.until(5.0), AskBodies)) == {"r1", "r2", "r3"}


# -- credit ------------------------------------------------------------------------------------


def test_credit_is_given_anew_when_half_of_the_window_is_delivered() -> None:
    reader, story = told(alpha=4096)
    count = SUBSCRIBER_WINDOW // 2
    text = "A" * count
    ready = reader.say(ALL, story.held(text), story.bodies(text))
    assert reader.told(Delivery)[-1].last == count
    assert said(ready, Credit, "r1") == [Credit(story.stream, count + SUBSCRIBER_WINDOW)]


def test_bodies_beyond_the_window_are_not_kept() -> None:
    reader, story = told()
    reader.deliver(story, "A")
    far = Bodies(story.stream, 2 + SUBSCRIBER_WINDOW, (b"x",))
    reader.say("r1 r2 r3 r4", far)
    follower = reader.following()[story.stream]
    assert not follower.copies.at(2 + SUBSCRIBER_WINDOW)


def test_follows_again_what_does_not_come() -> None:
    reader, story = told()
    reader.lists("r1 r2 r3", story.head(2), counter=1)
    ready = reader.until(2.0)
    assert said(ready, Follow, "r1")[-1] == story.follow(1, SUBSCRIBER_WINDOW)
