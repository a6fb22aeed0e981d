"""The network's misdeeds, each alone."""

from __future__ import annotations

from random import Random

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.sim.network import CALM, Copy, Network, Weather


def delays(network: Network, count: int = 2000) -> list[int | None]:
    draws = Random(3)
    return [network.delay(draws, "r1", "r2", 1) for _ in range(count)]


def test_calm_weather_loses_nothing_and_delays_little() -> None:
    network = Network(CALM)
    assert {1, 2, 3} == set(delays(network))
    assert network.lost == 0
    assert not CALM.copies


def test_loss_is_as_frequent_as_asked_and_counts_messages() -> None:
    network = Network(Weather(loss=0.3))
    lost = delays(network).count(None)
    assert 500 < lost < 700
    assert network.lost == lost
    draws = Random(1)
    while network.delay(draws, "r1", "r2", 5) is not None:
        pass
    assert network.lost == lost + 5


def test_a_cut_goes_one_way_and_ends() -> None:
    network = Network()
    network.cut(["r1", "p1"], ["r2"])
    draws = Random(1)
    assert network.delay(draws, "r1", "r2", 1) is None
    assert network.delay(draws, "r2", "r1", 1) is not None
    assert network.is_cut("p1", "r2")
    network.join(["r1", "p1"], ["r2"])
    assert network.delay(draws, "r1", "r2", 1) is not None


def test_cuts_that_overlap_end_with_the_last() -> None:
    network = Network()
    network.cut(["r1"], ["r2"])
    network.cut(["r1"], ["r2", "r3"])
    network.join(["r1"], ["r2"])
    assert network.is_cut("r1", "r2")
    network.join(["r1"], ["r2", "r3"])
    assert not network.is_cut("r1", "r2")


def test_nobody_is_cut_from_himself() -> None:
    network = Network()
    network.cut(["r1", "r2"], ["r1", "r2"])
    assert not network.is_cut("r1", "r1")
    assert network.is_cut("r1", "r2")


def test_strays_are_overtaken() -> None:
    found = [each for each in delays(Network(Weather(stray=0.2))) if each is not None]
    assert max(found) > 50
    assert sorted(found)[len(found) // 2] <= 3


def test_copies_are_of_the_kinds_asked_for() -> None:
    network = Network(Weather(repeat=0.9, replay=0.9, damage=0.9))
    draws = Random(1)
    kinds = [copy for _ in range(100) for copy, later in network.copies(draws) if later >= 1]
    assert set(kinds) == set(Copy)
    assert Network(CALM).copies(draws) == []


def test_a_slow_sender_is_slow_until_told_otherwise() -> None:
    network = Network()
    network.slow("r1", 500)
    assert min(each or 0 for each in delays(network)) > 500
    network.slow("r1", 0)
    assert max(each or 0 for each in delays(network)) <= 3


def test_healing_ends_everything() -> None:
    network = Network(Weather(loss=0.3, repeat=0.3))
    network.cut(["r1"], ["r2"])
    network.slow("r1", 500)
    network.heal()
    assert None not in delays(network)
    assert max(each or 0 for each in delays(network)) <= 3


@pytest.mark.parametrize("weather", [Weather(loss=-0.1), Weather(repeat=0.95), Weather(stray=2.0)])
def test_impossible_weather_is_refused_by_name(weather: Weather) -> None:
    with pytest.raises(ConfigError, match="use 0 to 0.9"):
        Network(weather)


def test_delays_must_make_sense() -> None:
    with pytest.raises(ConfigError, match="the least first"):
        Network(Weather(least_ticks=5, most_ticks=2))
