"""Symmetric keys: one per pair of parties and direction, and one per connection from it.

Both ends compute them; nothing secret is ever sent. A key speaks for one direction, so that a tag
thrown back at its maker is worth nothing, and for one epoch and cluster, so that nothing said
there counts elsewhere:

- pair key = HKDF-SHA256(X25519 secret, "quorumcast pair 1", both agreement keys, cluster, epoch,
  sender, receiver)
- connection key = keyed BLAKE3(pair key; "quorumcast connection 1", both nonces)
"""

from __future__ import annotations

from blake3 import blake3
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from quorumcast.auth.digests import lengths
from quorumcast.auth.identity import KEY_BYTES, Identity
from quorumcast.core.errors import AuthError
from quorumcast.core.ids import Party

NONCE_BYTES = 32
"""What each end of a connection draws for it."""

_PAIR = b"quorumcast pair 1\0"
_CONNECTION = b"quorumcast connection 1\0"


def pair_key(
    identity: Identity,
    peer_agree: bytes,
    cluster: bytes,
    epoch: int,
    sender: Party,
    receiver: Party,
) -> bytes:
    """The key under which `sender` speaks to `receiver`; `identity` is either of the two.

    >>> a = Identity.from_seeds(b"1" * 32, b"2" * 32)
    >>> b = Identity.from_seeds(b"3" * 32, b"4" * 32)
    >>> there = pair_key(a, b.public.agree, bytes(32), 1, "a", "b")
    >>> there == pair_key(b, a.public.agree, bytes(32), 1, "a", "b")
    True
    >>> there == pair_key(a, b.public.agree, bytes(32), 1, "b", "a")
    False
    """
    if sender == receiver:  # there both directions would have one key
        raise AuthError(f"{sender} cannot have a link to itself")
    info = pair_info(identity.public.agree, peer_agree, cluster, epoch, sender, receiver)
    kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info)
    return kdf.derive(identity.shared(peer_agree))


def pair_info(
    one: bytes, other: bytes, cluster: bytes, epoch: int, sender: Party, receiver: Party
) -> bytes:
    """What a pair key is bound to, in bytes that nothing else has.

    The agreement keys stand in the order of their bytes, which both ends know.

    >>> here = pair_info(b"x" * 32, b"y" * 32, bytes(32), 1, "ab", "c")
    >>> here == pair_info(b"x" * 32, b"y" * 32, bytes(32), 1, "a", "bc")
    False
    """
    low, high = sorted((one, other))
    number = epoch.to_bytes(8, "big")
    return _PAIR + lengths(low, high, cluster, number, sender.encode(), receiver.encode())


def connection_key(pair_key: bytes, sender_nonce: bytes, receiver_nonce: bytes) -> bytes:
    """The key of one connection and direction, fresh because one's own nonce is.

    >>> key = connection_key(b"k" * 32, b"1" * 32, b"2" * 32)
    >>> key == connection_key(b"k" * 32, b"2" * 32, b"1" * 32)
    False
    """
    for nonce in (sender_nonce, receiver_nonce):
        if len(nonce) != NONCE_BYTES:
            raise AuthError(f"nonce has {len(nonce)} bytes instead of {NONCE_BYTES}")
    return blake3(_CONNECTION + sender_nonce + receiver_nonce, key=pair_key).digest()
