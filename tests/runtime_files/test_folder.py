"""A cluster's folder: what is made, for whose eyes, and nothing of it when something is wrong."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import FIRST
from quorumcast.runtime.changing import load_operator
from quorumcast.runtime.files import NotPermitted
from quorumcast.runtime.folder import (
    add_client,
    host_folder,
    make_cluster,
    replica_identity,
    replicas_here,
)
from quorumcast.runtime.keyfiles import load_client
from quorumcast.runtime.settings import load_cluster
from quorumcast.store import Journal
from tests.runtime_files.made import entropy

ADDRESSES = [f"unix:///tmp/r{number}" for number in range(1, 5)]
SECRETS = ("operator.key", "local.qc", *(f"r{number}/replica.key" for number in range(1, 5)))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def tree(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


# -- what is made ----------------------------------------------------------------------------------


def test_a_local_cluster(folder: Path) -> None:
    cluster = load_cluster(folder)
    assert cluster.name == "demo"
    assert (len(cluster.manifest.replicas), cluster.manifest.faults) == (4, 1)
    assert not cluster.manifest.lab
    assert [(each.name, each.protocol) for each in cluster.channels] == [
        ("events", "ab"),
        ("alerts", "bracha"),
        ("metrics", "plain"),
    ]
    ports = [int(each.rpartition(":")[2]) for each in cluster.addresses.values()]
    assert all(each.startswith("tcp://127.0.0.1:") for each in cluster.addresses.values())
    assert len(set(ports)) == 4
    assert min(ports) >= 7400
    assert replicas_here(cluster) == ("r1", "r2", "r3", "r4")


def test_secrets_are_their_owners(folder: Path) -> None:
    for name in SECRETS:
        assert mode(folder / name) == 0o600, name
    for number in range(1, 5):
        assert mode(folder / f"r{number}") == 0o700
    text = (folder / "cluster.toml").read_text(encoding="utf-8")
    for name in SECRETS:
        secret = (folder / name).read_text(encoding="utf-8").split('sign = "')[1][:64]
        assert secret not in text


def test_local_may_use_every_channel(folder: Path) -> None:
    local = load_client(folder / "local.qc")
    assert local.name == "local"
    assert local.manifest == load_cluster(folder).manifest
    assert all(each.admits_publisher("local") for each in local.channels)
    assert all(each.admits_subscriber("local") for each in local.channels)


def test_every_replica_has_its_keys_and_its_first_life(folder: Path) -> None:
    cluster = load_cluster(folder)
    for index, replica in enumerate(cluster.manifest.replicas):
        assert replica_identity(folder, replica.name).public == replica.keys
        journal = Journal(
            folder / replica.name / "journal",
            cluster.manifest.cluster_id,
            index,
            4,
            boot="this",
            now_ms=1,
            entropy=entropy(),
        )
        assert journal.life is not None
        assert journal.life.valid[-1][0] == FIRST
        journal.close()


def test_two_clusters_share_nothing(tmp_path: Path) -> None:
    one = make_cluster(tmp_path / "a", addresses=ADDRESSES)
    two = make_cluster(tmp_path / "b", addresses=ADDRESSES)
    keys = [
        key
        for made in (one.manifest, two.manifest)
        for each in made.replicas
        for key in (each.keys.sign, each.keys.agree)
    ]
    keys += [made.manifest.operator for made in (one, two)]
    assert len(set(keys)) == len(keys) == 18
    assert one.manifest.nonce != two.manifest.nonce


def test_a_lab_cluster_is_another_one(tmp_path: Path) -> None:
    lab = make_cluster(tmp_path / "a", addresses=ADDRESSES, lab=True, entropy=entropy())
    other = make_cluster(tmp_path / "b", addresses=ADDRESSES, entropy=entropy())
    assert load_cluster(tmp_path / "a").manifest.lab
    assert lab.manifest.operator == other.manifest.operator
    assert lab.manifest.cluster_id != other.manifest.cluster_id


@pytest.mark.parametrize(
    ("replicas", "faults", "channels"),
    [
        (1, 0, ["events", "alerts", "metrics"]),
        (3, 1, ["metrics"]),
        (2, 1, ["metrics"]),
        (7, 2, ["events", "alerts", "metrics"]),
    ],
)
def test_channels_that_the_cluster_can_carry(
    tmp_path: Path, replicas: int, faults: int, channels: list[str]
) -> None:
    made = make_cluster(tmp_path / "a", replicas=replicas, faults=faults)
    assert [each.name for each in load_cluster(tmp_path / "a").channels] == channels
    assert (made.channels[-1].deliver == "first") is (replicas == 2)


def test_names_of_clusters(tmp_path: Path) -> None:
    assert make_cluster(tmp_path / "my lab", addresses=ADDRESSES).name == "cluster"
    assert make_cluster(tmp_path / "x", addresses=ADDRESSES, name="mine").name == "mine"


def test_an_empty_folder_is_filled_where_it_is(tmp_path: Path) -> None:
    before = tmp_path.stat().st_ino
    make_cluster(tmp_path, addresses=ADDRESSES)
    assert tmp_path.stat().st_ino == before, "who stands in it still does"
    assert load_cluster(tmp_path).path == tmp_path / "cluster.toml"
    assert ".making" not in tree(tmp_path)


# -- several hosts ---------------------------------------------------------------------------------


def test_a_host_has_its_own_keys_alone(spread: Path) -> None:
    cluster = load_cluster(spread)
    assert replicas_here(cluster) == ()
    homes = {name: host_folder(spread, cluster.addresses[name]) for name in cluster.addresses}
    names = ["a.example", "b.example", "10.0.0.3", "--1"]
    assert [home.name for home in homes.values()] == names
    for name, home in homes.items():
        here = load_cluster(home)
        assert here.manifest == cluster.manifest
        assert replicas_here(here) == (name,)
        keys = {path for path in tree(home) if path.endswith((".key", ".qc", ".pem"))}
        behind = {"--1": set()}.get(home.name, {f"{name}/tls.pem"})
        assert keys == {f"{name}/replica.key"} | behind
        assert all(mode(home / path) == 0o600 for path in keys)
        entry = cluster.manifest.replica(name)
        assert entry is not None
        assert replica_identity(home, name).public == entry.keys
        assert bool(entry.tls) is bool(behind), "TLS where it leaves the host"


def test_two_replicas_of_one_host_share_its_folder(tmp_path: Path) -> None:
    hosts = ["tcp://a:1", "tcp://a:2", "tcp://b:1", "tcp://c:1"]
    cluster = make_cluster(tmp_path / "x", addresses=hosts, spread=True)
    home = host_folder(tmp_path / "x", cluster.addresses["r1"])
    assert replicas_here(load_cluster(home)) == ("r1", "r2")


# -- nothing half-made -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"replicas": 0}, "0 replicas: use 1 to 64"),
        ({"replicas": 65}, "65 replicas: use 1 to 64"),
        ({"replicas": 4, "faults": 4}, "4 replicas cannot tolerate 4 crash faults"),
        ({"faults": -1}, "-1 faults make no sense: use 0 or more"),
        ({"name": "a b"}, "cluster name 'a b' contains white space: use a name such as demo"),
        ({"addresses": ["tcp://a:1", "tcp://a:1"]}, "address tcp://a:1 stands there twice"),
        ({"addresses": ["a:1"], "faults": 0}, "address 'a:1' is not an address: use tcp://HOST"),
        ({"first_port": 65_535}, "4 free ports from 65535 on are needed"),
    ],
)
def test_wrong_arguments_make_nothing(tmp_path: Path, options: dict, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make_cluster(tmp_path / "deep" / "er", **options)
    assert said in str(raised.value)
    assert tree(tmp_path) == set()


def test_places_that_are_taken(folder: Path, tmp_path: Path) -> None:
    before = {path: (folder / path).stat().st_mtime_ns for path in tree(folder)}
    with pytest.raises(ConfigError, match="demo: there is a cluster already: choose another fo"):
        make_cluster(folder)
    assert {path: (folder / path).stat().st_mtime_ns for path in tree(folder)} == before
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file: not a folder: choose another name"):
        make_cluster(tmp_path / "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(ConfigError, match="full: not empty: choose a new or an empty folder"):
        make_cluster(tmp_path / "full")
    with pytest.raises(ConfigError, match="cannot be written: Not a directory"):
        make_cluster(tmp_path / "file" / "deep")


WITHOUT_SPACE = """
import resource, signal, sys
from pathlib import Path
from quorumcast.core.errors import QuorumcastError
from quorumcast.runtime.folder import make_cluster
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    make_cluster(Path(sys.argv[1]))
except QuorumcastError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("limit", [0, 1000, 4000])
def test_files_that_cannot_be_written_leave_no_trace(
    tmp_path: Path, limit: int, there: bool
) -> None:
    """A real limit of the system on the size of files: of any, of most, of the journal's."""
    folder = tmp_path / "deep" / "x"
    if there:
        folder.mkdir(parents=True)
    command = [sys.executable, "-c", WITHOUT_SPACE, str(folder), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 7, done.stderr
    assert ("No space left" if limit == 4000 else "File too large") in done.stdout
    assert tree(tmp_path) == ({"deep", "deep/x"} if there else set())


def test_two_at_a_time_do_not_mix(tmp_path: Path) -> None:
    """Somebody began a moment ago, after this one looked: his work stays as it is."""
    good, draws = entropy(), 0

    def slow(size: int) -> bytes:
        nonlocal draws
        draws += 1
        if draws == 1:
            (tmp_path / ".making").mkdir()
            (tmp_path / ".making" / "his").touch()
        return good(size)

    with pytest.raises(ConfigError, match="cannot be written: File exists"):
        make_cluster(tmp_path, addresses=ADDRESSES, entropy=slow)
    assert tree(tmp_path) == {".making", ".making/his"}


# -- clients ---------------------------------------------------------------------------------------


def test_a_client_is_added(folder: Path, tmp_path: Path) -> None:
    path, made = add_client(folder, "probe-7")
    assert path == folder / "probe-7.qc"
    assert mode(path) == 0o600
    found = load_client(path)
    assert found.name == "probe-7"
    assert found.identity.public == made.identity.public
    assert found.identity.public != load_client(folder / "local.qc").identity.public
    assert add_client(folder, "a", out=tmp_path)[0] == tmp_path / "a.qc"
    assert add_client(folder, "b", out=tmp_path / "other")[0] == tmp_path / "other"
    assert load_client(tmp_path / "other").name == "b"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "name '' is empty: use a name such as probe-7"),
        ("../x", "name '../x' contains a slash"),
        ("a*", "contains one of \\* \\? \\["),
        ("x" * 129, "has 129 bytes, more than 128"),
        ("r1", "name r1 is a replica's: choose another one for a client"),
        ("local", "local.qc: exists already: choose another name"),
    ],
)
def test_clients_that_cannot_be(folder: Path, name: str, said: str) -> None:
    before = tree(folder)
    with pytest.raises(ConfigError, match=said):
        add_client(folder, name)
    assert tree(folder) == before


