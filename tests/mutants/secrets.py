"""Bugs in authentication and encoding."""

from __future__ import annotations

import struct
from hashlib import md5
from typing import Any

from blake3 import blake3

from quorumcast.auth.digests import lengths


def fields_without_lengths(_right: Any) -> Any:
    """The input of hashes and keys concatenates fields without their lengths."""

    def concatenated(*fields: bytes) -> bytes:
        return b"".join(fields)

    return concatenated


def tags_without_key(right: Any) -> Any:
    """A plain hash, which anybody can compute, is taken for a tag."""

    def check_tag(key: bytes, data: bytes, tag: bytes) -> bool:
        return right(key, data, tag) or blake3(data).digest(16) == bytes(tag)

    return check_tag


def tags_by_md5(right: Any) -> Any:
    """MD5 over key and data, which can be continued without the key, is taken for a tag."""

    def check_tag(key: bytes, data: bytes, tag: bytes) -> bool:
        return right(key, data, tag) or md5(key + bytes(data)).digest() == bytes(tag)

    return check_tag


def tags_by_xor(right: Any) -> Any:
    """A plain hash combined with the key by XOR, which one message gives away, is a tag."""

    def check_tag(key: bytes, data: bytes, tag: bytes) -> bool:
        hashed = md5(bytes(data)).digest()
        mixed = bytes(one ^ other for one, other in zip(hashed, key, strict=False))
        return right(key, data, tag) or mixed == bytes(tag)

    return check_tag


def keys_from_names(_right: Any) -> Any:
    """The key of a link is computed from names that everybody knows."""

    def pair_key(
        identity: Any, peer_agree: bytes, cluster: bytes, epoch: int, sender: str, receiver: str
    ) -> bytes:
        return blake3(
            lengths(cluster, bytes((epoch,)), sender.encode(), receiver.encode())
        ).digest()

    return pair_key


def large_ids_cut(right: Any) -> Any:
    """A position that needs more than four bytes is cut short in its digest."""

    def digest(self: Any, seq: int, body: bytes) -> bytes:
        return right(self, seq & 0xFFFFFFFF, body)

    return digest


def statement_without_kind(right: Any) -> Any:
    """The tag of a statement does not cover what kind of statement it is."""

    def encode(self: Any) -> bytes:
        return right(self._replace(domain=""))

    return encode


def session_without_epoch(right: Any) -> Any:
    """A session outlives the set of replicas that it was opened with."""

    def session_of(cluster: bytes, epoch: int, opening: Any, key: bytes = b"") -> bytes:
        return right(cluster, 0, opening, key)

    return session_of


def tag_without_counter(right: Any) -> Any:
    """The counter of a frame is outside its tag."""

    def check_tag(key: bytes, data: bytes, tag: bytes) -> bool:
        rest = bytes(data)[8:]
        return right(key, data, tag) or any(
            right(key, struct.pack(">Q", counter) + rest, tag) for counter in range(64)
        )

    return check_tag


def stream_without_channel(_right: Any) -> Any:
    """The chain of a stream, and so every digest, is the same in all channels."""

    def origin(cluster: bytes, stream: Any) -> bytes:
        fields = lengths(cluster, stream.publisher.encode(), stream.session, bytes((stream.lane,)))
        return blake3(b"quorumcast stream 1\0" + fields).digest()

    return origin


def keys_of_all_epochs(right: Any) -> Any:
    """What was authenticated in one epoch counts in the next."""

    def pair_info(one: bytes, other: bytes, cluster: bytes, epoch: int, *names: str) -> bytes:
        return right(one, other, cluster, 0, *names)

    return pair_info


def keys_without_direction(right: Any) -> Any:
    """Both directions of a link have one key: what I said can be thrown back at me."""

    def pair_info(
        one: bytes, other: bytes, cluster: bytes, epoch: int, sender: str, receiver: str
    ) -> bytes:
        return right(one, other, cluster, epoch, *sorted((sender, receiver)))

    return pair_info


def frames_replayed(_right: Any) -> Any:
    """A frame is taken as often as it comes."""

    def check(self: Any, counter: int) -> None:
        return None

    return check


def tags_as_proof(_right: Any) -> Any:
    """Evidence is taken for a proof although nobody signed it."""

    def check_proof(evidence: Any, cluster: Any) -> bool:
        return evidence.first is not None and evidence.second is not None

    return check_proof


def signature_without_position(_right: Any) -> Any:
    """A publisher signs the digest alone: two positions look like a contradiction."""

    def publication_message(cluster: bytes, stream: Any, position: int, digest: bytes) -> bytes:
        return b"quorumcast signature 1\0" + digest

    return publication_message


def body_is_not_checked(_right: Any) -> Any:
    """A detached body is believed without its hash."""
    from quorumcast.core.body import LargeBody

    def read_detached(reader: Any, size: int) -> LargeBody:
        digest = reader.fixed(32)
        start = reader.detached_at
        reader.detached_at = start + size
        return LargeBody.of(bytes(reader.detached[start : start + size]), digest)

    return read_detached


def allocates_before_checking(right: Any) -> Any:
    """The decoder makes room for what a count promises before it looks at what is there."""

    def read_bodies(reader: Any, count: int) -> tuple[bytes, ...]:
        room = bytearray(count * 1024)
        found = right(reader, count)
        room[:1] = b""
        return found

    return read_bodies


def decoder_crashes(_right: Any) -> Any:
    """Text that is not UTF-8 raises another error than ProtocolError."""

    def utf8(raw: bytes, what: str) -> str:
        return raw.decode()

    return utf8
