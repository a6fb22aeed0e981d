"""Both ends prove who they are, over everything that was said; whatever else happens fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from quorumcast.auth.certificate import issue
from quorumcast.auth.greetings import Hello, Kind, Refusal, Role, Verdict, message
from quorumcast.auth.handshake import (
    Credentials,
    Denied,
    Established,
    Initiator,
    Responder,
    binding_of,
)
from quorumcast.auth.manifest import Manifest, ReplicaEntry
from quorumcast.core.errors import AuthError, ConfigError, ProtocolError
from tests.auth.parties import OPERATOR, PROBE, identity, manifest, replicas

MANIFEST = manifest()
R1 = Credentials("r1", identity("r1"), MANIFEST)
R2 = Credentials("r2", identity("r2"), MANIFEST)
CERTIFICATE = MANIFEST.certify(OPERATOR, "probe-7", PROBE.public)
CLIENT = Credentials("probe-7", PROBE, MANIFEST, CERTIFICATE)

I_NONCE, R_NONCE = b"i" * 32, b"r" * 32


def shake(
    initiator: Initiator, responder: Responder
) -> tuple[Established | None, Established | None]:
    """The whole handshake, all four messages."""
    challenge = responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    verdict = responder.receive(proof)
    assert initiator.receive(verdict) == b""
    return initiator.established, responder.established


def refused(responder: Responder, hello: bytes) -> AuthError:
    """What the responder says of this HELLO; it must not let it through."""
    with pytest.raises(AuthError) as caught:
        responder.receive(hello)
    assert responder.established is None
    return caught.value


# -- what works ----------------------------------------------------------------------------------


@pytest.mark.parametrize("me", [CLIENT, R1], ids=["client", "replica"])
@pytest.mark.parametrize("binding", [b"", binding_of(b"certificate")], ids=["plain", "tls"])
def test_both_ends_know_each_other_and_share_keys(me: Credentials, binding: bytes) -> None:
    one = Initiator(me, "r2", I_NONCE, binding)
    theirs, ours = shake(one, Responder(R2, R_NONCE, binding=binding))
    assert theirs is not None
    assert ours is not None
    assert (theirs.party, theirs.is_replica) == ("r2", True)
    assert (ours.party, ours.is_replica) == (me.name, me is R1)
    assert theirs.send_key == ours.receive_key
    assert theirs.receive_key == ours.send_key
    assert theirs.send_key != theirs.receive_key


def test_each_connection_has_keys_of_its_own() -> None:
    keys: set[bytes] = set()
    for mine, its in ((b"1", b"2"), (b"1", b"3"), (b"3", b"2"), (b"2", b"1")):
        initiator, responder = Initiator(R1, "r2", mine * 32), Responder(R2, its * 32)
        one, _ = shake(initiator, responder)
        assert one is not None
        keys |= {one.send_key, one.receive_key}
    assert len(keys) == 8


def test_keys_depend_on_the_binding_and_the_direction_of_the_call() -> None:
    plain, _ = shake(Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE))
    bound, _ = shake(Initiator(R1, "r2", I_NONCE, b"b"), Responder(R2, R_NONCE, binding=b"b"))
    _, other = shake(Initiator(R2, "r1", R_NONCE), Responder(R1, I_NONCE))
    assert plain is not None
    assert bound is not None
    assert other is not None
    assert len({plain.send_key, bound.send_key, other.send_key}) == 3


def test_nobody_is_established_before_the_last_proof() -> None:
    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE)
    challenge = responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    assert initiator.established is None
    assert responder.established is None
    verdict = responder.receive(proof)
    assert responder.established is not None
    assert initiator.established is None
    initiator.receive(verdict)
    assert initiator.established is not None


# -- who is refused, and what it hears ----------------------------------------------------------


def judge(party: str, is_replica: bool) -> Verdict:
    return Verdict.REVOKED if party == "probe-7" and not is_replica else Verdict.ADMITTED


def test_a_revoked_name_is_told_so_by_a_proven_replica() -> None:
    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE, judge)
    proof = initiator.receive(responder.receive(initiator.hello))
    with pytest.raises(AuthError, match="probe-7 is not let in: revoked"):
        responder.receive(proof)
    assert responder.established is None
    with pytest.raises(Denied, match="r2 does not let probe-7 in: this name is revoked"):
        initiator.receive(responder.farewell)
    assert initiator.established is None


def test_nobody_but_its_owner_learns_that_a_name_is_revoked() -> None:
    asked: list[str] = []

    def watching(party: str, is_replica: bool) -> Verdict:
        asked.append(party)
        return Verdict.REVOKED

    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE, watching)
    responder.receive(initiator.hello)
    with pytest.raises(AuthError, match="does not prove to be probe-7"):
        responder.receive(message(Kind.PROOF, bytes(32)))
    assert asked == []
    assert responder.farewell == message(Kind.REFUSAL, bytes((Refusal.PROOF,)), b"")


def test_a_full_replica_says_so() -> None:
    initiator = Initiator(CLIENT, "r2", I_NONCE)
    responder = Responder(R2, R_NONCE, lambda party, is_replica: Verdict.FULL)
    proof = initiator.receive(responder.receive(initiator.hello))
    with pytest.raises(AuthError, match="full"):
        responder.receive(proof)
    with pytest.raises(Denied, match="try again later"):
        initiator.receive(responder.farewell)


def client_of(theirs: Manifest) -> Credentials:
    certificate = theirs.certify(OPERATOR, "probe-7", PROBE.public)
    return Credentials("probe-7", PROBE, theirs, certificate)


STRANGE_REPLICAS = (*replicas(3), ReplicaEntry("r4", identity("another").public))


@pytest.mark.parametrize(
    ("theirs", "here", "there"),
    [
        (manifest(nonce=b"m" * 32), "another cluster", "it belongs to another cluster"),
        (manifest(lab=True), "another cluster", "it belongs to another cluster"),
        (manifest(epoch=2), "in epoch 2, this is 1", "it is in another epoch"),
        (manifest(faults=0), "differ in: cluster;", "differ in: cluster;"),
        (manifest(replicas=STRANGE_REPLICAS), "differ in: replica r4;", "in: replica r4;"),
        (
            manifest(count=5),
            "differ in: cluster, replica number 5;",
            "differ in: cluster, replica r5;",
        ),
        (
            manifest(count=3, faults=0),
            "differ in: cluster, replica r4;",
            "differ in: cluster, replica number 4;",
        ),
    ],
    ids=["nonce", "lab", "epoch", "faults", "replica", "more", "fewer"],
)
def test_another_manifest_is_refused_and_both_name_the_table(
    theirs: Manifest, here: str, there: str
) -> None:
    initiator, responder = Initiator(client_of(theirs), "r2", I_NONCE), Responder(R2, R_NONCE)
    assert here in str(refused(responder, initiator.hello))
    with pytest.raises(AuthError) as caught:
        initiator.receive(responder.farewell)
    assert there in str(caught.value)


def test_a_refusal_for_equal_tables_is_still_a_refusal() -> None:
    tables = b"".join(MANIFEST.table_digests().values())
    refusal = message(Kind.REFUSAL, bytes((Refusal.TABLES,)), tables)
    with pytest.raises(AuthError, match="its manifest differs"):
        Initiator(R1, "r2", I_NONCE).receive(refusal)


def test_who_means_another_replica_is_told_that_it_is_wrong_and_no_more() -> None:
    initiator, responder = Initiator(CLIENT, "r1", I_NONCE), Responder(R2, R_NONCE)
    assert "it means r1" in str(refused(responder, initiator.hello))
    assert b"r2" not in responder.farewell
    with pytest.raises(AuthError, match="another party answers at this address"):
        initiator.receive(responder.farewell)


def test_another_channel_is_refused() -> None:
    initiator = Initiator(CLIENT, "r2", I_NONCE, binding_of(b"of the one between"))
    responder = Responder(R2, R_NONCE, binding=binding_of(b"own"))
    assert "another channel" in str(refused(responder, initiator.hello))
    with pytest.raises(AuthError, match="check its TLS certificate"):
        initiator.receive(responder.farewell)


def test_another_release_is_told_so() -> None:
    responder = Responder(R2, R_NONCE)
    hello = bytearray(Initiator(CLIENT, "r2", I_NONCE).hello)
    hello[16] = 2
    with pytest.raises(ProtocolError, match="version 2; this release speaks 1"):
        responder.receive(bytes(hello))
    with pytest.raises(AuthError, match="use the same release"):
        Initiator(CLIENT, "r2", I_NONCE).receive(responder.farewell)


def hello_of(**changes: object) -> bytes:
    """The client's HELLO with some fields replaced."""
    hello = Hello.decode(Initiator(CLIENT, "r2", I_NONCE).hello)
    return hello._replace(**changes).encode()  # type: ignore[arg-type]


