"""A certificate holds for its bytes, its cluster and its operator, and for nothing near them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.certificate import Certificate, check, issue
from quorumcast.auth.identity import PublicKeys
from quorumcast.auth.names import name_fault
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.limits import CERTIFICATE_BYTES, NAME_BYTES
from tests.auth.parties import CLUSTER, OPERATOR, PROBE, identity

KEY = OPERATOR.public.sign
GOOD = issue(OPERATOR, CLUSTER, "probe-7", PROBE.public)
DOMAIN = b"quorumcast certificate 1\0"

names = st.text(min_size=1, max_size=NAME_BYTES).filter(lambda name: name_fault(name) is None)


def forged(name: bytes, keys: PublicKeys = PROBE.public, cluster: bytes = CLUSTER) -> bytes:
    """What a careless operator would sign, though `issue` refuses it."""
    data = DOMAIN + cluster + bytes((len(name),)) + name + keys.sign + keys.agree
    return data + OPERATOR.sign(data)


def refused(data: bytes, key: bytes = KEY, cluster: bytes = CLUSTER) -> str:
    with pytest.raises(AuthError) as caught:
        check(data, key, cluster)
    return str(caught.value)


def test_a_certificate_says_what_was_issued() -> None:
    found = check(GOOD, KEY, CLUSTER)
    assert (found.name, found.keys, found.cluster) == ("probe-7", PROBE.public, CLUSTER)
    assert found.encode() == GOOD
    assert forged(b"probe-7") == GOOD  # byte by byte as the module says


@given(names)
def test_round_trip_and_size(name: str) -> None:
    data = issue(OPERATOR, CLUSTER, name, PROBE.public)
    assert len(data) <= CERTIFICATE_BYTES
    assert check(data, KEY, CLUSTER).name == name
    assert check(data, KEY, CLUSTER).encode() == data


@given(st.tuples(names, names), st.tuples(st.booleans(), st.booleans()))
def test_different_contents_are_signed_as_different_bytes(
    two: tuple[str, str], swapped: tuple[bool, bool]
) -> None:
    contents: list[tuple[str, bool]] = list(zip(two, swapped, strict=True))
    signed: list[bytes] = []
    for name, swap in contents:
        keys = PROBE.public
        keys = PublicKeys(keys.agree, keys.sign) if swap else keys
        signed.append(Certificate(name, keys, CLUSTER, b"").signed())
    assert (signed[0] == signed[1]) == (contents[0] == contents[1])


def test_truncated_at_every_length() -> None:
    for size in range(len(GOOD)):
        assert refused(GOOD[:size]).startswith("certificate: ")


def test_extended_at_both_ends() -> None:
    assert refused(GOOD + b"\0") == f"certificate: {len(GOOD) + 1} bytes instead of {len(GOOD)}"
    for more in (b"\0", b"x", bytes(64), GOOD, bytes(CERTIFICATE_BYTES)):
        assert refused(GOOD + more).startswith("certificate: ")
        assert refused(more + GOOD).startswith("certificate: ")


def test_every_flipped_bit() -> None:
    for bit in range(8 * len(GOOD)):
        bad = bytearray(GOOD)
        bad[bit // 8] ^= 1 << bit % 8
        refused(bytes(bad))


@given(st.binary(max_size=400))
def test_arbitrary_bytes(data: bytes) -> None:
    refused(data)
    refused(DOMAIN + data)


def test_another_operator_or_cluster() -> None:
    other = identity("another operator")
    assert refused(GOOD, key=other.public.sign) == (
        "certificate: this cluster's operator did not sign it"
    )
    assert refused(GOOD, cluster=b"d" * 32) == "certificate: it was issued for another cluster"
    by_other = issue(other, CLUSTER, "probe-7", PROBE.public)
    assert refused(by_other) == "certificate: this cluster's operator did not sign it"
    by_itself = issue(PROBE, CLUSTER, "probe-7", PROBE.public)
    assert refused(by_itself) == "certificate: this cluster's operator did not sign it"


def test_an_operator_key_of_zeros_certifies_nobody() -> None:
    """With that key, a signature of zeros meets Ed25519's equation for many names."""
    for number in range(40):
        data = Certificate(f"probe-{number}", PROBE.public, CLUSTER, bytes(64)).encode()
        refused(data, key=bytes(32))


def test_the_signature_of_one_name_on_another() -> None:
    other = issue(OPERATOR, CLUSTER, "probe-8", PROBE.public)
    refused(other[:-64] + GOOD[-64:])


@pytest.mark.parametrize(
    "name",
    ["", "x" * 129, "a/b", "*", "a?", "[a", "a b", "a\n", "a\0", "\x7f", "a\u200b", "\ud800"],
)
def test_bad_names_are_neither_issued_nor_accepted(name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        issue(OPERATOR, CLUSTER, name, PROBE.public)
    assert "its name" in refused(forged(name.encode(errors="surrogatepass")))


@pytest.mark.parametrize("name", [b"\xff", b"\xc0\xaf", b"a\xe2\x82", b"\xed\xa0\x80"])
def test_a_name_that_is_not_utf8(name: bytes) -> None:
    assert refused(forged(name)) == "certificate: its name is not UTF-8"


@pytest.mark.parametrize(
    "keys",
    [
        PublicKeys(bytes(32), PROBE.public.agree),
        PublicKeys(PROBE.public.sign, bytes(32)),
        PublicKeys((1).to_bytes(32, "little"), PROBE.public.agree),
    ],
)
def test_weak_keys_are_neither_issued_nor_accepted(keys: PublicKeys) -> None:
    with pytest.raises(ConfigError, match="small order"):
        issue(OPERATOR, CLUSTER, "probe-7", keys)
    assert "small order" in refused(forged(b"probe-7", keys))


def test_keys_and_clusters_of_another_length_are_not_issued() -> None:
    with pytest.raises(ConfigError, match="31 bytes"):
        issue(OPERATOR, CLUSTER, "probe-7", PublicKeys(b"x" * 31, PROBE.public.agree))
    with pytest.raises(ConfigError, match="cluster id"):
        issue(OPERATOR, b"short", "probe-7", PROBE.public)
