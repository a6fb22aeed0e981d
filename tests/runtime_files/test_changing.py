"""Changes under the operator's signature: in place, in every copy, and all or nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from quorumcast.core.channel import Channel
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.runtime.changing import (
    add_channel,
    adopt,
    load_operator,
    revoke,
    sign_again,
    with_charter,
)
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import VERSIONS, Charter
from quorumcast.runtime.files import NotPermitted
from quorumcast.runtime.folder import add_client
from quorumcast.runtime.keyfiles import load_client
from quorumcast.runtime.settings import ClusterFile, load_cluster, parse_cluster
from tests.runtime_files.made import OPERATOR, PATH, cluster, identity


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "journal" not in path.parts
    }


def names(made: ClusterFile) -> list[str]:
    return [each.name for each in made.channels]


# -- channels --------------------------------------------------------------------------------------


def test_a_channel_is_added(folder: Path) -> None:
    made, settings = add_channel(folder, {"name": "trades", "publishers": ["desk-*"], "ttl": "5s"})
    assert settings.channel == Channel("trades", publishers=("desk-*",))
    found = load_cluster(folder)
    assert found == made
    assert names(found) == ["events", "alerts", "metrics", "trades"]
    assert found.settings[-1].ttl_seconds == 5.0
    assert found.charter.version == 2


def test_what_a_person_wrote_in_the_file_stays(folder: Path) -> None:
    path = folder / "cluster.toml"
    text = path.read_text(encoding="utf-8")
    mine = text.replace("[[channel]]", "# mine\n[[channel]]  # my own", 1).replace(
        "version = 1", "version   =   1 # one"
    )
    path.write_text(mine, encoding="utf-8")
    add_channel(folder, {"name": "trades"})
    revoke(folder, "probe-9")
    found = path.read_text(encoding="utf-8")
    assert "# mine\n[[channel]]  # my own\n" in found
    assert "version   =   3 # one\n" in found
    assert 'revoked = ["probe-9"]\n' in found
    kept = [line for line in mine.splitlines() if not line.startswith(("version", "rev", "signat"))]
    assert [line for line in found.splitlines() if line in kept or not line][: len(kept)] == kept


def test_a_channel_that_cannot_be_changes_nothing(folder: Path) -> None:
    before = contents(folder)
    for values, said in (
        ({"name": "events"}, "channel events: there is one already"),
        ({"name": "x", "protocol": "chain"}, '^channel x: protocol = "chain" is not supported yet'),
        ({"name": "x", "confirm": False}, "^channel x: confirm = false loses"),
        ({"name": "x", "colour": 1}, "^channel x: there is no key colour"),
        ({}, "^channel: name is missing"),
    ):
        with pytest.raises(ConfigError, match=said):
            add_channel(folder, values)
    assert contents(folder) == before


def test_who_is_not_the_operator_changes_nothing(folder: Path) -> None:
    (folder / "operator.key").unlink()
    before = contents(folder)
    for change in (
        lambda: add_channel(folder, {"name": "x"}),
        lambda: revoke(folder, "probe-9"),
        lambda: add_client(folder, "probe-7"),
    ):
        with pytest.raises(NotPermitted, match="only the operator may do this"):
            change()
    assert contents(folder) == before


def test_a_file_that_is_wrong_already_is_not_changed(folder: Path) -> None:
    path = folder / "cluster.toml"
    path.write_text(path.read_text(encoding="utf-8") + "colour = 1\n", encoding="utf-8")
    before = contents(folder)
    for change in (
        lambda: add_channel(folder, {"name": "x"}),
        lambda: revoke(folder, "probe-9"),
        lambda: sign_again(folder),
    ):
        with pytest.raises(ConfigError, match="channel metrics: there is no key colour"):
            change()
    assert contents(folder) == before


# -- revoked names ---------------------------------------------------------------------------------


def test_a_name_is_revoked_for_ever(folder: Path) -> None:
    add_client(folder, "probe-7")
    made, changed = revoke(folder, "probe-7")
    assert changed
    assert load_cluster(folder).revoked == made.revoked == ("probe-7",)
    again, changed = revoke(folder, "probe-7")
    assert not changed
    assert again.charter == made.charter
    (folder / "probe-7.qc").unlink()
    with pytest.raises(ConfigError, match="name probe-7 was revoked, for ever"):
        add_client(folder, "probe-7")


@pytest.mark.parametrize(("name", "said"), [("r1", "is a replica"), ("a b", "white space")])
def test_names_that_cannot_be_revoked(folder: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        revoke(folder, name)
    assert load_cluster(folder).charter.version == 1


# -- copies ----------------------------------------------------------------------------------------


def test_every_copy_in_the_folder_is_changed(spread: Path) -> None:
    host = spread / "hosts" / "a.example" / "cluster.toml"
    text = host.read_text(encoding="utf-8")
    host.write_text(text.replace("tcp://a.example:7400", "tcp://0.0.0.0:7400"), encoding="utf-8")
    made, _ = add_channel(spread, {"name": "trades"})
    copies = sorted(spread.glob("hosts/*/cluster.toml"))
    assert len(copies) == 4
    assert all(load_cluster(path).charter == made.charter for path in copies)
    assert load_cluster(host).addresses["r1"] == "tcp://0.0.0.0:7400", "a host's own"


def test_a_copy_that_is_wrong_stops_all_of_it(spread: Path) -> None:
    (spread / "hosts" / "b.example" / "cluster.toml").write_text("x = 1", encoding="utf-8")
    before = contents(spread)
    with pytest.raises(ConfigError, match="b.example/cluster.toml:1: there is no key x"):
        add_channel(spread, {"name": "trades"})
    assert contents(spread) == before


def test_clients_beside_it_learn_of_it(folder: Path) -> None:
    (folder / "broken.qc").write_text("?", encoding="utf-8")
    before = load_client(folder / "local.qc")
    made, _ = add_channel(folder, {"name": "trades"})
    after = load_client(folder / "local.qc")
    assert after.cluster.charter == made.charter
    assert after.seeds == before.seeds
    assert (folder / "broken.qc").read_text(encoding="utf-8") == "?"


# -- signing what was edited -----------------------------------------------------------------------


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "cluster.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_an_edit_by_hand_is_signed(folder: Path) -> None:
    edit(folder, 'protocol = "bracha"', 'protocol = "bracha"  # why\nmax_publishers = 3')
    with pytest.raises(ConfigError, match="signature is not the operator's"):
        load_cluster(folder)
    made, changed = sign_again(folder)
    assert changed
    assert load_cluster(folder) == made
    assert made.channels[1].max_publishers == 3
    assert made.charter.version == 2
    assert "# why" in (folder / "cluster.toml").read_text(encoding="utf-8")
    assert sign_again(folder) == (made, False)


def test_a_file_without_signature_is_signed(folder: Path) -> None:
    path = folder / "cluster.toml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("# Channels"), text.index("[[channel]]")
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    made, changed = sign_again(folder)
    assert changed
    assert load_cluster(folder) == made
    assert made.charter.version == 2


def test_what_cannot_change_is_not_signed(folder: Path) -> None:
    before = (folder / "cluster.toml").read_text(encoding="utf-8")
    for old, new, key in (
        ('protocol = "bracha"', 'protocol = "ab"', "protocol"),
        ('protocol = "bracha"', 'protocol = "bracha"\nsigned = true', "signed"),
        ('protocol = "bracha"', 'protocol = "bracha"\nconfirm = { every = 7 }', "confirm"),
        ('protocol = "bracha"', 'protocol = "bracha"\nschema = { host = "string" }', "schema"),
    ):
        edit(folder, old, new)
        said = rf"cluster.toml:\d+: channel alerts: {key} cannot change from .* put it back, or use"
        with pytest.raises(ConfigError, match=said):
            sign_again(folder)
        (folder / "cluster.toml").write_text(before, encoding="utf-8")
    edit(folder, 'protocol = "bracha"', 'protocol = "bracha"\nconfirm = { within = "9ms" }')
    assert sign_again(folder)[1]


def test_a_revoked_name_is_not_edited_away(folder: Path) -> None:
    revoke(folder, "probe-9")
    edit(folder, 'revoked = ["probe-9"]', "revoked = []")
    with pytest.raises(ConfigError, match="probe-9 was revoked, for ever: put it back"):
        sign_again(folder)


def test_a_change_of_an_old_copy_begins_from_what_is_in_force(folder: Path) -> None:
    path = folder / "cluster.toml"
    old = path.read_text(encoding="utf-8")
    revoke(folder, "probe-9")
    path.write_text(old, encoding="utf-8")
    made, _ = add_channel(folder, {"name": "trades"})
    assert (made.charter.version, made.revoked) == (3, ("probe-9",))
    assert load_cluster(folder) == made
    path.write_text(old, encoding="utf-8")
    with pytest.raises(ConfigError, match="probe-9 was revoked, for ever"):
        add_client(folder, "probe-9")


def test_an_old_copy_is_not_edited_and_signed(folder: Path) -> None:
    path = folder / "cluster.toml"
    old = path.read_text(encoding="utf-8")
    revoke(folder, "probe-9")
    path.write_text(old.replace('"bracha"', '"bracha"\nttl = "9s"'), encoding="utf-8")
    with pytest.raises(ConfigError, match="made from version 1, and version 2 is in force"):
        sign_again(folder)


def test_there_is_a_last_version(folder: Path) -> None:
    edit(folder, "version = 1", f"version = {VERSIONS}")
    with pytest.raises(ConfigError, match=f"version {VERSIONS} is the last one"):
        sign_again(folder)


# -- what is handed on -----------------------------------------------------------------------------


def test_a_newer_charter_is_adopted_and_an_older_one_is_not(folder: Path) -> None:
    cluster = load_cluster(folder)
    operator = load_operator(folder, cluster)
    newer = Charter(5, cluster.settings[:1], ("probe-9",)).signed(
        operator, cluster.manifest.cluster_id
    )
    adopted = adopt(cluster, newer)
    assert adopted.charter == load_cluster(folder).charter == newer
    assert adopt(cluster, cluster.charter).charter == newer
    assert load_cluster(folder).charter == newer


def test_a_forged_charter_is_not_adopted(folder: Path) -> None:
    cluster = load_cluster(folder)
    before = contents(folder)
    forged = Charter(9).signed(identity("mallory"), cluster.manifest.cluster_id)
    with pytest.raises(AuthError, match="operator did not sign it"):
        adopt(cluster, forged)
    assert contents(folder) == before


def charter_of(version: int, *names: str, revoked: tuple[str, ...] = ()) -> Charter:
    found = tuple(ChannelSettings(Channel(name)) for name in names)
    return Charter(version, found, revoked).signed(OPERATOR, cluster().manifest.cluster_id)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("revoked = []\n", ""),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "channel = []\n" + text[: text.index("[[channel]]")],
    ],
)
def test_any_file_can_be_given_any_charter(change) -> None:
    """Where an edit would not say the right thing, the file is written anew."""
    text = change(cluster().text())
    before = parse_cluster(text, PATH, signed=False)
    for charter in (
        charter_of(2, "alerts", "more"),
        charter_of(2, "alerts", revoked=("a", "b")),
        charter_of(2, "other"),
        charter_of(2),
    ):
        edited = with_charter(text, before, charter)
        assert parse_cluster(edited, PATH) == msgspec.structs.replace(before, charter=charter)