FOREIGN = identity("somebody else's operator")


@pytest.mark.parametrize(
    "changes",
    [
        {"role": Role.REPLICA},
        {"role": Role.REPLICA, "certificate": b""},
        {"role": Role.REPLICA, "name": "r1"},
        {"role": Role.REPLICA, "name": "r2", "certificate": b""},
        {"role": Role.REPLICA, "name": "r9", "certificate": b""},
        {"name": "r1"},
        {"name": "probe-8"},
        {"certificate": b""},
        {"certificate": CERTIFICATE[:-1] + bytes((CERTIFICATE[-1] ^ 1,))},
        {"certificate": issue(FOREIGN, MANIFEST.cluster_id, "probe-7", PROBE.public)},
        {"certificate": issue(OPERATOR, b"x" * 32, "probe-7", PROBE.public)},
        {"name": "r1", "certificate": issue(OPERATOR, MANIFEST.cluster_id, "r1", PROBE.public)},
    ],
    ids=[
        "a client as replica",
        "a client as replica without certificate",
        "a client as r1",
        "the replica itself",
        "a replica that does not exist",
        "a client with a replica's name",
        "another's name",
        "no certificate",
        "an altered certificate",
        "another operator's certificate",
        "another cluster's certificate",
        "a certificate for a replica's name",
    ],
)
def test_a_wrong_name_role_or_certificate_is_refused_alike(changes: dict[str, object]) -> None:
    responder = Responder(R2, R_NONCE)
    refused(responder, hello_of(**changes))
    assert responder.farewell == message(Kind.REFUSAL, bytes((Refusal.IDENTITY,)), b"")


