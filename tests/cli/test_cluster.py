"""`init`, `channels`, `channel` and `keys` as their users meet them."""

from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from quorumcast.cli.cluster import ADD_EXAMPLES, INIT_EXAMPLES, KEYS_EXAMPLES, register
from quorumcast.runtime.keyfiles import load_client
from quorumcast.runtime.settings import load_cluster

app = typer.Typer()
register(app)


NOBODY_RUNS = (
    "0 of 4 replicas on this host have it; they learn it when they start, or from each other."
)
NOBODY_HAS_IT = {
    "replicas_here": {"have_it": 0, "of": 4},
    "replicas_elsewhere": {"have_it": 0, "of": 0},
    "faults": [],
}


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's real clusters is seen or touched."""
    for name in ("QUORUMCAST_CLUSTER", "QUORUMCAST_IDENTITY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUORUMCAST_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    assert call("init", "demo").exit_code == 0
    return tmp_path / "demo"


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def asked(*arguments: str) -> Any:
    done = call(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def refused(code: int, *arguments: str) -> str:
    """The one sentence that a command ends with."""
    done = call(*arguments)
    assert done.exit_code == code, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("quorumcast: ")
    return line.removeprefix("quorumcast: ")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "journal" not in path.parts
    }


# -- init ------------------------------------------------------------------------------------------


def test_init_makes_a_cluster_and_says_what_is_next() -> None:
    done = call("init", "demo")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Made the cluster demo in demo: 4 replicas, of which 1 may be f")
    for words in ("channel events (ab)", "channel alerts (bracha)", "channel metrics (plain)"):
        assert words in done.stdout
    assert done.stdout.endswith("Next:\n  quorumcast up demo\n")
    assert load_cluster(Path("demo")).manifest.faults == 1
    assert load_client(Path("demo/local.qc")).name == "local"


def test_init_in_json() -> None:
    made = asked("init", "demo", "--replicas", "7", "--lab", "--name", "mine")
    cluster = load_cluster(Path("demo"))
    assert made == {
        "cluster": "mine",
        "id": cluster.manifest.cluster_id.hex(),
        "folder": "demo",
        "lab": True,
        "n": 7,
        "f": 2,
        "replicas": [
            {"name": name, "address": address, "folder": "demo"}
            for name, address in cluster.addresses.items()
        ],
        "channels": ["events", "alerts", "metrics"],
        "identity": "demo/local.qc",
    }


def test_init_for_several_hosts() -> None:
    hosts = "a.example:7401,b.example,c.example,d.example"
    done = call("init", "demo", "--hosts", hosts)
    assert done.exit_code == 0
    assert "demo/hosts/a.example   # r1, tcp://a.example:7401" in done.stdout
    assert "demo/hosts/d.example   # r4, tcp://d.example:7400" in done.stdout
    assert "quorumcast replica" in done.stdout
    for number, host in enumerate(("a.example", "b.example", "c.example", "d.example"), 1):
        home = Path("demo/hosts") / host
        assert [path.parent.name for path in home.rglob("*.key")] == [f"r{number}"]
        assert load_cluster(home).manifest == load_cluster(Path("demo")).manifest


def test_init_with_few_replicas_says_what_is_missing() -> None:
    done = call("init", "demo", "--replicas", "3", "--faults", "1")
    assert done.exit_code == 0
    assert "Channels that tolerate lies (ab, bracha) need 4 replicas for 1 faults." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--replicas", "0"], "0 replicas: use 1 to 64"),
        (["--faults", "9"], "4 replicas cannot tolerate 9 crash faults: use at least 10 replicas"),
        (["--hosts", "a b"], "host 'a b' is not HOST:PORT"),
        (["--hosts", "a,a"], "address tcp://a:7400 stands there twice"),
        (["--hosts", "a,b", "--replicas", "4"], "--replicas 4 with 2 hosts: name a host for each"),
        (["--name", "a/b"], "cluster name 'a/b' contains a slash"),
    ],
)
def test_init_that_is_wrong_leaves_nothing(tmp_path: Path, arguments: list[str], said: str) -> None:
    assert refused(2, "init", "deep/demo", *arguments).startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_init_never_touches_a_cluster(demo: Path) -> None:
    before = contents(demo)
    assert refused(2, "init", "demo") == ("demo: there is a cluster already: choose another folder")
    assert contents(demo) == before


def test_usage_errors_have_no_traceback() -> None:
    for arguments in (["init"], ["init", "x", "--replicas", "many"], ["channel", "add"], ["keys"]):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "Traceback" not in done.output


# -- channels --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("demo")
def test_channels_show_what_each_promises() -> None:
    done = call("channels", "--cluster", "demo")
    assert done.exit_code == 0
    assert "events   ab        *            *" in done.stdout
    assert "alerts: While at most 1 of 4 replicas lies, all subscribers deliver the" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


