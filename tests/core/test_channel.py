"""A channel's settings: whom it admits, its thresholds, and what it refuses with a reason."""

from __future__ import annotations

import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster
from quorumcast.core.limits import RUN_POSITIONS


def cluster(n: int = 4, f: int = 1, *, lab: bool = False) -> Cluster:
    names = tuple(f"r{number}" for number in range(1, n + 1))
    return Cluster(bytes(32), 1, names, f, bytes(32), lab)


def test_nobody_may_publish_and_everybody_may_subscribe_by_default() -> None:
    channel = Channel("alerts")
    assert not channel.admits_publisher("probe-7")
    assert channel.admits_subscriber("anybody")


@pytest.mark.parametrize(
    ("name", "admitted"),
    [
        ("probe-7", True),
        ("probe-", True),
        ("Probe-7", False),
        ("probe", False),
        ("xprobe-7", False),
        ("db", True),
        ("dbx", False),
        ("", False),
    ],
)
def test_patterns_match_whole_names_with_their_case(name: str, admitted: bool) -> None:
    patterns = ("probe-*", "db")
    assert Channel("c", publishers=patterns).admits_publisher(name) == admitted
    assert Channel("c", subscribers=patterns).admits_subscriber(name) == admitted


def test_publishing_and_subscribing_are_apart() -> None:
    channel = Channel("c", publishers=("p",), subscribers=("s",))
    assert channel.admits_publisher("p")
    assert not channel.admits_publisher("s")
    assert channel.admits_subscriber("s")
    assert not channel.admits_subscriber("p")


def test_plain_channels_expect_crashes_alone() -> None:
    assert not Channel("c", protocol="plain").byzantine
    assert Channel("c", protocol="ab").byzantine
    assert Channel("c", protocol="bracha").byzantine


def test_thresholds_follow_the_protocol() -> None:
    assert Channel("c").quorum(cluster(6, 1)).votes == 4
    assert Channel("c", protocol="plain").quorum(cluster(3, 1)).votes == 2
    assert Channel("c", protocol="plain", deliver="first").quorum(cluster(2, 1)).votes == 1


def test_a_good_channel_is_returned() -> None:
    channel = Channel("c")
    assert channel.check(cluster()) is channel


@pytest.mark.parametrize("alpha", [1, 1000, RUN_POSITIONS // 2])
def test_the_window_is_twice_alpha(alpha: int) -> None:
    assert Channel("c", alpha=alpha).check(cluster()).window == 2 * alpha


@pytest.mark.parametrize("alpha", [-1, 0, RUN_POSITIONS // 2 + 1])
def test_a_window_that_no_run_can_hold(alpha: int) -> None:
    with pytest.raises(ConfigError, match=f"channel c: confirm.every = {alpha} is out of range"):
        Channel("c", alpha=alpha).check(cluster())


def test_confirm_false_is_for_lab_clusters() -> None:
    channel = Channel("c", confirm=False)
    with pytest.raises(ConfigError, match="for lab clusters only"):
        channel.check(cluster())
    assert channel.check(cluster(lab=True)) is channel


def test_bracha_without_confirmation_would_deliver_nothing() -> None:
    with pytest.raises(ConfigError, match="bracha delivers on confirmation alone"):
        Channel("c", protocol="bracha", confirm=False).check(cluster(lab=True))


@pytest.mark.parametrize(
    ("channel", "n", "f"),
    [
        (Channel("c"), 3, 1),
        (Channel("c", protocol="bracha"), 6, 2),
        (Channel("c", protocol="plain"), 2, 1),
        (Channel("c", protocol="plain", deliver="first"), 1, 1),
    ],
)
def test_a_cluster_too_small_for_the_channel(channel: Channel, n: int, f: int) -> None:
    with pytest.raises(ConfigError, match="cannot tolerate"):
        channel.check(cluster(n, f))
