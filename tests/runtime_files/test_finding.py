"""Which cluster and which identity a command means."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.finding import find_cluster, find_identity, last_up, remember_up


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "cluster.toml").touch()
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> dict[str, str]:
    """An environment that names nothing but where things are remembered."""
    return {"QUORUMCAST_STATE": str(tmp_path / "state")}


def test_the_order_in_which_a_cluster_is_looked_for(tmp_path: Path, empty: dict[str, str]) -> None:
    given, named, above, last = (make(tmp_path / name) for name in ("a", "b", "c", "d"))
    here = above / "deep" / "er"
    here.mkdir(parents=True)
    remember_up(last, empty)
    environment = {**empty, "QUORUMCAST_CLUSTER": str(named)}
    assert find_cluster(given, environment=environment, here=here) == given
    assert find_cluster(environment=environment, here=here) == named
    assert find_cluster(environment=empty, here=here) == above
    assert find_cluster(environment=empty, here=tmp_path) == last


def test_the_file_stands_for_its_folder(tmp_path: Path, empty: dict[str, str]) -> None:
    folder = make(tmp_path / "a")
    assert find_cluster(folder / "cluster.toml", environment=empty) == folder
    assert find_cluster(str(folder), environment=empty) == folder


def test_what_is_named_and_wrong_is_an_error(tmp_path: Path, empty: dict[str, str]) -> None:
    here = make(tmp_path / "a")
    missing = tmp_path / "missing"
    with pytest.raises(ConfigError, match=f"--cluster {missing}: there is no cluster.toml"):
        find_cluster(missing, environment=empty, here=here)
    environment = {**empty, "QUORUMCAST_CLUSTER": str(missing)}
    with pytest.raises(ConfigError, match="QUORUMCAST_CLUSTER .*missing: there is no cluster.toml"):
        find_cluster(environment=environment, here=here)


def test_no_cluster_at_all(tmp_path: Path, empty: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="no cluster: .* make one with quorumcast init DIR"):
        find_cluster(environment=empty, here=tmp_path)
    remember_up(tmp_path / "gone", empty)
    with pytest.raises(ConfigError, match="no cluster: "):
        find_cluster(environment=empty, here=tmp_path)


def test_where_the_last_up_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "a")
    assert last_up({"XDG_STATE_HOME": str(tmp_path / "xdg")}) is None
    remember_up(folder, {"XDG_STATE_HOME": str(tmp_path / "xdg")})
    assert (tmp_path / "xdg" / "quorumcast" / "last-up").exists()
    assert last_up({"XDG_STATE_HOME": str(tmp_path / "xdg")}) == folder
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    remember_up(folder, {"XDG_STATE_HOME": "relative"})
    assert (tmp_path / "me" / ".local" / "state" / "quorumcast" / "last-up").exists()
    assert last_up({}) == folder


def test_a_home_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {"QUORUMCAST_STATE": str(tmp_path / "file" / "state")}
    remember_up(tmp_path, environment)
    assert last_up(environment) is None


def test_identities(tmp_path: Path, empty: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "a")
    for name in ("local", "probe-7"):
        (folder / f"{name}.qc").touch()
    elsewhere = tmp_path / "x.qc"
    elsewhere.touch()
    environment = {**empty, "QUORUMCAST_IDENTITY": "probe-7"}
    assert find_identity(None, folder, environment=empty) == folder / "local.qc"
    assert find_identity(None, folder, environment=environment) == folder / "probe-7.qc"
    assert find_identity("local", folder, environment=environment) == folder / "local.qc"
    assert find_identity(str(elsewhere), None, environment=environment) == elsewhere
    monkeypatch.chdir(tmp_path)
    assert find_identity("x.qc", folder, environment=empty) == Path("x.qc")


def test_identities_that_are_not_there(tmp_path: Path, empty: dict[str, str]) -> None:
    folder = make(tmp_path / "a")
    (folder / "local.qc").touch()
    with pytest.raises(ConfigError) as raised:
        find_identity("probe-7", folder, environment=empty)
    assert str(raised.value) == (
        f"--as probe-7: {folder} has no such identity (there are: local): use the path of a .qc "
        "file, or make one with quorumcast keys add probe-7"
    )
    with pytest.raises(ConfigError, match="--as y.qc: there is no such file"):
        find_identity("y.qc", folder, environment=empty)
    environment = {**empty, "QUORUMCAST_IDENTITY": "./none"}
    with pytest.raises(ConfigError, match="QUORUMCAST_IDENTITY ./none: there is no such file"):
        find_identity(None, folder, environment=environment)
    with pytest.raises(ConfigError, match="without a cluster's folder there is no such identity"):
        find_identity("local", None, environment=empty)