@pytest.mark.usefixtures("demo")
def test_channels_in_json() -> None:
    found = asked("channels", "--cluster", "demo")
    assert [each["name"] for each in found] == ["events", "alerts", "metrics"]
    first = found[0]
    assert first["settings"]["confirm"] == {"every": 1000, "within": "250ms"}
    assert first["settings"]["durability"] == "memory"
    assert first["promise"].endswith(
        "events are kept in memory and do not outlive the cluster's run."
    )
    live = ("streams", "held", "confirmed", "floor", "publishers", "subscribers")
    assert all(first[key] is None for key in live), "only running replicas know"


def test_a_wrong_file_is_named_by_line(demo: Path) -> None:
    path = demo / "cluster.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('protocol = "bracha"', 'protocl = "x"'), encoding="utf-8")
    line = text[: text.index('protocol = "bracha"')].count("\n") + 1
    assert refused(2, "channels", "--cluster", "demo") == (
        f"demo/cluster.toml:{line}: channel alerts: there is no key protocl: did you mean protocol?"
    )


def test_the_cluster_is_found(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(2, "channels").startswith("no cluster: there is no cluster.toml in ")
    monkeypatch.chdir(demo / "r1")
    assert len(asked("channels")) == 3
    monkeypatch.chdir("/")
    monkeypatch.setenv("QUORUMCAST_CLUSTER", str(demo))
    assert len(asked("channels")) == 3
    assert refused(2, "channels", "--cluster", "nowhere").startswith("--cluster nowhere: there is")


def test_a_channel_with_every_option(demo: Path) -> None:
    options = (
        "--protection bft --protocol bracha --confirm 50 --within 1s --deliver safe "
        "--publishers 'desk-*, audit' --subscribers audit --max-publishers 3 --max-subscribers 4 "
        "--schema severity=int8,host=string --retention-events 5 --retention-age 2h "
        "--retention-bytes 10MiB --queue 9 --overflow block --on-gap continue --ttl 10m --signed "
        "--durability memory --trusted-subscribers audit"
    )
    made = asked("channel", "add", "trades", "--cluster", "demo", *shlex.split(options))
    assert made["version"] == 2
    assert made["settings"] == {
        "name": "trades",
        "protection": "bft",
        "order": "fifo",
        "protocol": "bracha",
        "confirm": {"every": 50, "within": "1s"},
        "deliver": "safe",
        "publishers": ["desk-*", "audit"],
        "subscribers": ["audit"],
        "max_publishers": 3,
        "max_subscribers": 4,
        "schema": {"severity": "int8", "host": "string"},
        "retention": {"events": 5, "age": "2h", "bytes": "10MiB"},
        "queue": {"events": 9, "overflow": "block"},
        "on_gap": "continue",
        "ttl": "10m",
        "signed": True,
        "durability": "memory",
        "trusted_publishers": [],
        "trusted_subscribers": ["audit"],
    }
    assert load_cluster(demo).settings[-1].table() == made["settings"]


@pytest.mark.usefixtures("demo")
def test_a_channel_in_words() -> None:
    done = call("channel", "add", "trades", "--cluster", "demo")
    assert done.exit_code == 0
    assert "Added channel trades to demo/cluster.toml (version 2)." in done.stdout
    assert "Nobody may publish on it" in done.stdout
    done = call(
        "channel", "add", "load", "--protocol", "plain", "--publishers", "*", "--cluster", "demo"
    )
    assert done.exit_code == 0
    assert "Nobody may publish" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["events"], "channel events: there is one already: use another name"),
        (["a/b"], 'channel a/b: name = "a/b" contains a slash'),
        (["x", "--protocol", "chain"], 'channel x: protocol = "chain" is not supported yet'),
        (["x", "--protocol", "ba"], 'channel x: protocol = "ba" is not known: use "ab"'),
        (["x", "--durability", "disk"], 'channel x: durability = "disk" is not supported yet'),
        (["x", "--confirm", "0"], "channel x: confirm.every = 0 is out of range: use 1 to 32768"),
        (["x", "--confirm", "no"], "--confirm no: use a number of publications, or false"),
        (["x", "--confirm", "false"], "channel x: confirm = false loses publications"),
        (["x", "--confirm", "false", "--within", "1s"], "--confirm false and --within exclude"),
        (["x", "--schema", "a"], "--schema a: use NAME=TYPE once for each attribute"),
        (["x", "--schema", "a=int8,a=int8"], "--schema a=int8: use NAME=TYPE once for each"),
        (["x", "--schema", "a=int9"], "channel x: schema.a is wrong: 'int9' is not a type"),
        (["x", "--publishers", "a,,b"], 'channel x: publishers has "", which is empty'),
        (["x", "--ttl", "soon"], 'channel x: ttl is wrong: "soon" is not a duration'),
    ],
)
def test_channels_that_cannot_be(demo: Path, arguments: list[str], said: str) -> None:
    before = contents(demo)
    assert refused(2, "channel", "add", *arguments, "--cluster", "demo").startswith(said)
    assert contents(demo) == before


