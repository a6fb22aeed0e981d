"""Rule 11: the 2α limit, M unconfirmed sessions, and publishers that f+1 replicas contradict."""

from __future__ import annotations

from quorumcast.core.limits import (
    HANDOVER_SECONDS,
    SESSION_QUIET_SECONDS,
    SESSIONS_UNCONFIRMED,
)
from quorumcast.core.messages import (
    ConfirmedUpTo,
    Credit,
    Held,
    HeldUpTo,
    ReadyUpTo,
    StatusCode,
)
from quorumcast.core.messages import Status as StatusMessage
from quorumcast.core.outcomes import OutcomeUnknown
from quorumcast.core.records import SessionState
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story, opening

CORRECT = ("r1", "r2", "r3")
REPLICAS = ("r1", "r2", "r3", "r4")


def letters(count: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:count]


def credit(stage: Stage, replica: str, story: Story) -> int:
    """How far a replica lets the scripted publisher go."""
    given = [each for each in stage.heard("P", Credit, replica) if each.stream == story.stream]
    return max((each.through for each in given), default=0)


# -- 2α -----------------------------------------------------------------------------------------


def test_votes_stop_2_alpha_beyond_the_own_confirmed_position() -> None:
    stage = Stage(alpha=3)
    stage.drop("r1 r2 r3", "r1 r2 r3")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish(letters(10)))
    stage.run(2.0)
    assert stage.holds("r1", story) == letters(6)
    blocked = [each for each in stage.heard("P", StatusMessage) if each.code is StatusCode.BLOCKED]
    assert [each.position for each in blocked] == [6]

    stage.heal()
    stage.say("r4", "r1", story.held(letters(4)), story.ready(letters(4)))
    stage.say("P", "r2 r3", story.publish(letters(4)))
    stage.run(5.0)
    assert stage.confirmed("r1", story) == 4
    stage.say("P", "r1", story.publish("GHIJKLMN", first=7))
    stage.flush()
    assert stage.holds("r1", story) == letters(10)


def test_limit_holds_after_a_restart() -> None:
    stage = Stage(alpha=2)
    stage.drop("r1 r2 r3", "r1 r2 r3")
    story = stage.opens("P")
    stage.say("P", "r1", story.publish("ABC"))
    stage.flush()
    stage.restart("r1")
    stage.say("P", "r1", story.open(), story.publish("DEF", first=4))
    stage.run(2.0)
    assert stage.holds("r1", story) == "ABCD"


def test_subscribers_differ_by_at_most_2_alpha_in_a_stream_of_a_liar() -> None:
    stage = Stage(alpha=3)
    stage.subscriber("S1")
    story = stage.opens("P")
    stage.say("P", "r3", story.publish("z"))
    for first in range(1, 13, 3):
        stage.say("P", "r1 r2", story.publish(letters(12)[first - 1 : first + 2], first=first))
        stage.flush()
    stage.say("r4", "S1", story.held(letters(12)), story.bodies(letters(12)))
    stage.subscriber("S2")
    stage.run(20.0)

    assert stage.read("S1", story) == letters(6)
    assert stage.read("S2", story) == ""
    assert [stage.confirmed(each, story) for each in CORRECT] == [0, 0, 0]


def test_correct_publisher_passes_the_limit_as_confirmations_come() -> None:
    stage = Stage(alpha=2)
    stage.subscriber("S1")
    stage.publisher("p")
    slow = stage.hold("r1 r2 r3", "r1 r2 r3", ReadyUpTo, ConfirmedUpTo)
    stage.publish("p", letters(20))
    stage.run(3.0)
    assert stage.acknowledged("p") == 4
    assert stage.read("S1") == letters(4)

    slow.lift()
    stage.run(30.0)
    assert stage.acknowledged("p", confirmed=True) == 20
    assert stage.read("S1") == letters(20)


# -- M unconfirmed sessions ---------------------------------------------------------------------


def crowd(stage: Stage, replica: str) -> list[Story]:
    """M sessions of P with one unconfirmed vote each at a replica."""
    stories = [stage.opens("P", nonce) for nonce in range(1, SESSIONS_UNCONFIRMED + 1)]
    for story in stories:
        stage.say("P", replica, story.publish("A"))
        stage.flush()
        assert stage.holds(replica, story) == "A"
    return stories


def test_no_more_than_m_unconfirmed_sessions_are_taken_from_a_publisher() -> None:
    stage = Stage(alpha=5)
    crowd(stage, "r1")
    further = stage.opens("P", 99)
    stage.say("P", "r1 r2", further.publish("A"))
    stage.flush()
    assert stage.holds("r1", further) == ""
    assert stage.holds("r2", further) == "A"
    codes = {
        each.code
        for each in stage.heard("P", StatusMessage, "r1")
        if each.stream == further.stream and each.code is not StatusCode.OK
    }
    assert codes == {StatusCode.WAIT}

    other = stage.opens("O", 1)
    stage.say("O", "r1", other.publish("A"))
    stage.flush()
    assert stage.holds("r1", other) == "A"


def test_session_that_is_confirmed_makes_room() -> None:
    stage = Stage(alpha=5)
    stories = crowd(stage, "r1")
    further = stage.opens("P", 99)
    stage.say("P", "r2 r3", stories[0].open(), stories[0].publish("A"))
    stage.run(5.0)
    assert stage.confirmed("r1", stories[0]) == 1
    stage.say("P", "r1", further.open(), further.publish("A"))
    stage.flush()
    assert stage.holds("r1", further) == "A"


