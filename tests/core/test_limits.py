"""Every limit has its reason, and those that depend on each other fit."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from quorumcast.auth.certificate import Certificate
from quorumcast.auth.identity import PublicKeys
from quorumcast.core import limits
from quorumcast.core.channel import Channel
from quorumcast.core.ids import Incarnation, Lane, Opening, Stream
from quorumcast.core.messages import (
    AskBodies,
    Bodies,
    Digests,
    Head,
    Heads,
    Held,
    Hello,
    Message,
    Open,
    Publish,
    Status,
    StatusCode,
    Subscribe,
)
from quorumcast.wire import Opener, Sealer

NAMES = {
    name: value
    for name, value in vars(limits).items()
    if name.isupper() and isinstance(value, int | float)
}


def reasons() -> dict[str, str]:
    """The text under each name of the file."""
    source = Path(limits.__file__ or "").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    body = ast.parse(source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = after.value if isinstance(after, ast.Expr) else None
            value = text.value if isinstance(text, ast.Constant) else ""
            found[node.targets[0].id] = value if isinstance(value, str) else ""
    return found


def test_every_limit_has_a_reason() -> None:
    found = reasons()
    assert set(found) == set(NAMES)
    assert len(NAMES) > 30
    assert [name for name, text in found.items() if len(text.split()) < 5] == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_limit_limits_something(name: str) -> None:
    assert 0 < NAMES[name] < 2**32


def test_limits_that_grow_into_each_other_do() -> None:
    assert limits.INLINE_BODY_BYTES < limits.BODY_BYTES <= limits.FRAME_BYTES // 2
    assert limits.REPEAT_SECONDS < limits.REPEAT_MOST_SECONDS
    assert limits.HEADS_SECONDS < limits.HEADS_MOST_SECONDS
    assert limits.OPEN_BACKOFF_SECONDS < limits.OPEN_BACKOFF_MOST_SECONDS
    assert limits.PULLS_PER_SECOND <= limits.PULLS_BURST
    assert limits.STREAMS_PER_PUBLISHER <= limits.STREAMS_PER_CHANNEL
    assert limits.SHARE_LEAST_BYTES <= limits.SHARE_BYTES
    assert limits.READ_BYTES <= limits.BODY_BYTES
    assert limits.BODY_BYTES <= limits.SHARE_BYTES
    assert limits.NAME_BYTES < 256  # a name's length is one byte


def test_two_alpha_of_the_largest_channel_are_one_run() -> None:
    alpha = limits.RUN_POSITIONS // 2
    assert Channel("c", alpha=alpha).window == limits.RUN_POSITIONS


NAME = "n" * limits.NAME_BYTES
STREAM = Stream(NAME, NAME, bytes(32), Lane.URGENT)
LIVES = (Incarnation(1, 1),) * limits.REPLICAS
OPENING = Opening(NAME, 2**64 - 1, LIVES)
RUN = limits.RUN_POSITIONS
LARGEST: list[Message] = [
    Hello(LIVES[0], LIVES),
    Open(STREAM, OPENING, bytes(limits.CERTIFICATE_BYTES)),
    Held(STREAM, 1, bytes(32 * RUN), bytes(64 * RUN)),
    Digests(STREAM, 1, bytes(32 * RUN)),
    AskBodies(STREAM, 1, bytes(32 * RUN)),
    Publish(STREAM, 1, (bytes(limits.BODY_BYTES),), bytes(64)),
    Bodies(STREAM, 1, (b"",) * limits.READ_POSITIONS, bytes(64 * limits.READ_POSITIONS)),
    Bodies(STREAM, 1, (bytes(limits.READ_BYTES), bytes(limits.BODY_BYTES)), bytes(128)),
    Heads(NAME, 1, (Head(STREAM, 1, 1, 1),) * limits.HEADS_PAGE, True),
    Subscribe(NAME, 1, (NAME,) * limits.PATTERNS, 0, 1),
    Status(STREAM, StatusCode.REJECTED, 0, "r" * limits.REASON_BYTES),
]


@pytest.mark.parametrize("message", LARGEST, ids=lambda message: type(message).__name__)
def test_the_largest_message_that_the_limits_allow_fits_a_frame(message: Message) -> None:
    key = bytes(32)
    frame = Sealer(key).seal([message])
    assert len(frame) <= limits.FRAME_BYTES
    assert Opener(key).open(frame) == [message]


def test_the_longest_name_fits_a_certificate() -> None:
    keys = PublicKeys(bytes(32), bytes(32))
    longest = Certificate(NAME, keys, bytes(32), bytes(64)).encode()
    assert len(longest) <= limits.CERTIFICATE_BYTES
