"""What each channel promises holds in every cell of protocol, n and adversary, 500 runs in all.

A failure prints its seed and the command that replays it. A run in which the adversary did nothing,
or nothing was delivered to judge, fails too.
"""

from __future__ import annotations

from collections import Counter

import pytest

from quorumcast.sim.checkers import Violation
from quorumcast.sim.report import Failure, Report, command
from quorumcast.sim.run import prepare, run, schedule_of
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.schedule import Crash, Cut, Storm
from tests.sim.matrix import RUNS, cell_of, cells, scenarios, verdict

SCENARIOS = scenarios()


def _name(scenario: Scenario) -> str:
    confirm = "" if scenario.confirm is not False else "-unconfirmed"
    extra = "-signed" * scenario.signed + "-two-faced" * scenario.byzantine_publisher
    size = f"n{scenario.replicas}-f{scenario.faults}"
    return f"{scenario.protocol}{confirm}-{size}-{scenario.adversary}{extra}-{scenario.seed}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=_name)
def test_a_run_keeps_what_its_channel_promises(scenario: Scenario) -> None:
    failed = verdict(run(scenario))
    if failed:
        pytest.fail(failed, pytrace=False)


def test_the_matrix_has_every_cell_and_as_many_runs_as_promised() -> None:
    assert set(map(cell_of, SCENARIOS)) == set(cells())
    assert len(SCENARIOS) == RUNS
    assert len(set(map(command, SCENARIOS))) == RUNS


@pytest.mark.parametrize("protocol", [("ab", True), ("ab", False), ("bracha", True)])
def test_every_protocol_is_run_signed_and_not_with_and_without_a_two_faced_publisher(
    protocol: tuple[str, bool],
) -> None:
    mine = [each for each in SCENARIOS if cell_of(each)[:2] == protocol]
    kinds = Counter((prepare(each).signed, each.byzantine_publisher) for each in mine)
    assert len(kinds) == 4
    assert min(kinds.values()) >= 10


def test_clusters_larger_than_their_faults_need_are_among_the_runs() -> None:
    sizes = {(each.replicas, each.faults) for each in SCENARIOS if each.protocol != "plain"}
    assert sizes == {(4, 1), (5, 1), (6, 1), (7, 1), (7, 2), (10, 3)}
    plain = {(each.replicas, each.faults) for each in SCENARIOS if each.protocol == "plain"}
    assert plain == {(4, 1), (5, 1), (5, 2), (6, 1), (6, 2), (7, 1), (7, 3), (10, 1), (10, 4)}


def test_replicas_crash_and_lose_their_disks_and_the_network_storms_and_parts() -> None:
    drawn = Counter[str]()
    for scenario in SCENARIOS:
        for decision in schedule_of(prepare(scenario)):
            if isinstance(decision, Crash):
                drawn["back" if decision.back is not None else "for good"] += 1
                drawn[decision.disk] += 1
                drawn[decision.how] += 1
            elif isinstance(decision, Cut | Storm):
                drawn[type(decision).__name__] += 1
    kinds = ("back", "for good", "tail lost", "wiped", "before", "after", "Cut", "Storm")
    assert all(drawn[kind] >= 10 for kind in kinds), drawn


def test_a_failure_prints_what_broke_and_how_to_see_it_again() -> None:
    scenario = Scenario(protocol="bracha", adversary="alter", seed=99)
    broken = (Violation("agreement", "s1 and s2 differ"), Violation("fifo", "a gap"))
    report = Report(runs=1, violations=1, failures=[Failure(scenario, broken)])
    assert verdict(report) == (
        "agreement: s1 and s2 differ\nfifo: a gap\n"
        "replay with: quorumcast sim --protocol bracha --adversary alter --seed 99"
    )


def test_a_run_without_anything_to_judge_fails() -> None:
    scenario = Scenario(adversary="silent", publications=1, loss=0.9, faulty_ticks=40)
    vacuous = Report(runs=1, vacuous=1, failures=[Failure(scenario, (), "nothing was delivered")])
    assert verdict(vacuous).startswith("vacuous: nothing was delivered")
    assert verdict(Report(runs=1)) == ""
