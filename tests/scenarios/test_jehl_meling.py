"""Jehl and Meling, section 3.1: a faulty publisher and acceptors that forward selectively."""

from __future__ import annotations

from typing import Any

import pytest

from quorumcast.core.messages import Held
from tests.scenarios.stage import Stage
from tests.scenarios.story import Story


def selective(f: int, **settings: Any) -> tuple[Stage, Story]:
    """P sends to f+1 correct acceptors; the f faulty ones forward to learner L1 alone."""
    n = 3 * f + 1
    faulty = [f"r{number}" for number in range(2 * f + 2, n + 1)]
    stage = Stage(n=n, f=f, scripted=" ".join(faulty), alpha=10, **settings)
    stage.subscriber("L1")
    stage.subscriber("L2")
    story = stage.opens("P")
    reached = " ".join(f"r{number}" for number in range(1, f + 2))
    stage.say("P", reached, story.publish("A"))
    stage.say(" ".join(faulty), "L1", story.held("A"), story.bodies("A"))
    stage.flush()
    return stage, story


def forwards(stage: Stage, learner: str) -> int:
    """How many correct acceptors forwarded the publication to a learner."""
    votes = [by for _, by, to, each in stage.transcript if to == learner and isinstance(each, Held)]
    return len(set(votes))


@pytest.mark.parametrize("f", [1, 2, 3])
def test_section_3_1_one_learner_gets_2f_plus_1_forwards_and_another_f_plus_1(f: int) -> None:
    stage, _ = selective(f, confirm=False)
    stage.run(60.0)
    assert forwards(stage, "L1") == forwards(stage, "L2") == f + 1
    assert stage.read("L1") == "A"  # f+1 correct ones, and f faulty ones
    assert stage.read("L2") == ""


@pytest.mark.parametrize("f", [1, 2, 3])
def test_section_3_1_afterwards_both_learners_agree(f: int) -> None:
    stage, story = selective(f)
    assert (stage.read("L1"), stage.read("L2")) == ("A", "")
    stage.run(10.0)
    assert stage.read("L1") == stage.read("L2") == "A"
    correct = [f"r{number}" for number in range(1, 2 * f + 2)]
    assert [stage.holds(each, story) for each in correct] == ["A"] * len(correct)
    assert [stage.confirmed(each, story) for each in correct] == [1] * len(correct)


@pytest.mark.parametrize("f", [1, 2])
def test_section_3_1_reliable_broadcast_waits_until_all_will_learn(f: int) -> None:
    stage, _ = selective(f, protocol="bracha")
    assert stage.read("L1") == stage.read("L2") == ""  # 2f+1 forwards are not enough here
    stage.run(10.0)
    assert stage.read("L1") == stage.read("L2") == "A"


def test_section_3_1_acceptors_stop_2_alpha_beyond_the_last_confirmation() -> None:
    stage = Stage(alpha=3)
    stage.subscriber("L1")
    stage.subscriber("L2")
    story = stage.opens("P")
    text = "ABCDEFGHIJKL"
    stage.say("P", "r3", story.publish("z"))
    for first in range(1, 13, 3):
        stage.say("P", "r1 r2", story.publish(text[first - 1 : first + 2], first=first))
        stage.flush()
    stage.say("r4", "L1", story.held(text), story.bodies(text))
    stage.run(20.0)
    assert stage.read("L1") == text[:6]
    assert stage.read("L2") == ""


def test_section_3_1_acceptor_is_ready_for_what_it_did_not_receive() -> None:
    stage = Stage(alpha=10, protocol="bracha")
    stage.subscriber("L1")
    story = stage.opens("P")
    stage.say("P", "r1 r2", story.publish("A"))
    stage.say("P", "r3", story.publish("B"))
    stage.say("r4", "r1 r2", story.held("A"), story.ready("A"))
    stage.run(5.0)
    assert stage.ready("r3", story) == 1
    assert stage.read("L1") == "A"
