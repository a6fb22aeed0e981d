"""The messages of a handshake, byte by byte; what they mean stands in `handshake`.

A message is "quorumcast link" and a zero, the version (1), its kind (1), and its fields, each with
its length (4, big endian) before it; nothing follows the last. So no two messages have one
encoding, and none has two.

- HELLO: role (1), name, addressee, nonce (32), cluster (32), epoch (8), digests of tables
  (32 each), binding, certificate
- CHALLENGE: nonce (32), proof (32)
- PROOF: proof (32)
- VERDICT: verdict (1), proof (32)
- REFUSAL: why (1), digests of tables
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from quorumcast.auth.digests import lengths
from quorumcast.auth.keys import NONCE_BYTES
from quorumcast.auth.names import name_fault
from quorumcast.core.errors import ProtocolError
from quorumcast.core.ids import Party
from quorumcast.core.limits import REPLICAS

HANDSHAKE_BYTES = 4096
"""A message of a handshake: two names, a nonce, the digests of 65 tables, a certificate."""

VERSION = 1
"""The handshake described here; another one has another number."""

DIGEST_BYTES = 32
BINDING_BYTES = 64

_MAGIC = b"quorumcast link\0"
_HEAD_BYTES = len(_MAGIC) + 2
_LENGTH_BYTES = 4


class Kind(IntEnum):
    """The messages of a handshake.

    >>> Kind(1).name
    'HELLO'
    """

    HELLO = 1
    CHALLENGE = 2
    PROOF = 3
    VERDICT = 4
    REFUSAL = 5


class Role(IntEnum):
    """What an initiator says that it is.

    >>> Role.REPLICA.value
    2
    """

    CLIENT = 1
    REPLICA = 2


class Verdict(IntEnum):
    """What a responder decides on a party that has proven who it is.

    >>> Verdict.ADMITTED.value
    0
    """

    ADMITTED = 0
    REVOKED = 1
    FULL = 2


class Refusal(IntEnum):
    """Why a responder does not go on with a stranger.

    >>> Refusal.TABLES.value
    4
    """

    VERSION = 1
    CLUSTER = 2
    EPOCH = 3
    TABLES = 4
    ADDRESSEE = 5
    IDENTITY = 6
    BINDING = 7
    PROOF = 8


VERDICTS: dict[int, str] = {
    Verdict.REVOKED: "this name is revoked: ask the operator for another one",
    Verdict.FULL: "it serves as many clients as it can: try again later",
}
"""What the one who is not let in reads."""

REFUSALS: dict[int, str] = {
    Refusal.VERSION: "it speaks another version of the handshake: use the same release",
    Refusal.CLUSTER: "it belongs to another cluster",
    Refusal.EPOCH: "it is in another epoch: fetch the newest cluster file",
    Refusal.TABLES: "its manifest differs: give both parties the same cluster file",
    Refusal.ADDRESSEE: "another party answers at this address: check the addresses",
    Refusal.IDENTITY: "it knows nobody by this name, role and certificate",
    Refusal.BINDING: "it did not make the channel that we see: check its TLS certificate",
    Refusal.PROOF: "our proof failed there: check the key file",
}
"""What the one who is refused reads; nothing that comes from the other end is shown."""


class Hello(NamedTuple):
    """The first message, from the initiator.

    >>> tables = bytes(64)
    >>> hello = Hello(Role.CLIENT, "a", "r1", bytes(32), bytes(32), 1, tables, b"", b"certificate")
    >>> Hello.decode(hello.encode()) == hello
    True
    """

    role: Role
    name: Party
    addressee: Party
    nonce: bytes
    cluster: bytes
    epoch: int
    tables: bytes
    """The digests of the manifest's tables, in their order."""
    binding: bytes
    certificate: bytes

    def encode(self) -> bytes:
        """The bytes, the only ones that stand for it."""
        return message(
            Kind.HELLO,
            bytes((self.role,)),
            self.name.encode(),
            self.addressee.encode(),
            self.nonce,
            self.cluster,
            self.epoch.to_bytes(8, "big"),
            self.tables,
            self.binding,
            self.certificate,
        )

    @classmethod
    def decode(cls, data: bytes) -> Hello:
        """The message in these bytes, or `ProtocolError`."""
        role, name, addressee, nonce, cluster, epoch, tables, binding, certificate = fields_of(
            Kind.HELLO, data, 9
        )
        if len(role) != 1 or role[0] not in (Role.CLIENT, Role.REPLICA):
            raise ProtocolError("handshake: a role that does not exist")
        for what, field, size in (
            ("nonce", nonce, NONCE_BYTES),
            ("cluster", cluster, DIGEST_BYTES),
            ("epoch", epoch, 8),
        ):
            if len(field) != size:
                raise ProtocolError(f"handshake: {what} of {len(field)} bytes instead of {size}")
        count, rest = divmod(len(tables), DIGEST_BYTES)
        if rest or not 2 <= count <= REPLICAS + 1:
            raise ProtocolError(f"handshake: {len(tables)} bytes are no digests of tables")
        if len(binding) > BINDING_BYTES:
            raise ProtocolError(f"handshake: a binding of {len(binding)} bytes")
        number = int.from_bytes(epoch, "big")
        names = _name(name), _name(addressee)
        return cls(Role(role[0]), *names, nonce, cluster, number, tables, binding, certificate)


