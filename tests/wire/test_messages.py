"""Every message comes back as it was; what is not its encoding is refused, by name."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorumcast.core import messages as m
from quorumcast.core.body import LargeBody
from quorumcast.core.errors import ProtocolError
from quorumcast.core.ids import Incarnation, Opening, Stream
from quorumcast.core.messages import Message
from quorumcast.wire import decode_payload, encode_payload, kinds
from tests.wire.strategies import MESSAGES, any_message
from tests.wire.vectors import LARGE, LAST, OPENING, OTHER, SESSION, STREAM, VECTORS, digests

BY_NAME = sorted(MESSAGES, key=lambda type_: type_.__name__)


def roundtrip(messages: list[Message]) -> list[Message]:
    payload, detached = encode_payload(messages)
    return decode_payload(payload, b"".join(detached))


@pytest.mark.parametrize("type_", BY_NAME)
@given(data=st.data())
def test_a_message_comes_back_as_it_was(type_: type[Any], data: st.DataObject) -> None:
    message = data.draw(MESSAGES[type_])
    (found,) = roundtrip([message])
    assert type(found) is type_
    assert found == message


@given(st.lists(any_message, max_size=6))
def test_messages_of_a_payload_come_back_in_order(messages: list[Message]) -> None:
    assert roundtrip(messages) == messages


def test_every_message_has_a_kind() -> None:
    assert set(get_args(Message)) == set(kinds().values()) == set(MESSAGES)


def test_enumerations_come_back_as_such() -> None:
    (found,) = roundtrip([VECTORS["status-rejected"].message])
    assert isinstance(found, m.Status)
    assert found.code is m.StatusCode.REJECTED
    assert found.stream.lane.name == "URGENT"


def test_a_large_body_comes_with_its_hash_and_is_not_hashed_again() -> None:
    (found,) = roundtrip([m.Publish(STREAM, 1, (LARGE, b"small"))])
    assert isinstance(found, m.Publish)
    large, small = found.bodies
    assert isinstance(large, LargeBody)
    assert type(small) is bytes
    false = LargeBody.of(large, b"h" * 32)  # the encoder believes a hash that was checked before
    payload, _ = encode_payload([m.Publish(STREAM, 1, (false,))])
    assert b"h" * 32 in payload
    assert large.hash not in payload


# -- what is refused ---------------------------------------------------------------------------

S = b"\x06alerts\x07probe-7" + SESSION + b"\x00"
ONE = (1).to_bytes(8, "big")
D = b"d" * 32


def u(value: int, width: int) -> bytes:
    return value.to_bytes(width, "big")


def run(first: int, count: int) -> bytes:
    return u(first, 8) + u(count, 4)


def stream(channel: bytes = b"\x01c", publisher: bytes = b"\x01p", lane: bytes = b"\x00") -> bytes:
    return channel + publisher + SESSION + lane


REFUSED: list[tuple[str, bytes, str]] = [
    ("no version", b"", "the payload is empty"),
    ("kind 0", b"\x01\x00", "unknown kind 0"),
    ("a kind nobody has", b"\x01\xff", "unknown kind 255"),
    ("garbage after a message", b"\x01\x0b" + S + b"\x00", "unknown kind 0"),
    ("a lane too many", b"\x01\x0b" + stream(lane=b"\x02"), "lane 2"),
    ("no channel", b"\x01\x0b" + stream(channel=b"\x00"), "a channel's name of 0 bytes"),
    ("no publisher", b"\x01\x0b" + stream(publisher=b"\x00"), "a publisher's name of 0 bytes"),
    ("a long name", b"\x01\x0b" + stream(channel=b"\x81" + b"c" * 129), "name of 129 bytes"),
    ("latin-1", b"\x01\x0b" + stream(channel=b"\x01\xe9"), "name is not UTF-8"),
    ("overlong UTF-8", b"\x01\x0b" + stream(channel=b"\x02\xc0\xaf"), "name is not UTF-8"),
    ("a surrogate", b"\x01\x0b" + stream(publisher=b"\x03\xed\xa0\x80"), "name is not UTF-8"),
    ("a stream cut short", b"\x01\x0b" + S[:-1], "ends inside a message"),
    ("a stream of one byte", b"\x01\x0b\x05", "ends inside a message"),
    ("position 0", b"\x01\x08" + S + bytes(8) + D, "position 0 does not exist"),
    ("position 2**63", b"\x01\x08" + S + u(2**63, 8) + D, f"position {2**63} does not exist"),
    ("a chain cut short", b"\x01\x08" + S + ONE + D[:-1], "ends inside a message"),
    ("ask for votes from 0", b"\x01\x0d" + S + bytes(8), "position 0 does not exist"),
    ("confirm position 0", b"\x01\x0e" + S + bytes(8), "position 0 does not exist"),
    ("credit of 2**63", b"\x01\x05" + S + u(2**63, 8), f"{2**63} is above {LAST}"),
    ("a floor that may be", b"\x01\x0a" + S + ONE + D + b"\x02", "a flag is 0 or 1, not 2"),
    ("an unconfirmed chain", b"\x01\x0a" + S + ONE + D + b"\x00", "unconfirmed floor"),
    ("a run of none", b"\x01\x07" + S + run(1, 0) + b"\x00", "a run of 0 positions"),
    ("bodies of none", b"\x01\x03" + S + run(1, 0) + b"\x00", "a run of 0 positions"),
    ("bodies of none, pulled", b"\x01\x12" + S + run(1, 0) + b"\x00", "a run of 0 positions"),
    ("digests of none", b"\x01\x10" + S + run(1, 0), "a run of 0 positions"),
    ("asking for no bodies", b"\x01\x11" + S + run(1, 0), "a run of 0 positions"),
    ("a run of too many", b"\x01\x07" + S + run(1, 65_537), "a run of 65537 positions"),
    ("asking for too many", b"\x01\x0f" + S + run(1, 65_537), "a run of 65537 positions"),
    ("asking for none", b"\x01\x0f" + S + run(1, 0), "a run of 0 positions"),
    ("a run from 0", b"\x01\x07" + S + run(0, 1) + D + b"\x00", "cannot begin at 0"),
    ("a run over the end", b"\x01\x07" + S + run(LAST, 2) + D * 2 + b"\x00", "cannot begin at"),
    ("a run from 2**64-1", b"\x01\x0f" + S + run(2**64 - 1, 1), f"cannot begin at {2**64 - 1}"),
    ("a digest missing", b"\x01\x07" + S + run(1, 2) + D + b"\x00", "ends inside a message"),
    ("perhaps signed", b"\x01\x07" + S + run(1, 1) + D + b"\x02", "a flag is 0 or 1, not 2"),
    ("a signature short", b"\x01\x07" + S + run(1, 1) + D + b"\x01" + D + D[1:], "ends inside"),
    ("no word of signatures", b"\x01\x07" + S + run(1, 1) + D, "ends inside a message"),
    ("lengths missing", b"\x01\x03" + S + run(1, 2) + u(1, 4), "ends inside a message"),
    ("a body missing", b"\x01\x03" + S + run(1, 2) + u(1, 4) * 2 + b"a", "ends inside a message"),
    ("a body too large", b"\x01\x03" + S + run(1, 1) + u(2**23 + 1, 4), "a body of 8388609 bytes"),
    ("a hash missing", b"\x01\x03" + S + run(1, 1) + u(1025, 4) + D[1:], "ends inside a message"),
    ("a detached body missing", b"\x01\x03" + S + run(1, 1) + u(1025, 4) + D, "detached body"),
    ("a status too many", b"\x01\x04" + S + b"\x05" + ONE + b"\x00\x00", "status 5"),
    ("a long reason", b"\x01\x04" + S + b"\x00" + ONE + u(513, 2) + b"r" * 513, "a reason of 513"),
    ("a binary reason", b"\x01\x04" + S + b"\x00" + ONE + b"\x00\x01\xff", "a reason is not UTF-8"),
    ("65 replicas", b"\x01\x01" + bytes(16) + b"\x41" + bytes(16 * 65), "65 incarnations"),
    ("a replica missing", b"\x01\x01" + bytes(16) + b"\x02" + bytes(31), "ends inside a message"),
    (
        "a long certificate",
        b"\x01\x02" + S + b"\x01p" + ONE + b"\x00" + u(1025, 2) + b"c" * 1025,
        "a certificate of 1025",
    ),
    ("65 patterns", b"\x01\x15\x01c" + ONE + b"\x41" + b"\x01p" * 65 + ONE * 2, "65 patterns"),
    ("an empty pattern", b"\x01\x15\x01c" + ONE + b"\x01\x00" + ONE * 2, "a pattern of 0 bytes"),
    ("257 heads", b"\x01\x14\x01c" + ONE + u(257, 2), "257 heads on a page"),
    ("a charter's digest cut short", b"\x01\x40" + ONE + D[1:], "ends inside a message"),
    ("a charter too long", b"\x01\x41" + u(2**22 + 1, 4), "a charter of 4194305 bytes"),
    ("a charter cut short", b"\x01\x41" + u(9, 4) + b"x" * 8, "ends inside a message"),
    ("a report too long", b"\x01\x43" + u(2**20 + 1, 4), "a report of 1048577 bytes"),
    ("a head missing", b"\x01\x14\x01c" + ONE + u(1, 2) + b"\x01", "ends inside a message"),
]


@pytest.mark.parametrize(("payload", "why"), [pytest.param(p, w, id=i) for i, p, w in REFUSED])
def test_what_no_correct_peer_sends_is_refused_by_name(payload: bytes, why: str) -> None:
    with pytest.raises(ProtocolError, match=why.replace("*", r"\*")):
        decode_payload(payload)


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_is_refused_by_name(version: int) -> None:
    with pytest.raises(ProtocolError, match=f"version {version} of the encoding: this side sp"):
        decode_payload(bytes((version,)) + b"\x0b" + S)


@pytest.mark.parametrize(
    ("detached", "why"),
    [
        (LARGE + OTHER + b"!", "behind the last detached body"),
        (LARGE + OTHER[:-1], "missing or cut short"),
        (OTHER + LARGE, "does not have its hash"),
        (LARGE + LARGE, "does not have its hash"),
        (b"", "missing or cut short"),
    ],
    ids=["too many", "too few", "exchanged", "repeated", "none"],
)
def test_detached_bodies_are_exactly_those_named(detached: bytes, why: str) -> None:
    payload, bodies = encode_payload([VECTORS["publish-mixed"].message])
    assert bodies == [LARGE, OTHER]
    with pytest.raises(ProtocolError, match=why):
        decode_payload(payload, detached)


def test_nothing_may_stand_behind_a_payload_without_large_bodies() -> None:
    payload, _ = encode_payload([VECTORS["held"].message])
    with pytest.raises(ProtocolError, match="behind the last detached body"):
        decode_payload(payload, b"x")


# -- our own bugs are assertions -----------------------------------------------------------------

NAMELESS = Stream("", "p", SESSION, STREAM.lane)
LIFE = Incarnation(1, 1)


@pytest.mark.parametrize(
    "message",
    [
        m.Held(STREAM, 1, b""),
        m.Held(STREAM, 1, D[1:]),
        m.Held(STREAM, 0, D),
        m.Held(STREAM, LAST, D * 2),
        m.Held(STREAM, 1, D, b"s" * 63),
        m.Held(STREAM, 1, D, b"s" * 128),
        m.Held(STREAM, 1, digests(1) * 65_537),
        m.Publish(STREAM, 1, ()),
        m.Publish(STREAM, 1, (b"a", b"b"), b"s" * 64),
        m.Publish(STREAM, 1, (bytes(2**23 + 1),)),
        m.Bodies(STREAM, 1, ()),
        m.ReadyUpTo(STREAM, 0, D),
        m.ReadyUpTo(STREAM, 2**63, D),
        m.ReadyUpTo(STREAM, 1, D[1:]),
        m.FloorAt(STREAM, 1, D, False),
        m.FloorAt(STREAM, 1, b"", True),
        m.Credit(STREAM, -1),
        m.Credit(STREAM, 2**63),
        m.AskDigests(STREAM, 2, 1),
        m.AskDigests(STREAM, 1, 65_537),
        m.AskOpening(NAMELESS),
        m.AskOpening(Stream("c", "p" * 129, SESSION, STREAM.lane)),
        m.AskOpening(Stream("c", "\ud800", SESSION, STREAM.lane)),
        m.AskOpening(Stream("c", "p", SESSION[1:], STREAM.lane)),
        m.Hello(Incarnation(-1, 0), ()),
        m.Hello(Incarnation(0, 2**64), ()),
        m.Hello(LIFE, (LIFE,) * 65),
        m.Open(STREAM, OPENING, bytes(1025)),
        m.Open(STREAM, Opening("p", 2**64, ()), b""),
        m.Status(STREAM, m.StatusCode.OK, 0, "ä" * 257),
        m.Subscribe("c", 1, ("p",) * 65, 0, 0),
        m.Subscribe("c", 1, ("",), 0, 0),
        m.Heads("c", 1, (m.Head(STREAM, 0, 0, 0),) * 257, False),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_without_an_encoding_is_our_own_bug(message: Message) -> None:
    with pytest.raises(AssertionError):
        encode_payload([message])
