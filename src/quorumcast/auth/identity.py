"""A party's own keys: Ed25519 to sign, X25519 to agree on pairwise keys.

Seeds come in as bytes, from a key file or a simulator; nothing here draws them. Private keys stay
inside `Identity`: it shows its public half and what it computes, never the seeds.

Public keys that would void what rests on them are refused where they enter, in certificates and
manifests (`PublicKeys.fault`), and where they are used: with a signing key of small order anybody
can sign, and with such an agreement key anybody knows the shared secret.
"""

from __future__ import annotations

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from quorumcast.core.errors import AuthError, ConfigError

KEY_BYTES = 32

_PRIME = 2**255 - 19
_SIGN_BIT = 2**255
# The y coordinates of the eight points of small order on edwards25519 (RFC 8032 encodes a point as
# y and the sign of x), with the encodings of 0 and 1 that are not reduced.
_ORDER_EIGHT = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = frozenset(
    (0, 1, _PRIME - 1, _PRIME, _PRIME + 1, _ORDER_EIGHT, _PRIME - _ORDER_EIGHT)
)

# Every X25519 scalar is a multiple of 8, so any of them finds points of small order.
_PROBE = X25519PrivateKey.from_private_bytes(b"\1" * KEY_BYTES)


class PublicKeys(msgspec.Struct, frozen=True):
    """What others know of a party: its Ed25519 and its X25519 public key.

    >>> PublicKeys(sign=bytes(32), agree=bytes(32)).fault()
    'signing key is a point of small order, with which anybody can sign'
    """

    sign: bytes
    agree: bytes

    def fault(self) -> str | None:
        """What is wrong with these keys; None if nothing is.

        >>> Identity.from_seeds(b"s" * 32, b"a" * 32).public.fault() is None
        True
        """
        if (fault := sign_key_fault(self.sign)) is not None:
            return fault
        if len(self.agree) != KEY_BYTES:
            return f"agreement key has {len(self.agree)} bytes instead of {KEY_BYTES}"
        try:
            _PROBE.exchange(X25519PublicKey.from_public_bytes(self.agree))
        except ValueError:
            return "agreement key is a point of small order, which makes no secret"
        return None


def sign_key_fault(sign_key: bytes) -> str | None:
    """What is wrong with an Ed25519 public key; None if nothing is.

    >>> sign_key_fault(b"short")
    'signing key has 5 bytes instead of 32'
    """
    if len(sign_key) != KEY_BYTES:
        return f"signing key has {len(sign_key)} bytes instead of {KEY_BYTES}"
    if int.from_bytes(sign_key, "little") % _SIGN_BIT in _SMALL_ORDER:
        return "signing key is a point of small order, with which anybody can sign"
    return None


class Identity:
    """One party's private keys, and what they are used for.

    >>> probe = Identity.from_seeds(b"s" * 32, b"a" * 32)
    >>> verify(probe.public.sign, b"hello", probe.sign(b"hello"))
    True
    """

    __slots__ = ("_agree", "_sign", "public")

    def __init__(self, sign: Ed25519PrivateKey, agree: X25519PrivateKey) -> None:
        self._sign = sign
        self._agree = agree
        self.public = PublicKeys(
            sign.public_key().public_bytes_raw(), agree.public_key().public_bytes_raw()
        )

    @classmethod
    def from_seeds(cls, sign_seed: bytes, agree_seed: bytes) -> Identity:
        """The identity that these two secrets of 32 bytes make, always the same one.

        They are to be drawn, or hashed from something: X25519 ignores five of its seed's bits, so
        that seeds which are counted up can make equal keys.

        >>> Identity.from_seeds(b"s" * 32, b"short")
        Traceback (most recent call last):
        ...
        quorumcast.core.errors.ConfigError: agreement seed has 5 bytes instead of 32
        """
        for what, seed in (("signing", sign_seed), ("agreement", agree_seed)):
            if len(seed) != KEY_BYTES:
                raise ConfigError(f"{what} seed has {len(seed)} bytes instead of {KEY_BYTES}")
        return cls(
            Ed25519PrivateKey.from_private_bytes(sign_seed),
            X25519PrivateKey.from_private_bytes(agree_seed),
        )

    def __repr__(self) -> str:
        return f"Identity({self.public.sign[:4].hex()}...)"

    def sign(self, message: bytes) -> bytes:
        """An Ed25519 signature of 64 bytes.

        >>> len(Identity.from_seeds(b"s" * 32, b"a" * 32).sign(b"hello"))
        64
        """
        return self._sign.sign(message)

    def shared(self, peer_agree: bytes) -> bytes:
        """The X25519 secret that only this party and the owner of `peer_agree` can compute.

        >>> a = Identity.from_seeds(b"1" * 32, b"2" * 32)
        >>> b = Identity.from_seeds(b"3" * 32, b"4" * 32)
        >>> a.shared(b.public.agree) == b.shared(a.public.agree)
        True
        """
        if len(peer_agree) != KEY_BYTES:
            raise AuthError(f"agreement key has {len(peer_agree)} bytes instead of {KEY_BYTES}")
        try:
            return self._agree.exchange(X25519PublicKey.from_public_bytes(peer_agree))
        except ValueError:  # the secret is zero: everybody knows it (RFC 7748, section 6.1)
            raise AuthError("agreement key is a point of small order") from None


def verify(sign_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of `sign_key` signed this message; False for anything malformed.

    A key of small order signs nothing, though Ed25519's equation can be met under it without any
    secret: with key and signature all zero it holds for one message in four.

    >>> verify(b"no key", b"hello", b"no signature")
    False
    """
    if sign_key_fault(sign_key) is not None:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(sign_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
