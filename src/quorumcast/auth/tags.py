"""Tags of 16 bytes by keyed BLAKE3: on links, on statements, and vectors of them.

- A link's tag is over a frame's bytes, under the key of its connection and direction.
- A statement's tag is under the pair key and goes where a statement travels through somebody
  else; its input names the statement's kind, cluster, epoch, channel and instance, so that it
  counts for nothing else.
- An authenticator is one statement's tags for several receivers. Each checks its own entry; that
  the others' are good it cannot know, and must not conclude.

A tag convinces its receiver alone, who could have made it: it proves nothing to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import NamedTuple, TypeAlias

import msgspec
from blake3 import blake3

from quorumcast.auth.digests import lengths
from quorumcast.core.ids import Party

TAG_BYTES = 16

Data: TypeAlias = bytes | bytearray | memoryview

_STATEMENT = b"quorumcast statement 1\0"


def tag(key: bytes, data: Data) -> bytes:
    """The tag of these bytes under this key of 32 bytes.

    >>> len(tag(b"k" * 32, b"frame"))
    16
    """
    return blake3(data, key=key).digest(length=TAG_BYTES)


def check_tag(key: bytes, data: Data, tag: Data) -> bool:
    """Whether this is the tag of these bytes; takes the same time wherever they differ.

    >>> check_tag(b"k" * 32, b"frame", tag(b"k" * 32, b"frame"))
    True
    >>> check_tag(b"k" * 32, b"frame", b"")
    False
    """
    return compare_digest(blake3(data, key=key).digest(length=TAG_BYTES), tag)


class Statement(NamedTuple):
    """What a statement tag is over.

    >>> one = Statement("chain", bytes(32), 1, "alerts", b"i", bytes(32))
    >>> one.encode() == one._replace(channel="alert", instance=b"si").encode()
    False
    """

    domain: str
    """The kind of statement; each kind has a name of its own."""
    cluster: bytes
    epoch: int
    channel: str
    instance: bytes
    """Which one of its kind: a stream and a position, a view and a slot."""
    digest: bytes

    def encode(self) -> bytes:
        """The statement in bytes that no other statement has."""
        return _STATEMENT + lengths(
            self.domain.encode(),
            self.cluster,
            self.epoch.to_bytes(8, "big"),
            self.channel.encode(),
            self.instance,
            self.digest,
        )


def statement_tag(
    key: bytes,
    domain: str,
    cluster: bytes,
    epoch: int,
    channel: str,
    instance: bytes,
    digest: bytes,
) -> bytes:
    """The tag of a statement for the receiver with whom the sender shares this pair key.

    >>> len(statement_tag(b"k" * 32, "chain", bytes(32), 1, "alerts", b"i", bytes(32)))
    16
    """
    return tag(key, Statement(domain, cluster, epoch, channel, instance, digest).encode())


def check_statement_tag(
    key: bytes,
    tag: bytes,
    domain: str,
    cluster: bytes,
    epoch: int,
    channel: str,
    instance: bytes,
    digest: bytes,
) -> bool:
    """Whether the sender with whom one shares this pair key tagged that statement.

    >>> statement = Statement("chain", bytes(32), 1, "alerts", b"i", bytes(32))
    >>> made = statement_tag(b"k" * 32, *statement)
    >>> check_statement_tag(b"k" * 32, made, *statement._replace(epoch=2))
    False
    """
    data = Statement(domain, cluster, epoch, channel, instance, digest).encode()
    return check_tag(key, data, tag)


class Authenticator(msgspec.Struct, frozen=True):
    """One statement's tags: the i-th 16 bytes of `tags` are for the i-th of `receivers`.

    >>> Authenticator(("r1", "r2"), b"1" * 16 + b"2" * 16).entry("r2")
    b'2222222222222222'
    """

    receivers: tuple[Party, ...]
    tags: bytes

    def entry(self, receiver: Party) -> bytes | None:
        """The tag for this receiver; None unless the vector is whole and names it once."""
        whole = len(self.tags) == TAG_BYTES * len(self.receivers)
        if not whole or self.receivers.count(receiver) != 1:
            return None
        start = TAG_BYTES * self.receivers.index(receiver)
        return self.tags[start : start + TAG_BYTES]

    def check(self, receiver: Party, key: bytes, statement: Statement) -> bool:
        """Whether this receiver's own entry is the sender's tag of that statement."""
        entry = self.entry(receiver)
        return entry is not None and check_tag(key, statement.encode(), entry)


def make_authenticator(keys: Mapping[Party, bytes], statement: Statement) -> Authenticator:
    """The statement's tags for all these receivers, by the pair keys towards them.

    >>> statement = Statement("prepare", bytes(32), 1, "orders", b"view 0", bytes(32))
    >>> made = make_authenticator({"r1": b"1" * 32, "r2": b"2" * 32}, statement)
    >>> made.check("r2", b"2" * 32, statement), made.check("r1", b"2" * 32, statement)
    (True, False)
    """
    data = statement.encode()
    return Authenticator(tuple(keys), b"".join(tag(key, data) for key in keys.values()))
