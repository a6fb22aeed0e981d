"""The bytes of a handshake: written out by hand, pinned, and anything else that may arrive."""

from __future__ import annotations

from random import Random

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.greetings import HANDSHAKE_BYTES, Hello, Kind, Role, message
from quorumcast.auth.handshake import Credentials, Established, Initiator, Responder, binding_of
from quorumcast.auth.keys import connection_key, pair_key
from quorumcast.core.errors import AuthError, ProtocolError
from quorumcast.core.limits import REPLICAS
from tests.auth.parties import OPERATOR, PROBE, identity, manifest

MANIFEST = manifest()
CERTIFICATE = MANIFEST.certify(OPERATOR, "probe-7", PROBE.public)
CLIENT = Credentials("probe-7", PROBE, MANIFEST, CERTIFICATE)
R2 = Credentials("r2", identity("r2"), MANIFEST)
I_NONCE, R_NONCE = b"i" * 32, b"r" * 32
BINDING = binding_of(b"certificate")

# The hash of all four messages and both keys: a change parts new releases from old ones.
GOLDEN = "8d836e500f578b492affcacb4e3f656c48cd3f88f1e17c76bbb8e036d879b2ee"


def field(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def head(kind: int) -> bytes:
    return b"quorumcast link\0" + bytes((1, kind))


def keyed(key: bytes, domain: bytes, *fields: bytes) -> bytes:
    return blake3(domain + b"".join(map(field, fields)), key=key).digest()


def test_a_whole_handshake_by_hand() -> None:
    there = pair_key(PROBE, R2.identity.public.agree, MANIFEST.cluster_id, 1, "probe-7", "r2")
    back = pair_key(PROBE, R2.identity.public.agree, MANIFEST.cluster_id, 1, "r2", "probe-7")
    out, into = connection_key(there, I_NONCE, R_NONCE), connection_key(back, R_NONCE, I_NONCE)
    domain, link = b"quorumcast link proof 1\0", b"quorumcast link key 1\0"

    hello = head(1) + field(b"\1") + field(b"probe-7") + field(b"r2") + field(I_NONCE)
    hello += field(MANIFEST.cluster_id) + field(bytes(7) + b"\1")
    hello += field(b"".join(MANIFEST.table_digests().values())) + field(BINDING)
    hello += field(CERTIFICATE)
    challenge = head(2) + field(R_NONCE) + field(keyed(into, domain, hello, R_NONCE))
    proof = head(3) + field(keyed(out, domain, hello, challenge))
    verdict = head(4) + field(b"\0") + field(keyed(into, domain, hello, challenge, proof, b"\0"))
    script = (hello, challenge, proof, verdict)

    initiator = Initiator(CLIENT, "r2", I_NONCE, BINDING)
    responder = Responder(R2, R_NONCE, binding=BINDING)
    assert initiator.hello == hello
    assert responder.receive(hello) == challenge
    assert initiator.receive(challenge) == proof
    assert responder.receive(proof) == verdict
    assert initiator.receive(verdict) == b""
    assert initiator.established == Established(
        "r2", True, keyed(out, link, *script), keyed(into, link, *script)
    )
    assert responder.established == Established(
        "probe-7", False, keyed(into, link, *script), keyed(out, link, *script)
    )
    assert blake3(b"quorumcast link binding 1\0certificate").digest() == BINDING
    keys = initiator.established.send_key + initiator.established.receive_key
    assert blake3(b"".join(script) + keys).hexdigest() == GOLDEN


def test_an_impostor_with_keys_of_its_own_cannot_answer_a_hello() -> None:
    evil = identity("evil")
    back = pair_key(evil, PROBE.public.agree, MANIFEST.cluster_id, 1, "r2", "probe-7")
    into = connection_key(back, R_NONCE, I_NONCE)
    initiator = Initiator(CLIENT, "r2", I_NONCE)
    proof = keyed(into, b"quorumcast link proof 1\0", initiator.hello, R_NONCE)
    with pytest.raises(AuthError, match="does not prove to be r2"):
        initiator.receive(message(Kind.CHALLENGE, R_NONCE, proof))
    assert initiator.established is None


def test_refusals_by_hand() -> None:
    responder = Responder(R2, R_NONCE)
    with pytest.raises(ProtocolError):
        responder.receive(Initiator(CLIENT, "r1", I_NONCE).hello)
    assert responder.farewell == head(5) + field(b"\5") + field(b"")


def test_the_longest_hello_fits() -> None:
    name, tables = "n" * 128, bytes(32 * (REPLICAS + 1))
    certificate, binding = bytes(1024), bytes(64)
    hello = Hello(
        Role.CLIENT, name, name, I_NONCE, bytes(32), 2**63 - 1, tables, binding, certificate
    )
    assert len(hello.encode()) <= HANDSHAKE_BYTES
    assert Hello.decode(hello.encode()) == hello


FIELDS = st.lists(st.binary(max_size=80), max_size=10)
MESSAGES = st.builds(lambda kind, fields: message(kind, *fields), st.sampled_from(Kind), FIELDS)
ANYTHING = st.one_of(st.binary(max_size=300), MESSAGES)


@given(ANYTHING)
def test_what_is_decoded_encodes_to_the_same_bytes(data: bytes) -> None:
    try:
        hello = Hello.decode(data)
    except ProtocolError:
        return
    assert hello.encode() == data


def ends() -> list[Initiator | Responder]:
    """Both ends, at each step of a handshake."""
    fresh = Initiator(CLIENT, "r2", I_NONCE)
    awaiting, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE)
    awaiting.receive(responder.receive(awaiting.hello))
    return [fresh, awaiting, Responder(R2, R_NONCE), responder]


@given(ANYTHING)
def test_any_bytes_give_a_protocol_error_and_nothing_else(data: bytes) -> None:
    for end in ends():
        with pytest.raises(ProtocolError):
            end.receive(data)
        assert end.established is None


def test_altered_messages_give_a_protocol_error_and_nothing_else() -> None:
    """Real messages with bytes changed, cut, doubled and mixed: 2,000 of them."""
    draws = Random(20240607)
    initiator, responder = Initiator(CLIENT, "r2", I_NONCE), Responder(R2, R_NONCE)
    challenge = responder.receive(initiator.hello)
    proof = initiator.receive(challenge)
    real = [initiator.hello, challenge, proof, responder.receive(proof)]
    for _ in range(2000):
        data = bytearray(draws.choice(real))
        for _ in range(draws.randrange(1, 4)):
            at = draws.randrange(len(data))
            what = draws.randrange(4)
            if what == 0:
                data[at] = draws.randrange(256)
            elif what == 1:
                del data[at : at + draws.randrange(1, 40)]
            elif what == 2:
                data[at:at] = data[at : at + draws.randrange(1, 40)]
            else:
                data[at : at + 4] = draws.randbytes(4)
            data = data or bytearray(b"\0")
        if bytes(data) in real:
            continue
        end: Initiator | Responder = draws.choice(
            [Initiator(CLIENT, "r2", b"x" * 32), Responder(R2, b"y" * 32)]
        )
        try:
            answer = end.receive(bytes(data))
        except ProtocolError:
            continue
        # A HELLO may be altered and still be one; it is then another connection's.
        assert isinstance(end, Responder)
        assert end.established is None
        with pytest.raises(ProtocolError):
            Initiator(CLIENT, "r2", I_NONCE).receive(answer)


def test_a_message_of_any_length_is_refused_before_it_is_looked_at() -> None:
    for end in ends():
        with pytest.raises(ProtocolError, match="more than 4096"):
            end.receive(bytes(HANDSHAKE_BYTES + 1))
