"""The protocols' table says what the thresholds and the channels say."""

from __future__ import annotations

import pytest

from quorumcast.broadcast.registry import PROTOCOLS, Totality, find
from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from tests.broadcast.cast import cluster


@pytest.mark.parametrize("name", ["plain", "ab", "bracha"])
@pytest.mark.parametrize("faults", [0, 1, 2, 5])
def test_the_smallest_cluster_works_and_a_smaller_one_does_not(name: str, faults: int) -> None:
    least = find(name).least_replicas(faults)
    channel = Channel("alerts", protocol=name)  # type: ignore[arg-type]
    assert channel.check(cluster(least, faults)).quorum(cluster(least, faults)).f == faults
    with pytest.raises(ConfigError, match="cannot tolerate"):
        channel.check(cluster(least - 1, faults))


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=lambda each: each.name)
def test_a_protocols_model_is_its_channels(protocol: object) -> None:
    entry = PROTOCOLS[protocol.name]  # type: ignore[attr-defined]
    channel = Channel("alerts", protocol=entry.name.partition("-")[0])  # type: ignore[arg-type]
    assert channel.quorum(cluster()).model == entry.model
    assert channel.byzantine == (entry.model == "byzantine")


def test_what_each_promises() -> None:
    assert find("bracha").totality is Totality.ALL_OR_NONE
    assert find("ab").totality is Totality.WITHIN
    assert find("plain").totality is Totality.CRASH
    assert not find("plain").agreement
    weak = find("ab", confirm=False)
    assert weak.agreement
    assert weak.totality is Totality.NONE
    assert not weak.delivers_all_of_correct
    assert [each.name for each in PROTOCOLS.values() if each.lab_only] == [weak.name]


@pytest.mark.parametrize("name", ["paxos", "", "ab-unconfirmed", "AB"])
def test_an_unknown_name_is_answered_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match="there are: ab, bracha, plain"):
        find(name)