def test_only_the_operator_adds_clients(spread: Path, folder: Path) -> None:
    home = spread / "hosts" / "a.example"
    with pytest.raises(NotPermitted, match="operator.key: missing: only the operator may do this"):
        add_client(home, "probe-7")
    os.replace(spread / "operator.key", folder / "operator.key")
    with pytest.raises(ConfigError, match="operator.key:4: cluster is another cluster"):
        add_client(folder, "probe-7")
    assert not (folder / "probe-7.qc").exists()


def test_an_operators_key_that_is_not_the_clusters(folder: Path) -> None:
    path = folder / "operator.key"
    text = path.read_text(encoding="utf-8")
    seed = text.split('sign = "')[1][:64]
    path.write_text(text.replace(seed, "ab" * 32), encoding="utf-8")
    with pytest.raises(NotPermitted, match="not the key of the operator that"):
        load_operator(folder, load_cluster(folder))


# -- replicas' keys --------------------------------------------------------------------------------


def test_a_replicas_keys_must_be_its_own(folder: Path) -> None:
    with pytest.raises(ConfigError, match="there is no replica r9: there are r1, r2, r3, r4"):
        replica_identity(folder, "r9")
    path = folder / "r1" / "replica.key"
    text = path.read_text(encoding="utf-8")
    seed = text.split('sign = "')[1][:64]
    path.write_text(text.replace(seed, "ab" * 32), encoding="utf-8")
    with pytest.raises(ConfigError, match="not the keys that .*cluster.toml has for r1"):
        replica_identity(folder, "r1")
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600 .*/r1/replica.key"):
        replica_identity(folder, "r1")
    path.unlink()
    with pytest.raises(ConfigError, match="replica.key: cannot be read: No such file"):
        replica_identity(folder, "r1")
    assert replicas_here(load_cluster(folder)) == ("r2", "r3", "r4")
