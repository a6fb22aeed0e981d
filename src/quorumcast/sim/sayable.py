"""What a liar can put into a frame at all."""

from __future__ import annotations

import struct

from quorumcast.core.messages import Message
from quorumcast.wire.codec import encode_message

UNSAYABLE = (AssertionError, OverflowError, struct.error, UnicodeEncodeError)
"""What the encoder raises for messages that no frame can carry."""


def sayable(messages: list[Message]) -> list[Message]:
    """Of a liar's messages those that the wire format can express at all.

    >>> from quorumcast.core.messages import AskHeads
    >>> len(sayable([AskHeads("alerts", 1), AskHeads("alerts", -1)]))
    1
    """
    said: list[Message] = []
    for message in messages:
        try:
            encode_message(message)
        except UNSAYABLE:
            continue
        said.append(message)
    return said