def test_session_without_news_stops_counting_after_a_time() -> None:
    stage = Stage(alpha=5)
    stage.drop("r1 r2 r3", "r1 r2 r3", Held)
    crowd(stage, "r1")
    further = stage.opens("P", 99)
    stage.run(SESSION_QUIET_SECONDS - 5.0)
    stage.say("P", "r1", further.publish("A"))
    stage.flush()
    assert stage.holds("r1", further) == ""

    stage.run(10.0)
    stage.say("P", "r1", further.publish("A"))
    stage.flush()
    assert stage.holds("r1", further) == "A"


def test_adoption_does_not_wait_for_the_publishers_other_sessions() -> None:
    stage = Stage(alpha=5)
    stage.subscriber("S1")
    stage.drop("r3", "r1 r2", Held)
    crowd(stage, "r3")
    k = stage.opens("P", 99)
    stage.say("P", "r1 r2 r3", k.publish("K"))
    stage.say("r4", "P", k.held_up_to("K"))
    stage.run(0.1)
    acknowledged = [sender for sender, each in stage.heard_by["P"] if each == k.held_up_to("K")]
    assert sorted(acknowledged) == ["r1", "r2", "r4"]
    assert stage.holds("r3", k) == ""

    stage.stop("P")  # r4 stays silent from here on
    stage.run(10.0)
    assert stage.holds("r3", k) == "K"
    assert stage.read("S1", k) == "K"


# -- the publisher's part ------------------------------------------------------------------------


def test_publisher_leaves_a_session_and_reports_what_is_unknown_once() -> None:
    stage = Stage(alpha=5)
    stage.publisher("p")
    stage.drop("r1 r2 r3", "p", HeldUpTo, ConfirmedUpTo)
    for _ in range(12):
        stage.publish("p", "x")
        stage.wipe("r4")
        stage.say("r4", "p r1 r2 r3", stage.hello("r4"))
        stage.run(10.0)

    assert len(stage.sessions("p")) >= 3
    unknown = [each for each in stage.outcomes["p"] if isinstance(each, OutcomeUnknown)]
    tickets = [ticket for each in unknown for ticket in range(each.first, each.last + 1)]
    assert tickets == list(range(1, len(tickets) + 1))
    assert stage.acknowledged("p") == 0


def test_publisher_opens_a_further_session_while_fewer_than_m_are_unconfirmed() -> None:
    stage = Stage(alpha=5)
    stage.drop("r1 r2 r3", "p", HeldUpTo, ConfirmedUpTo)
    kept = []
    for nonce in range(1, SESSIONS_UNCONFIRMED + 1):
        story = Story(stage.cluster, opening("p", nonce, [stage.life(each) for each in REPLICAS]))
        kept.append(SessionState(story.stream, story.opening, story.position(""), (b"x",)))
    stage.publisher("p", journal=kept)
    stage.publish("p", "A")
    stage.run(HANDOVER_SECONDS + 10.0)
    assert len(stage.sessions("p")) == SESSIONS_UNCONFIRMED

    stage.run(SESSION_QUIET_SECONDS)
    assert len(stage.sessions("p")) == SESSIONS_UNCONFIRMED + 1
    assert stage.holds("r1", stage.story("p")) == "A"


# -- contradicted publishers ---------------------------------------------------------------------


def contradicted(stage: Stage) -> Story:
    """r3 voted B; r1 and r2, f+1 of them, hold A."""
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.run(3.0)
    assert stage.stores["r3"].streams[story.stream].tainted
    return story


def test_publisher_that_f_plus_1_contradict_is_not_listened_to() -> None:
    stage = Stage(alpha=5)
    story = contradicted(stage)
    stage.say("P", "r3", story.publish("C", first=2))
    stage.run(1.0)
    assert stage.holds("r3", story) == "B"

    stage.restart("r3")
    stage.say("P", "r3", story.open(), story.publish("C", first=2))
    stage.run(1.0)
    assert stage.holds("r3", story) == "B"
    assert not stage.stores["r1"].streams[story.stream].tainted


def test_adoption_goes_on_in_a_stream_of_a_contradicted_publisher() -> None:
    stage = Stage(alpha=5)
    story = contradicted(stage)
    stage.say("P", "r1 r2", story.publish("C", first=2))
    stage.run(5.0)
    assert stage.holds("r3", story) == "BC"
    votes = {each.digests for each in stage.said("r3", "*", Held) if each.first == 2}
    assert votes <= {story.digests("C", 2)}


def test_one_vote_against_mine_is_no_contradiction() -> None:
    stage = Stage(alpha=5)
    story = stage.opens("P")
    stage.say("P", "r1 r2 r3", story.publish("A"))
    stage.say("r4", "r1 r2 r3", story.held("B"))
    stage.run(3.0)
    stage.say("P", "r1 r2 r3", story.publish("C", first=2))
    stage.run(3.0)
    assert [stage.holds(each, story) for each in CORRECT] == ["AC"] * 3
    assert not any(stage.stores[each].streams[story.stream].tainted for each in CORRECT)
