"""A replica's own copy of the charter: what it adopted it does not forget with a file."""

from __future__ import annotations

import json
import stat
from base64 import b64encode
from pathlib import Path

import msgspec
import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.keeping import PAST, Keeping
from quorumcast.runtime.settings import ClusterFile
from tests.runtime_files.made import at, cluster, manifest

ALERTS = ChannelSettings(Channel("alerts"))
BRACHA = ChannelSettings(Channel("alerts", protocol="bracha"))
OTHER = ChannelSettings(Channel("other"))


def written(folder: Path, made: ClusterFile) -> ClusterFile:
    """The cluster's file, as it stands in the folder."""
    path = folder / "cluster.toml"
    path.write_text(made.text(), encoding="utf-8")
    return at(made, path)


def keeping(folder: Path) -> Keeping:
    return Keeping(folder / "charter", manifest())


def test_the_newer_of_file_and_own_copy_counts(tmp_path: Path) -> None:
    first = written(tmp_path, cluster(ALERTS))
    assert keeping(tmp_path).newest(first) == first
    assert stat.S_IMODE((tmp_path / "charter").stat().st_mode) == 0o600
    second = written(tmp_path, cluster(ALERTS, OTHER, revoked=("probe-9",), version=2))
    assert keeping(tmp_path).newest(second) == second
    third = cluster(ALERTS, OTHER, revoked=("probe-8", "probe-9"), version=3).charter
    keeping(tmp_path).store(third)
    old = written(tmp_path, first)
    found = keeping(tmp_path).newest(old)
    assert found.charter == third, "an old file brings back nothing"
    assert found.path == old.path


def test_a_file_that_changes_what_cannot_change_is_an_error(tmp_path: Path) -> None:
    keeping(tmp_path).newest(written(tmp_path, cluster(ALERTS)))
    later = written(tmp_path, cluster(OTHER, BRACHA, version=2))
    said = r'cluster.toml:\d+: channel alerts: protocol cannot change from "ab" to "bracha"'
    with pytest.raises(ConfigError, match=said) as raised:
        keeping(tmp_path).newest(later)
    assert "put it back, or use a channel of another name" in str(raised.value)
    lines = later.path.read_text(encoding="utf-8").splitlines()
    line = int(str(raised.value).split("cluster.toml:")[1].split(":")[0])
    assert lines[line - 1] == 'protocol = "bracha"'


def test_a_name_means_the_same_when_it_comes_back(tmp_path: Path) -> None:
    keeping(tmp_path).store(cluster(ALERTS).charter)
    keeping(tmp_path).store(cluster(OTHER, version=2).charter)
    with pytest.raises(ConfigError, match="channel alerts: protocol cannot change"):
        keeping(tmp_path).check(cluster(BRACHA, version=3).charter)
    keeping(tmp_path).check(cluster(ALERTS, version=3).charter)


def test_what_is_remembered_of_the_past_is_bounded(tmp_path: Path) -> None:
    kept = keeping(tmp_path)
    kept._tables = {f"c{number}": ALERTS.table() for number in range(PAST + 10)}
    kept.store(cluster(OTHER).charter)
    assert len(kept._tables) == PAST + 1
    assert "c9" not in keeping(tmp_path)._tables
    assert "c10" in keeping(tmp_path)._tables


@pytest.mark.parametrize(
    "text", ["", "{}", '{"charter":"?"}', '{"charter":"AAAA"}', '{"charter":"AAAA","past":3}']
)
def test_a_copy_that_is_damaged_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "charter").write_text(text, encoding="utf-8")
    (tmp_path / "charter").chmod(0o600)
    with pytest.raises(ConfigError, match="charter: not the charter that was stored there"):
        keeping(tmp_path)


def test_one_of_another_operator_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "charter"
    forged = msgspec.structs.replace(cluster(ALERTS).charter, version=9)
    packed = b64encode(forged.pack()).decode()
    path.write_text(json.dumps({"charter": packed}), encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="operator did not sign it"):
        keeping(tmp_path)
