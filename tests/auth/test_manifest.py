"""The manifest: what its digests cover, what they must not, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from quorumcast.auth.certificate import issue
from quorumcast.auth.identity import PublicKeys
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.ids import Cluster
from quorumcast.core.limits import REPLICAS
from tests.auth.parties import OPERATOR, PROBE, identity, manifest, replicas

GOOD = manifest()
FIRST, *OTHERS = GOOD.replicas


def with_first(**changes: object) -> Manifest:
    return manifest(replicas=(msgspec.structs.replace(FIRST, **changes), *OTHERS))


@dataclass
class Change:
    """A manifest that differs from `GOOD`, and where."""

    manifest: Manifest
    tables: tuple[str, ...]
    same_cluster: bool = True


other_keys = PublicKeys(identity("x").public.sign, FIRST.keys.agree)
CHANGES = {
    "nonce": Change(manifest(nonce=b"m" * 32), ("cluster",), same_cluster=False),
    "lab": Change(manifest(lab=True), ("cluster",), same_cluster=False),
    "operator": Change(manifest(operator=b"o" * 32), ("cluster",), same_cluster=False),
    "epoch": Change(manifest(epoch=2), ("cluster",)),
    "faults": Change(manifest(faults=0), ("cluster",)),
    "one more": Change(manifest(5), ("cluster", "replica r5")),
    "one less": Change(manifest(3, 0), ("cluster", "replica r4")),
    "renamed": Change(with_first(name="r9"), ("replica r1", "replica r9")),
    "signing key": Change(with_first(keys=other_keys), ("replica r1",)),
    "agreement key": Change(
        with_first(keys=PublicKeys(FIRST.keys.sign, identity("x").public.agree)), ("replica r1",)
    ),
    "TLS": Change(with_first(tls=b"certificate"), ("replica r1",)),
    "order": Change(
        manifest(replicas=(OTHERS[0], FIRST, *OTHERS[1:])), ("replica r1", "replica r2")
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_difference_is_seen_and_named(what: str) -> None:
    change = CHANGES[what]
    assert change.manifest.digest() != GOOD.digest()
    assert set(GOOD.difference(change.manifest.table_digests())) == set(change.tables)
    assert (change.manifest.cluster_id == GOOD.cluster_id) == change.same_cluster


def test_every_field_of_the_fixed_part_is_among_the_changes() -> None:
    """A field that is added later needs its digest, or a reason to have none."""
    differing = {
        field
        for change in CHANGES.values()
        for field in Manifest.__struct_fields__
        if getattr(change.manifest, field) != getattr(GOOD, field)
    }
    assert differing == set(Manifest.__struct_fields__)
    entries = {
        field
        for change in CHANGES.values()
        for one, other in zip(change.manifest.replicas, GOOD.replicas, strict=False)
        for field in ReplicaEntry.__struct_fields__
        if getattr(one, field) != getattr(other, field)
    }
    assert entries == set(ReplicaEntry.__struct_fields__) - {"addresses"}


def test_a_party_that_shows_fewer_tables_or_more_differs_in_those() -> None:
    theirs = GOOD.table_digests()
    del theirs["replica r2"]
    assert GOOD.difference(theirs) == ("replica r2",)
    assert GOOD.difference({**GOOD.table_digests(), "channels": bytes(32)}) == ("channels",)
    assert GOOD.difference({}) == ("cluster", *(f"replica r{number}" for number in range(1, 5)))
    assert GOOD.difference(GOOD.table_digests()) == ()


def test_no_two_manifests_share_a_digest() -> None:
    digests = {change.manifest.digest() for change in CHANGES.values()} | {GOOD.digest()}
    assert len(digests) == len(CHANGES) + 1


def test_addresses_are_in_no_digest() -> None:
    moved = with_first(addresses=("127.0.0.1:7000", "[::1]:7000"))
    assert moved.digest() == GOOD.digest()
    assert GOOD.difference(moved.table_digests()) == ()


def test_fields_do_not_run_into_each_other() -> None:
    one = with_first(tls=b"ab")
    sign, agree = FIRST.keys.sign, FIRST.keys.agree
    digests = {one.table_digests()["replica r1"], GOOD.table_digests()["replica r1"]}
    swapped = with_first(keys=PublicKeys(agree, sign))
    digests.add(swapped.table_digests()["replica r1"])
    assert len(digests) == 3


def test_the_cluster_that_machines_know() -> None:
    assert manifest(epoch=3, lab=True).cluster() == Cluster(
        id=manifest(lab=True).cluster_id,
        epoch=3,
        replicas=("r1", "r2", "r3", "r4"),
        faults=1,
        operator=OPERATOR.public.sign,
        lab=True,
    )
    assert len(GOOD.cluster_id) == 32


@pytest.mark.parametrize(("count", "faults"), [(1, 0), (2, 1), (4, 1), (REPLICAS, 21)])
def test_clusters_that_some_channel_can_use(count: int, faults: int) -> None:
    assert len(manifest(count, faults).cluster().replicas) == count


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"replicas": ()}, "0 replicas: use 1 to 64"),
        ({"replicas": replicas(REPLICAS + 1)}, "65 replicas: use 1 to 64"),
        ({"faults": 4}, "4 replicas cannot tolerate 4 crash faults"),
        ({"faults": -1}, "-1 faults make no sense"),
        ({"nonce": b"short"}, "nonce has 5 bytes: use 32"),
        ({"operator": b"short"}, "the operator's signing key has 5 bytes"),
        ({"operator": bytes(32)}, "the operator's signing key is a point of small order"),
        ({"epoch": 0}, "epoch 0 is out of range"),
        ({"epoch": 2**63}, "out of range"),
        ({"replicas": (FIRST, FIRST)}, "two replicas are named r1"),
        (
            {"replicas": (FIRST, ReplicaEntry("r2", FIRST.keys))},
            "replica r2 has a key of replica r1",
        ),
        (
            {
                "replicas": (
                    FIRST,
                    ReplicaEntry("r2", PublicKeys(PROBE.public.sign, FIRST.keys.agree)),
                )
            },
            "replica r2 has a key of replica r1",
        ),
        ({"replicas": (ReplicaEntry("r1", OPERATOR.public),)}, "has a key of the operator"),
        ({"replicas": (ReplicaEntry("r/1", FIRST.keys),)}, "'r/1' contains a slash"),
        ({"replicas": (ReplicaEntry("", FIRST.keys),)}, "is empty"),
        (
            {"replicas": (ReplicaEntry("r1", PublicKeys(bytes(32), bytes(32))),)},
            "replica r1: signing key is a point of small order",
        ),
    ],
)
def test_what_cannot_work_is_refused(changes: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        manifest(**{"faults": 0, **changes})  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_clients_are_certified_and_checked() -> None:
    data = GOOD.certify(OPERATOR, "probe-7", PROBE.public)
    assert GOOD.check_client(data).name == "probe-7"
    later = manifest(7, 2, epoch=5)
    assert later.check_client(data).name == "probe-7"  # it outlives epochs and replica sets
    for other in (manifest(nonce=b"m" * 32), manifest(lab=True)):
        with pytest.raises(AuthError, match="another cluster"):
            other.check_client(data)


def test_a_client_never_gets_a_replicas_name() -> None:
    with pytest.raises(ConfigError, match="is a replica's"):
        GOOD.certify(OPERATOR, "r1", PROBE.public)
    data = issue(OPERATOR, GOOD.cluster_id, "r1", PROBE.public)
    with pytest.raises(AuthError, match="is a replica's name"):
        GOOD.check_client(data)


def test_only_the_operator_certifies() -> None:
    with pytest.raises(ConfigError, match="not the operator's key"):
        GOOD.certify(PROBE, "probe-7", PROBE.public)


def test_replicas_by_name() -> None:
    assert GOOD.replica("r3") == GOOD.replicas[2]
    assert GOOD.replica("r5") is None


def test_a_difference_is_an_error_that_names_the_tables() -> None:
    mine = manifest()
    mine.check_tables(manifest().table_digests())
    with pytest.raises(AuthError, match="cluster"):
        mine.check_tables(manifest(epoch=2).table_digests())
