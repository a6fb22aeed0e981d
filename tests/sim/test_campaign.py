"""Many runs: which ones, in which order, and what they add up to."""

from __future__ import annotations

import pickle

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.sim.adversaries import REGISTRY
from quorumcast.sim.campaign import admitted, campaign, spread
from quorumcast.sim.report import Failure, Report, command
from quorumcast.sim.run import run
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.watching import MachineError

SMALL = Scenario(publications=3, faulty_ticks=1_500)


def test_all_means_what_the_fault_model_admits() -> None:
    assert admitted(Scenario(protocol="plain", replicas=3)) == ("none",)
    assert admitted(Scenario(protocol="bracha")) == tuple(REGISTRY)
    cells = spread(SMALL, ["ab", "plain"], ["all"], range(2))
    assert [(each.protocol, each.adversary) for each in cells[-2:]] == [("plain", "none")] * 2
    assert len(cells) == 2 * (len(REGISTRY) + 1)
    assert {each.adversary for each in cells if each.protocol == "ab"} == set(REGISTRY)


def test_every_scenario_is_checked_before_the_first_runs() -> None:
    with pytest.raises(ConfigError, match="there is no adversary wrong"):
        spread(SMALL, ["ab"], ["silent", "wrong"], range(2))
    with pytest.raises(ConfigError, match="plain replicas crash and do not lie"):
        spread(SMALL, ["ab", "plain"], ["silent"], range(2))


def test_reports_come_in_order_from_one_core_and_from_two() -> None:
    scenarios = spread(SMALL, ["ab", "bracha"], ["none", "alter"], range(2))
    alone = list(campaign(scenarios))
    assert [report.deliveries for report in alone] == [
        run(scenario).deliveries for scenario in scenarios
    ]
    assert list(campaign(scenarios, workers=2)) == alone
    assert len({report.deliveries for report in alone}) > 4, "they can be told apart"


def test_a_campaign_can_be_left_in_the_middle() -> None:
    scenarios = spread(SMALL, ["ab"], ["none"], range(40))
    reports = campaign(scenarios, workers=2)
    assert next(reports).runs == 1
    reports.close()
    with pytest.raises(StopIteration):
        next(reports)


@pytest.mark.parametrize("adversary", ["equivocate", "double-vote", "collude"])
def test_one_liar_too_many_breaks_promises(adversary: str) -> None:
    base = Scenario(byzantine=2, healing_ticks=20_000)
    total = sum(campaign(spread(base, ["ab"], [adversary], range(3))), Report())
    assert total.runs == 3
    assert total.violations == len(total.failures) >= 1
    assert not total.passed
    failure = total.failures[0]
    assert failure.violations
    assert failure.command.endswith(f"--seed {failure.scenario.seed}")


def test_a_hasty_run_and_a_patient_one_agree_that_something_broke() -> None:
    scenario = Scenario(adversary="collude", byzantine=2, publications=10, seed=0)
    hasty, patient = run(scenario, hasty=True), run(scenario)
    rules = [
        {violation.rule for violation in report.failures[0].violations}
        for report in (hasty, patient)
    ]
    assert "agreement" in rules[0]
    assert rules[0] <= rules[1]


def test_a_command_names_what_is_unusual() -> None:
    assert command(Scenario(seed=3)) == "quorumcast sim --protocol ab --adversary none --seed 3"
    everything = Scenario(
        protocol="bracha",
        replicas=7,
        faults=2,
        publishers=1,
        subscribers=2,
        confirm=False,
        adversary="alter",
        byzantine=0,
        byzantine_publisher=True,
        loss=0.25,
        seed=9,
        publications=5,
        crashes=False,
        signed=True,
        faulty_ticks=1_500,
        healing_ticks=60_000,
    )
    assert command(everything) == (
        "quorumcast sim --protocol bracha --adversary alter --replicas 7 --faults 2 "
        "--publishers 1 --subscribers 2 --publications 5 --confirm false --byzantine 0 "
        "--loss 0.25 --seconds 1.5 --patience 60.0 --byzantine-publisher --signed --no-crashes "
        "--seed 9"
    )


def test_a_vacuous_run_says_so() -> None:
    assert Failure(Scenario(), (), "nothing was delivered").text == (
        "vacuous: nothing was delivered"
    )


def test_a_bug_travels_between_processes() -> None:
    error = pickle.loads(pickle.dumps(MachineError("r1", 5, ValueError("x"))))
    assert (error.party, error.tick) == ("r1", 5)
    assert str(error) == "r1 failed at 0.005 s: ValueError: x"
