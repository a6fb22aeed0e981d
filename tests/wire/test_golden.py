"""The bytes of every message, pinned: what is sent today is understood tomorrow.

A failure here means that replicas of two versions would not understand each other. New vectors
are added by a line in `vectors.py` and `python -m tests.wire.make_golden`, which leaves the
bytes of old ones alone.
"""

from __future__ import annotations

from copy import deepcopy

import pytest
from blake3 import blake3

from quorumcast.wire import Opener, Sealer, decode_payload, encode_payload, kinds
from tests.wire.make_golden import extend, load
from tests.wire.vectors import (
    FRAMES,
    KEY,
    LARGE,
    OTHER,
    SESSION,
    VECTORS,
    digests,
    signatures,
)

GOLDEN = load()


def pinned(section: str, name: str, field: str) -> bytes:
    return bytes.fromhex(str(GOLDEN[section][name][field]))


def test_every_kind_has_a_vector() -> None:
    assert {entry["kind"] for entry in GOLDEN["messages"].values()} == set(kinds())
    assert GOLDEN["messages"].keys() == VECTORS.keys()
    assert GOLDEN["frames"].keys() == FRAMES.keys()


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_decodes_to_its_message_and_back(name: str) -> None:
    message = VECTORS[name].message
    payload, detached = pinned("messages", name, "payload"), pinned("messages", name, "detached")
    assert decode_payload(payload, detached) == [message]
    again, bodies = encode_payload([message])
    assert (again, b"".join(bodies)) == (payload, detached)
    kind = GOLDEN["messages"][name]["kind"]
    assert payload[1] == kind
    assert kinds()[payload[1]] is type(message)


def test_frames_are_sealed_and_opened_as_pinned() -> None:
    sealer, opener = Sealer(KEY), Opener(KEY)
    for name, (_, names) in FRAMES.items():
        messages = [VECTORS[each].message for each in names]
        frame = pinned("frames", name, "frame")
        assert sealer.seal(messages) == frame
        assert opener.open(frame) == messages


def test_extending_the_file_leaves_old_vectors_alone() -> None:
    golden = deepcopy(GOLDEN)
    golden["messages"]["credit"]["payload"] = "00"
    del golden["messages"]["held"]
    del golden["frames"]["frame-2"]
    assert extend(golden) == ["held", "frame-2"]
    assert golden["messages"]["credit"]["payload"] == "00"
    assert golden["messages"]["held"] == GOLDEN["messages"]["held"]
    assert golden["frames"] == GOLDEN["frames"]
    assert extend(deepcopy(GOLDEN)) == []


# -- by hand, with other means than the code's own -------------------------------------------------

S = b"\x06alerts" + b"\x07probe-7" + SESSION + b"\x00"


def u64(value: int) -> bytes:
    return value.to_bytes(8, "big")


def test_a_statement_by_hand() -> None:
    expected = b"\x01" + b"\x08" + S + u64(5) + digests(1)
    assert pinned("messages", "ready-up-to", "payload") == expected


def test_votes_by_hand() -> None:
    expected = b"\x01" + b"\x07" + S + u64(7) + b"\0\0\0\3" + digests(3) + b"\0"
    assert pinned("messages", "held", "payload") == expected


def test_bodies_by_hand() -> None:
    lengths = b"\0\0\0\2" + b"\0\0\4\1" + b"\0\0\0\0" + b"\0\0\4\1"
    bodies = b"in" + blake3(LARGE).digest() + blake3(OTHER).digest()
    run = u64(3) + b"\0\0\0\4" + lengths + bodies
    expected = b"\x01" + b"\x03" + S + run + b"\1" + signatures(4)
    assert pinned("messages", "publish-mixed", "payload") == expected
    assert pinned("messages", "publish-mixed", "detached") == LARGE + OTHER


def test_a_frame_by_hand() -> None:
    statement = S + u64(5) + digests(1)
    payload = b"\x01" + b"\x08" + statement + b"\x09" + S + u64(1) + digests(1)
    tagged = u64(1) + len(payload).to_bytes(4, "big") + payload
    rest = tagged[:8] + blake3(tagged, key=KEY).digest()[:16] + tagged[8:]
    assert pinned("frames", "frame-1", "frame") == len(rest).to_bytes(4, "big") + rest