def test_a_client_that_claims_to_be_a_replica_cannot_prove_it() -> None:
    responder = Responder(R2, R_NONCE)
    forged = hello_of(role=Role.REPLICA, name="r1", certificate=b"")
    challenge = responder.receive(forged)
    # The client's own keys do not open this challenge, and their proof convinces nobody.
    with pytest.raises(AuthError, match="does not prove to be r2"):
        Initiator(CLIENT, "r2", I_NONCE).receive(challenge)
    honest, other = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE)
    with pytest.raises(AuthError, match="does not prove to be r1"):
        responder.receive(honest.receive(other.receive(honest.hello)))


# -- attacks ---------------------------------------------------------------------------------------


def test_reflection_fails_at_every_step() -> None:
    initiator = Initiator(R1, "r2", I_NONCE)
    with pytest.raises(ProtocolError):
        Initiator(R1, "r2", I_NONCE).receive(initiator.hello)
    refused(Responder(R1, R_NONCE), initiator.hello)
    responder = Responder(R2, R_NONCE)
    challenge = responder.receive(initiator.hello)
    with pytest.raises(ProtocolError):
        responder.receive(challenge)
    responder = Responder(R2, R_NONCE)
    responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    with pytest.raises(ProtocolError):
        initiator.receive(proof)
    # Its own proof in the form of a verdict, or the responder's as the initiator's.
    responder.receive(proof)
    assert responder.established is not None
    mirrored = Responder(R2, R_NONCE)
    mirrored.receive(initiator.hello)
    with pytest.raises(AuthError):
        mirrored.receive(message(Kind.PROOF, challenge[-32:]))


