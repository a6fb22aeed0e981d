"""Rule 8: what a subscriber delivers, and on what."""

from __future__ import annotations

import pytest

from tests.scenarios.stage import Stage
from tests.scenarios.story import Story

ALL = "r1 r2 r3 r4"


def audience(protocol: str = "bracha", n: int = 4) -> tuple[Stage, Story]:
    """A subscriber among replicas that say what the scenario says."""
    replicas = " ".join(f"r{number}" for number in range(1, n + 1))
    stage = Stage(n=n, scripted=replicas, alpha=5, protocol=protocol)
    story = stage.opens("P")
    stage.subscriber("S1")
    return stage, story


def test_q_equal_votes_and_a_body_deliver_on_ab() -> None:
    stage, story = audience("ab")
    stage.say("r1 r2", "S1", story.held("A"))
    stage.say("r1", "S1", story.bodies("A"))
    stage.flush()
    assert stage.read("S1") == ""

    stage.say("r3", "S1", story.held("A"))
    stage.flush()
    assert stage.read("S1") == "A"


def test_votes_alone_do_not_deliver_on_bracha() -> None:
    stage, story = audience()
    stage.say("r1 r2 r3", "S1", story.held("A"), story.bodies("A"))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r4", "S1", story.held("A"))
    stage.run(1.0)
    assert stage.read("S1") == "A"  # Q+f votes


def test_f_plus_1_confirmed_deliver_and_f_do_not() -> None:
    stage, story = audience()
    stage.say("r1 r2", "S1", story.bodies("AB"))
    stage.say("r4", "S1", story.confirmed("AB"))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r1", "S1", story.confirmed("AB"))
    stage.run(1.0)
    assert stage.read("S1") == "AB"


def test_2f_plus_1_ready_deliver_and_2f_do_not() -> None:
    stage, story = audience()
    stage.say("r1 r2", "S1", story.bodies("AB"), story.ready("AB"))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r3", "S1", story.confirmed("AB"))  # counts as its READY
    stage.run(1.0)
    assert stage.read("S1") == "AB"


def test_statements_that_end_at_different_positions_count_together() -> None:
    stage, story = audience()
    stage.say("r1 r2", "S1", story.bodies("ABC"))
    stage.say("r1", "S1", story.ready("AB"))
    stage.say("r2", "S1", story.ready("ABC"))
    stage.say("r3", "S1", story.ready("ABC"))
    stage.run(1.0)
    assert stage.read("S1") == "AB"


def test_statement_with_another_chain_counts_for_nothing() -> None:
    stage, story = audience()
    stage.say("r1 r2", "S1", story.bodies("AB"), story.ready("AB"))
    stage.say("r4", "S1", story.ready("XB"))
    stage.run(2.0)
    assert stage.read("S1") == ""


def test_messages_are_not_counted_senders_are() -> None:
    stage, story = audience("ab")
    for _ in range(5):
        stage.say("r4", "S1", story.held("B"), story.bodies("B"), story.confirmed("B"))
    stage.say("r1", "S1", story.held("B"))
    stage.run(2.0)
    assert stage.read("S1") == ""


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
def test_body_is_believed_by_its_digest_alone(protocol: str) -> None:
    stage, story = audience(protocol)
    stage.say("r4", "S1", story.bodies("XY"))
    stage.say(ALL, "S1", story.held("AB"))
    stage.run(2.0)
    assert stage.read("S1") == ""

    stage.say("r1", "S1", story.bodies("A"))
    stage.run(0.2)
    assert stage.read("S1") == "A"
    stage.say("r1", "S1", story.bodies("B", first=2))
    stage.run(0.2)
    assert stage.read("S1") == "AB"


def test_delivery_is_contiguous() -> None:
    stage, story = audience("ab")
    stage.say(ALL, "S1", story.held("ABC"))
    stage.say("r1", "S1", story.bodies("BC", first=2))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r1", "S1", story.bodies("A"))
    stage.run(1.0)
    assert stage.read("S1") == "ABC"


def test_nothing_is_delivered_twice() -> None:
    stage, story = audience("ab")
    for _ in range(3):
        stage.say(ALL, "S1", story.held("AB"), story.bodies("AB"), story.confirmed("AB"))
        stage.run(1.0)
    assert stage.read("S1") == "AB"


def test_four_votes_are_not_certain_among_six() -> None:
    stage, story = audience("bracha", n=6)
    stage.say("r1 r2 r3 r4", "S1", story.held("A"), story.bodies("A"))
    stage.run(1.0)
    assert stage.read("S1") == ""

    stage.say("r5", "S1", story.held("A"))
    stage.run(1.0)
    assert stage.read("S1") == "A"


def test_votes_that_cross_deliver_what_q_agree_on_at_each_position() -> None:
    stage, story = audience("ab")
    for replica, text in (("r1", "AAB"), ("r2", "ABA"), ("r3", "BAA"), ("r4", "AAA")):
        stage.say(replica, "S1", story.held(text), story.bodies(text))
    stage.run(3.0)
    assert stage.read("S1") == "AAA"


# -- a start in the middle ----------------------------------------------------------------------


def test_chain_may_begin_at_a_position_with_f_plus_1_equal_confirmed() -> None:
    stage, story = audience()
    stage.stop("S1")
    stage.subscriber("S2", start={story.stream: 4})
    stage.say("r4", "S2", story.confirmed("XYZ"))
    stage.say("r1", "S2", story.confirmed("ABC"))
    stage.say("r1 r2", "S2", story.bodies("DE", first=4))
    stage.run(0.5)
    assert stage.read("S2") == ""

    stage.say("r2", "S2", story.confirmed("ABC"))
    stage.run(0.1)
    stage.say("r1 r2", "S2", story.confirmed("ABCDE"))
    stage.run(1.0)
    assert stage.read("S2") == "DE"


def test_one_word_is_no_base() -> None:
    stage, story = audience()
    stage.stop("S1")
    stage.subscriber("S2", start={story.stream: 4})
    stage.say("r4", "S2", story.confirmed("XYZ"), story.confirmed("XYZQQ"))
    stage.say("r4 r1", "S2", story.bodies("QQ", first=4))
    stage.say("r1", "S2", story.confirmed("ABCDE"))
    stage.run(2.0)
    assert stage.read("S2") == ""
