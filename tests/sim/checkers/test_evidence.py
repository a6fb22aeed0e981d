"""Evidence: whoever is convicted is guilty."""

from __future__ import annotations

import pytest

from quorumcast.core.evidence import Evidence, Weight
from tests.sim.checkers.story import Story, told


def accused(weight: Weight, *parties: str) -> Story:
    story = told()
    evidence = Evidence(weight, frozenset(parties), "it voted twice", None, None, None)
    story.trace.evidence.append((9, "r1", evidence))
    return story


@pytest.mark.parametrize("weight", [Weight.PROOF, Weight.LOCAL])
def test_a_liar_may_be_convicted(weight: Weight) -> None:
    assert accused(weight, "r4").broken() == {}
    assert accused(weight, "q1").broken() == {}


@pytest.mark.parametrize("weight", [Weight.PROOF, Weight.LOCAL])
@pytest.mark.parametrize("party", ["r2", "p1"])
def test_a_correct_party_that_is_convicted_is_seen(weight: Weight, party: str) -> None:
    broken = accused(weight, party).broken()
    assert set(broken) == {"evidence"}
    assert f"r1 holds {party} at fault" in broken["evidence"]


def test_suspicion_may_name_correct_parties_beside_a_liar() -> None:
    assert accused(Weight.SUSPICION, "r2", "q1").broken() == {}
    assert set(accused(Weight.SUSPICION, "r2", "p1").broken()) == {"evidence"}


def test_a_replica_that_lost_its_disk_may_have_contradicted_itself() -> None:
    story = accused(Weight.LOCAL, "r2")
    story.lost.add("r2")
    assert story.broken() == {}