def test_an_edit_by_hand_is_signed(demo: Path) -> None:
    path = demo / "cluster.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('publishers = ["*"]', 'publishers = ["me"]'), encoding="utf-8")
    assert refused(2, "channels", "--cluster", "demo").endswith("with quorumcast channel sign")
    done = call("channel", "sign", "--cluster", "demo")
    assert (done.exit_code, done.stdout) == (
        0,
        f"Signed demo/cluster.toml as version 2.\n{NOBODY_RUNS}\n",
    )
    done = call("channel", "sign", "--cluster", "demo")
    assert done.stdout == f"demo/cluster.toml is signed as it is: version 2.\n{NOBODY_RUNS}\n"
    assert asked("channel", "sign", "--cluster", "demo") == {
        "file": "demo/cluster.toml",
        "version": 2,
        "changed": False,
        **NOBODY_HAS_IT,
    }


# -- keys ------------------------------------------------------------------------------------------


def test_keys_add(demo: Path) -> None:
    call("channel", "add", "secret", "--subscribers", "audit", "--cluster", "demo")
    done = call("keys", "add", "probe-7", "--cluster", "demo")
    assert done.exit_code == 0
    assert done.stdout == (
        "Wrote demo/probe-7.qc: whoever has this file speaks as probe-7.\n"
        "It may publish: events, alerts, metrics.\n"
        "It may subscribe to: events, alerts, metrics.\n"
    )
    assert stat.S_IMODE((demo / "probe-7.qc").stat().st_mode) == 0o600
    made = asked("keys", "add", "audit", "--out", "audit.qc", "--cluster", "demo")
    assert made["file"] == "audit.qc"
    assert made["subscribes"] == ["events", "alerts", "metrics", "secret"]
    assert load_client(Path("audit.qc")).name == "audit"


def test_keys_revoke(demo: Path) -> None:
    assert call("keys", "add", "probe-7", "--cluster", "demo").exit_code == 0
    done = call("keys", "revoke", "probe-7", "--cluster", "demo")
    assert (done.exit_code, done.stdout) == (
        0,
        f"Revoked probe-7: demo/cluster.toml is version 2.\n{NOBODY_RUNS}\n",
    )
    assert load_cluster(demo).revoked == ("probe-7",)
    assert asked("keys", "revoke", "probe-7", "--cluster", "demo") == {
        "name": "probe-7",
        "version": 2,
        "changed": False,
        **NOBODY_HAS_IT,
    }
    os.unlink(demo / "probe-7.qc")
    assert refused(2, "keys", "add", "probe-7", "--cluster", "demo") == (
        "name probe-7 was revoked, for ever: choose another one"
    )


def test_keys_that_cannot_be(demo: Path) -> None:
    before = contents(demo)
    cluster = ("--cluster", "demo")
    assert refused(2, "keys", "add", "operator", *cluster).startswith("name operator is the oper")
    assert refused(2, "keys", "revoke", "operator", *cluster).startswith("name 'operator' is the")
    assert refused(2, "keys", "add", "r1", *cluster).startswith("name r1 is a replica's")
    assert refused(2, "keys", "add", "a/b", *cluster).startswith("name 'a/b' contains a slash")
    assert "exists already" in refused(2, "keys", "add", "local", *cluster)
    assert "cannot be written" in refused(2, "keys", "add", "x", "--out", "no/x.qc", *cluster)
    assert refused(2, "keys", "revoke", "r1", *cluster).startswith("name 'r1' is a replica")
    assert contents(demo) == before


def test_only_the_operator_may(demo: Path) -> None:
    (demo / "operator.key").unlink()
    before = contents(demo)
    for arguments in (["keys", "add", "x"], ["keys", "revoke", "x"], ["channel", "add", "x"]):
        said = refused(4, *arguments, "--cluster", "demo")
        assert said.startswith("demo/operator.key: missing: only the operator may do this")
    assert contents(demo) == before


def test_a_key_that_others_can_read_is_refused_with_the_command(demo: Path) -> None:
    (demo / "operator.key").chmod(0o644)
    said = refused(2, "keys", "add", "x", "--cluster", "demo")
    assert said.endswith("others may use it (mode 0644): chmod 600 demo/operator.key")
    assert not (demo / "x.qc").exists()


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["init", "channels", "channel add", "channel sign", "keys add", "keys revoke"],
)
def test_every_command_has_examples_in_its_help(command: str) -> None:
    done = call(*command.split(), "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.stdout
    assert f"quorumcast {command}" in done.stdout
    assert "--json" in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        line
        for text in (INIT_EXAMPLES, ADD_EXAMPLES, KEYS_EXAMPLES)
        for line in text.splitlines()
        if line.startswith("quorumcast ")
    ],
)
@pytest.mark.usefixtures("demo")
def test_the_examples_work(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUMCAST_CLUSTER", str(tmp_path / "demo"))
    (tmp_path / "stick").mkdir()
    line = line.replace("/media/stick", "stick").replace(" demo", " other")
    done = call(*shlex.split(line)[1:])
    assert done.exit_code == 0, done.stderr
