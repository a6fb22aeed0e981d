"""Twins: one identity, two correct replicas, each with its own part of the world."""

from __future__ import annotations

from random import Random

import pytest

from quorumcast.sim.adversaries.twins import ROUND_TICKS, Round, draw_round
from quorumcast.sim.run import Run, run
from quorumcast.sim.scenario import Protocol, Scenario

TWINS = Scenario(adversary="twins", seed=2)


def rounds_of(run: Run) -> list[str]:
    return [deed.what for deed in run.rig.plot.deeds]


def test_a_round_parts_everybody_between_the_twins() -> None:
    others = ["r1", "r2", "r3", "p1", "s1"]
    drawn = [draw_round(Random(seed), 1, ("r4",), others) for seed in range(50)]
    for each in drawn:
        assert sorted(each.first + each.second) == sorted(others)
    assert len({each.first for each in drawn}) > 15
    assert {each.walled for each in drawn} == {True, False}
    assert not any(
        draw_round(Random(seed), 1, ("r4",), others, walls=False).walled for seed in range(50)
    )


def test_a_round_says_who_talks_to_whom() -> None:
    parted = Round(3, ("r1", "r4"), ("r2", "p1"), (), walled=True)
    assert str(parted) == (
        "round 3: r2, p1 talk to r1, r4; nobody to r1', r4'; the two parts not to each other"
    )


def test_nothing_passes_between_a_twin_and_the_other_part() -> None:
    run = Run(TWINS)
    (party,) = run.rig.liars
    run.world.run(ROUND_TICKS // 2)
    network, side = run.world.network, run.rig.plot.side
    assert side is not None
    others = [node.name for node in run.world.nodes.values() if node.party != party]
    parts = {side(name) for name in others}
    assert parts == {0, 1}
    for name in others:
        mine, other = (party, party + "'") if side(name) == 0 else (party + "'", party)
        assert network.is_cut(name, other)
        assert network.is_cut(other, name)
        assert not network.is_cut(name, mine)


def test_rounds_change_and_go_on_after_healing() -> None:
    run = Run(TWINS)
    report = run.execute()
    assert report.passed
    rounds = rounds_of(run)
    assert report.adversary_actions == len(rounds)
    assert len(rounds) == (run.world.now - 1) // ROUND_TICKS + 1
    assert len(set(rounds)) == len(rounds)
    healed = TWINS.faulty_ticks // ROUND_TICKS
    assert any("not to each other" in each for each in rounds[:healed])
    assert not any("not to each other" in each for each in rounds[healed:])


def test_both_twins_work_and_differ() -> None:
    run = Run(Scenario(adversary="twins", seed=2, byzantine_publisher=True))
    assert run.execute().passed
    (party,) = run.rig.liars
    nodes = run.world.nodes
    votes = []
    for name in (party, party + "'"):
        stored = run.rig.trace.stored[name]
        assert stored, name
        assert not nodes[name].correct
        votes.append([each.record for each in stored])
    assert votes[0] != votes[1]
    assert nodes[party].incarnation == nodes[party + "'"].incarnation


def test_forbidden_rounds_leave_both_twins_to_everybody() -> None:
    run = Run(TWINS, deeds=frozenset({1}))
    report = run.execute()
    assert report.adversary_actions == 1
    assert rounds_of(run) == [rounds_of_all()[1]]
    none = Run(TWINS, deeds=frozenset())
    none.world.run(ROUND_TICKS // 2)
    (party,) = none.rig.liars
    assert not none.world.network.is_cut("s1", party)
    assert not none.world.network.is_cut("s1", party + "'")


def rounds_of_all() -> list[str]:
    run = Run(TWINS)
    run.execute()
    return rounds_of(run)


@pytest.mark.parametrize("protocol", ["ab", "bracha"])
def test_two_pairs_of_twins_are_one_too_many(protocol: Protocol) -> None:
    def broken(seed: int) -> bool:
        report = run(
            Scenario(
                protocol=protocol,
                adversary="twins",
                byzantine=2,
                byzantine_publisher=True,
                seed=seed,
            ),
            hasty=True,
        )
        return report.violations > 0

    assert any(broken(seed) for seed in range(12))
