"""Bugs in authentication and encoding."""

from __future__ import annotations

import struct
from typing import Any

from blake3 import blake3

from quorumcast.auth.digests import lengths


def fields_without_lengths(_right: Any) -> Any:
    """The input of hashes and keys concatenates fields without their lengths."""

    def concatenated(*fields: bytes) -> bytes:
        return b"".join(fields)

    return concatenated


def tag_without_key(_right: Any) -> Any:
    """The tag of a frame is a plain hash, which anybody can compute."""

    def tag(key: bytes, data: bytes) -> bytes:
        return blake3(data).digest(16)

    return tag


def tag_without_counter(_right: Any) -> Any:
    """The counter of a frame is outside its tag."""

    def check_tag(key: bytes, data: bytes, tag: bytes) -> bool:
        counters = (struct.pack(">Q", counter) for counter in range(64))
        rest = bytes(data)[8:]
        return any(blake3(each + rest, key=key).digest(16) == tag for each in counters)

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