def test_an_older_handshake_replayed_opens_nothing() -> None:
    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE)
    hello, challenge = initiator.hello, responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    verdict = responder.receive(proof)
    again = Responder(R2, b"s" * 32)
    again.receive(hello)
    with pytest.raises(AuthError, match="does not prove"):
        again.receive(proof)
    fresh = Initiator(CLIENT, "r2", b"j" * 32)
    with pytest.raises(AuthError, match="does not prove"):
        fresh.receive(challenge)
    third, fourth = Initiator(CLIENT, "r2", b"k" * 32), Responder(R2, b"t" * 32)
    fourth.receive(third.receive(fourth.receive(third.hello)))
    with pytest.raises(AuthError, match="not r2's"):
        third.receive(verdict)


def test_a_verdict_cannot_be_turned_round() -> None:
    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE, judge)
    proof = initiator.receive(responder.receive(initiator.hello))
    with pytest.raises(AuthError):
        responder.receive(proof)
    altered = responder.farewell.replace(b"\0\0\0\1\1", b"\0\0\0\1\0")
    assert altered != responder.farewell
    with pytest.raises(AuthError, match="not r2's"):
        initiator.receive(altered)
    assert initiator.established is None


STEPS: list[Callable[[Initiator, Responder], tuple[bytes, Callable[[bytes], bytes]]]] = [
    lambda one, other: (one.hello, other.receive),
    lambda one, other: (other.receive(one.hello), one.receive),
    lambda one, other: (one.receive(other.receive(one.hello)), other.receive),
    lambda one, other: (other.receive(one.receive(other.receive(one.hello))), one.receive),
]


@pytest.mark.parametrize("step", range(4), ids=["hello", "challenge", "proof", "verdict"])
def test_no_byte_can_be_altered_on_the_way(step: int) -> None:
    """One bit in every byte of every message: nobody ends up with keys that fit."""
    initiator, responder = Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE)
    data, _ = STEPS[step](initiator, responder)
    for at in range(len(data)):
        initiator, responder = Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE)
        data, receive = STEPS[step](initiator, responder)
        altered = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
        try:
            answer = receive(altered)
        except ProtocolError:
            continue
        assert step == 0, "only a HELLO can be altered and still be one"
        with pytest.raises(ProtocolError):
            initiator.receive(answer)
        assert initiator.established is None
        assert responder.established is None


@pytest.mark.parametrize("step", range(4), ids=["hello", "challenge", "proof", "verdict"])
def test_a_message_cut_short_or_longer_is_refused(step: int) -> None:
    for change in (lambda data: data[:-1], lambda data: data + b"\0", lambda data: data[:20]):
        data, receive = STEPS[step](Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE))
        with pytest.raises(ProtocolError):
            receive(change(data))


def test_after_the_end_nothing_is_taken() -> None:
    initiator, responder = Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE)
    challenge = responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    verdict = responder.receive(proof)
    initiator.receive(verdict)
    for receive, data in ((initiator.receive, verdict), (responder.receive, proof)):
        with pytest.raises(ProtocolError, match="after the last one"):
            receive(data)


def test_a_failed_handshake_does_not_go_on() -> None:
    initiator, responder = Initiator(R1, "r2", I_NONCE), Responder(R2, R_NONCE)
    with pytest.raises(ProtocolError):
        responder.receive(b"garbage")
    with pytest.raises(ProtocolError, match="after the last one"):
        responder.receive(initiator.hello)


# -- our own mistakes ------------------------------------------------------------------------------


def test_credentials_that_do_not_fit_are_found_at_once() -> None:
    with pytest.raises(ConfigError, match="not those of r1"):
        Credentials("r1", identity("r2"), MANIFEST)
    with pytest.raises(ConfigError, match="no replica of the manifest"):
        Credentials("r9", identity("r9"), MANIFEST)
    with pytest.raises(ConfigError, match="not those of probe-8"):
        Credentials("probe-8", PROBE, MANIFEST, CERTIFICATE)
    with pytest.raises(ConfigError, match="operator did not sign"):
        Credentials("probe-7", PROBE, MANIFEST, CERTIFICATE[:-1] + b"\0")
    with pytest.raises(ConfigError, match="r9 is no replica"):
        Initiator(CLIENT, "r9", I_NONCE)
