"""Client certificates: the operator's word that a name belongs to two public keys.

Rules of trust:

1. A certificate counts in the cluster that it names, and under that cluster's operator key alone.
2. The signature covers every byte before it, and the bytes are the only encoding of their content.
3. A name obeys `names.name_fault`, whoever signed it, and keys obey `PublicKeys.fault`.
4. A client is never a replica: `Manifest.check_client` refuses a replica's name, so that no
   certificate makes its holder's words count as a replica's.

Byte by byte: "quorumcast certificate 1" and a zero, cluster (32), length of the name (1), name,
signing key (32), agreement key (32), signature over all that (64).
"""

from __future__ import annotations

import msgspec

from quorumcast.auth.identity import KEY_BYTES, Identity, PublicKeys, verify
from quorumcast.auth.names import name_fault
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.core.ids import Party
from quorumcast.core.limits import CERTIFICATE_BYTES
from quorumcast.core.messages import SIGNATURE_BYTES

_DOMAIN = b"quorumcast certificate 1\0"
_CLUSTER_BYTES = 32
_NAME_AT = len(_DOMAIN) + _CLUSTER_BYTES + 1
_AFTER_NAME = 2 * KEY_BYTES + SIGNATURE_BYTES


class Certificate(msgspec.Struct, frozen=True):
    """A name and its keys in one cluster, with the operator's signature.

    >>> keys = PublicKeys(bytes(32), bytes(32))
    >>> len(Certificate("probe-7", keys, bytes(32), bytes(64)).encode())
    193
    """

    name: Party
    keys: PublicKeys
    cluster: bytes
    signature: bytes

    def encode(self) -> bytes:
        """The certificate as bytes, the only ones that stand for it."""
        return self.signed() + self.signature

    def signed(self) -> bytes:
        """What the signature is over."""
        name = self.name.encode()
        head = _DOMAIN + self.cluster + bytes((len(name),))
        return head + name + self.keys.sign + self.keys.agree


def issue(operator: Identity, cluster: bytes, name: Party, keys: PublicKeys) -> bytes:
    """A certificate of these keys under that name, signed by the operator.

    >>> operator = Identity.from_seeds(b"o" * 32, b"p" * 32)
    >>> keys = Identity.from_seeds(b"s" * 32, b"a" * 32).public
    >>> check(issue(operator, bytes(32), "probe-7", keys), operator.public.sign, bytes(32)).name
    'probe-7'
    """
    if (fault := name_fault(name)) is not None:
        raise ConfigError(f"name {name!r} {fault}")
    if (fault := keys.fault()) is not None:
        raise ConfigError(f"keys of {name}: {fault}")
    if len(cluster) != _CLUSTER_BYTES:
        raise ConfigError(f"cluster id has {len(cluster)} bytes instead of {_CLUSTER_BYTES}")
    unsigned = Certificate(name, keys, cluster, b"")
    data = unsigned.signed()
    return data + operator.sign(data)


def check(data: bytes, operator_key: bytes, cluster: bytes) -> Certificate:
    """The certificate in these bytes, or `AuthError` that says why it counts for nothing.

    >>> check(b"hello", bytes(32), bytes(32))
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.AuthError: certificate: 5 bytes are not a certificate
    """
    certificate = _decode(data)
    if certificate.cluster != cluster:
        raise AuthError("certificate: it was issued for another cluster")
    if (fault := name_fault(certificate.name)) is not None:
        raise AuthError(f"certificate: its name {fault}")
    if (fault := certificate.keys.fault()) is not None:
        raise AuthError(f"certificate: its {fault}")
    if not verify(operator_key, certificate.signed(), certificate.signature):
        raise AuthError("certificate: this cluster's operator did not sign it")
    return certificate


def _decode(data: bytes) -> Certificate:
    size = len(data)
    if size > CERTIFICATE_BYTES:
        raise AuthError(f"certificate: {size} bytes, more than {CERTIFICATE_BYTES}")
    if size < _NAME_AT or not data.startswith(_DOMAIN):
        raise AuthError(f"certificate: {size} bytes are not a certificate")
    end = _NAME_AT + data[_NAME_AT - 1]
    if size != end + _AFTER_NAME:
        raise AuthError(f"certificate: {size} bytes instead of {end + _AFTER_NAME}")
    try:
        name = data[_NAME_AT:end].decode()
    except UnicodeDecodeError:
        raise AuthError("certificate: its name is not UTF-8") from None
    agree, signature = end + KEY_BYTES, end + 2 * KEY_BYTES
    keys = PublicKeys(data[end:agree], data[agree:signature])
    return Certificate(name, keys, data[len(_DOMAIN) : _NAME_AT - 1], data[signature:])