def message(kind: Kind, *fields: bytes) -> bytes:
    """A message of this kind with these fields.

    >>> message(Kind.PROOF, b"ab")
    b'quorumcast link\\x00\\x01\\x03\\x00\\x00\\x00\\x02ab'
    """
    return _MAGIC + bytes((VERSION, kind)) + lengths(*fields)


def _name(field: bytes) -> Party:
    try:
        name = field.decode()
    except UnicodeDecodeError:
        raise ProtocolError("handshake: a name that is not UTF-8") from None
    if (fault := name_fault(name)) is not None:
        raise ProtocolError(f"handshake: a name {fault}")
    return name


def kind_of(data: bytes) -> int:
    """The kind of a message of this version; other bytes are `ProtocolError`.

    >>> kind_of(message(Kind.PROOF, b"ab"))
    3
    """
    if len(data) > HANDSHAKE_BYTES:
        raise ProtocolError(f"handshake: {len(data)} bytes, more than {HANDSHAKE_BYTES}")
    if len(data) < _HEAD_BYTES or not data.startswith(_MAGIC):
        raise ProtocolError(f"handshake: {len(data)} bytes that are no message of a handshake")
    version, kind = data[_HEAD_BYTES - 2], data[_HEAD_BYTES - 1]
    if version != VERSION:
        raise OtherVersion(f"handshake: version {version}; this release speaks {VERSION}")
    return kind


class OtherVersion(ProtocolError):
    """The peer is of another release; it can be told so.

    >>> issubclass(OtherVersion, ProtocolError)
    True
    """


def fields_of(kind: Kind, data: bytes, count: int) -> list[bytes]:
    """The fields of a message of this kind, exactly so many; else `ProtocolError`.

    >>> fields_of(Kind.PROOF, message(Kind.PROOF, b"ab"), 1)
    [b'ab']
    """
    theirs = kind_of(data)
    if theirs != kind:
        raise ProtocolError(f"handshake: message {theirs} where {kind.name} is due")
    fields: list[bytes] = []
    at, size = _HEAD_BYTES, len(data)
    while at < size and len(fields) < count:
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start], "big")
        if start > size or at > size:
            raise ProtocolError(f"handshake: {kind.name} is cut short")
        fields.append(data[start:at])
    if at != size or len(fields) != count:
        raise ProtocolError(f"handshake: {kind.name} has other than {count} fields")
    return fields
