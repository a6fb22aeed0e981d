"""Signatures and agreement: what verifies, what must not, and keys that void both."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.auth.identity import Identity, PublicKeys, sign_key_fault, verify
from quorumcast.core.errors import AuthError, ConfigError
from tests.auth.parties import OPERATOR, PROBE, identity

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493

# Points of small order on Curve25519 and its twist, and encodings of 0 and 1 not reduced
ORDER_EIGHT_U = 325606250916557431795983626356110631294008115727848805560023387167927233504
OTHER_ORDER_EIGHT_U = 39382357235489614581723060781553021112529911719440698176882885853963445705823
LOW_U = (0, 1, ORDER_EIGHT_U, OTHER_ORDER_EIGHT_U, P - 1, P, P + 1)


def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The sum of two points of edwards25519, by the textbook's formula."""
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def point_from(y: int) -> tuple[int, int] | None:
    """A point with this y, if there is one."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return None if (x * x - square) % P else (x, y)


def small_order_ys() -> set[int]:
    """The y of every point of order 1, 2, 4 or 8, computed: ORDER times a point is one of them."""
    found: set[int] = set()
    for y in range(2, 60):
        if (point := point_from(y)) is not None:
            total, factor = (0, 1), ORDER
            while factor:
                if factor & 1:
                    total = add(total, point)
                point, factor = add(point, point), factor >> 1
            found.add(total[1])
    return found


def key(y: int, sign: int = 0) -> bytes:
    return (y | sign << 255).to_bytes(32, "little")


def test_one_seed_makes_one_identity() -> None:
    assert identity("a").public == identity("a").public
    assert identity("a").public != identity("b").public
    # RFC 8032, section 7.1, test 1; RFC 7748, section 6.1, Alice
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    agree = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    known = Identity.from_seeds(seed, agree)
    assert known.public.sign.hex().startswith("d75a980182b10ab7d54bfed3c964073a")
    assert known.public.agree.hex().startswith("8520f0098930a754748b7ddcb43ef75a")


def test_agreement_ignores_five_bits_of_its_seed() -> None:
    """RFC 7748 clears or sets them: seeds that are counted up, not drawn, can make one key."""
    one = Identity.from_seeds(b"s" * 32, (8).to_bytes(32, "little"))
    other = Identity.from_seeds(b"s" * 32, (9).to_bytes(32, "little"))
    assert one.public == other.public


@pytest.mark.parametrize(("sign", "agree"), [(31, 32), (33, 32), (0, 32), (32, 31), (32, 0)])
def test_seeds_have_32_bytes(sign: int, agree: int) -> None:
    with pytest.raises(ConfigError, match="instead of 32"):
        Identity.from_seeds(b"x" * sign, b"x" * agree)


def test_nothing_shows_the_seeds() -> None:
    shown = repr(Identity.from_seeds(b"S" * 32, b"A" * 32))
    assert "SSS" not in shown
    assert (b"S" * 4).hex() not in shown


@given(st.binary(max_size=200))
def test_a_signature_verifies_for_its_message_and_key_alone(message: bytes) -> None:
    signature = PROBE.sign(message)
    assert len(signature) == 64
    assert verify(PROBE.public.sign, message, signature)
    assert not verify(OPERATOR.public.sign, message, signature)
    assert not verify(PROBE.public.sign, message + b"\0", signature)


def test_every_flipped_bit_of_a_signature_is_seen() -> None:
    signature = PROBE.sign(b"hello")
    for bit in range(8 * len(signature)):
        bad = bytearray(signature)
        bad[bit // 8] ^= 1 << bit % 8
        assert not verify(PROBE.public.sign, b"hello", bytes(bad))


def test_a_signature_has_one_form() -> None:
    signature = PROBE.sign(b"hello")
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    assert not verify(PROBE.public.sign, b"hello", signature[:32] + scalar.to_bytes(32, "little"))


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=70))
def test_verify_never_raises(sign_key: bytes, message: bytes, signature: bytes) -> None:
    assert verify(sign_key, message, signature) is False


def test_the_refused_signing_keys_are_all_points_of_small_order() -> None:
    ys = small_order_ys()
    assert len(ys) == 5  # eight points; three pairs differ in the sign of x alone
    for y in ys | {P, P + 1}:
        for sign in (0, 1):
            assert sign_key_fault(key(y, sign)) is not None
    refused = [y for y in range(2, 2000) if sign_key_fault(key(y)) is not None]
    assert refused == []


@pytest.mark.parametrize("y", [0, 1, P - 1, P, P + 1])
def test_a_key_under_which_anybody_can_sign_verifies_nothing(y: int) -> None:
    """Without the check, these forgeries pass: the library alone takes them."""
    forgeries = [key(r) + bytes(32) for r in (0, 1, P - 1)]
    messages = [bytes((number,)) for number in range(40)]
    passed = 0
    for signature in forgeries:
        for message in messages:
            try:
                Ed25519PublicKey.from_public_bytes(key(y)).verify(signature, message)
            except InvalidSignature:
                pass
            else:
                passed += 1
            assert not verify(key(y), message, signature)
    assert passed > 0


def test_both_ends_agree_and_others_do_not() -> None:
    a, b, c = identity("a"), identity("b"), identity("c")
    assert a.shared(b.public.agree) == b.shared(a.public.agree)
    assert a.shared(b.public.agree) != a.shared(c.public.agree)


@pytest.mark.parametrize("u", LOW_U)
def test_points_that_make_no_secret_are_refused(u: int) -> None:
    low = u.to_bytes(32, "little")
    with pytest.raises(AuthError, match="small order"):
        PROBE.shared(low)
    fault = PublicKeys(PROBE.public.sign, low).fault()
    assert fault is not None
    assert "agreement key" in fault


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_keys_of_another_length_are_refused(size: int) -> None:
    with pytest.raises(AuthError, match=f"{size} bytes instead of 32"):
        PROBE.shared(b"x" * size)
    good = PROBE.public
    assert PublicKeys(b"x" * size, good.agree).fault() == (
        f"signing key has {size} bytes instead of 32"
    )
    assert PublicKeys(good.sign, b"x" * size).fault() == (
        f"agreement key has {size} bytes instead of 32"
    )
    assert good.fault() is None
