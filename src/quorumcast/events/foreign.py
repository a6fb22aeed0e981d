"""Bytes that came from somebody else and did not pass: what becomes of them."""

from __future__ import annotations

import msgspec


class BodyError(ValueError):
    """A body breaks a rule; within this room alone, `read` turns it into a `BadPublication`.

    >>> raise BodyError("flags 255 are unknown")
    Traceback (most recent call last):
    ...
    quorumcast.events.foreign.BodyError: flags 255 are unknown
    """


class BadPublication(msgspec.Struct, frozen=True):
    """A body that no correct publisher of this channel makes, and why; delivered like any other.

    Replicas agree on bytes without reading them, so that a bad body takes its place in the stream.

    >>> BadPublication("body of 0 bytes has no form", b"").reason
    'body of 0 bytes has no form'
    """

    reason: str
    body: bytes
