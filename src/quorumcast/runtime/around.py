"""Who is around a link: where it comes from, who uses it, and what they may ask of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

from quorumcast.auth.handshake import Initiator, Responder
from quorumcast.core.ids import Party
from quorumcast.core.messages import Message
from quorumcast.wire.codec import Memo

if TYPE_CHECKING:
    from quorumcast.runtime.link import Link

_Error = TypeVar("_Error", bound=BaseException | None)


def without_frames(error: _Error) -> _Error:
    """An error to be kept, and what led to it, without the frames that they came through.

    Frames hold the buffers and the link that they worked on, and these the error: such a circle
    is there until somebody looks for circles.

    >>> without_frames(ValueError("bad"))
    ValueError('bad')
    """
    found: BaseException | None = error
    while found is not None and found.__traceback__ is not None:
        found.__traceback__ = None
        found = found.__cause__ or found.__context__
    return error


class Outbound(Protocol):
    """One end of an authenticated connection, as whoever drives a machine knows it."""

    party: Party
    """Who is at the other end: proven."""

    def send(self, messages: list[Message], memo: Memo | None = None) -> None:
        """Say this; all of a turn of the loop goes out in one write."""
        ...

    def flush(self) -> None:
        """Write what was said now, not at the end of this turn of the loop."""
        ...

    def close(self) -> None:
        """Hand out what was sent, then end the connection."""
        ...

    def give_up(self, why: str) -> None:
        """End the connection at once, for this fault of the party."""
        ...


class Sink(Protocol):
    """Whom a link tells what happens: a driver."""

    def linked(self, link: Outbound) -> None:
        """Both ends have proven who they are."""
        ...

    def unlinked(self, link: Outbound) -> None:
        """The connection is gone."""
        ...

    def received(self, link: Outbound, messages: list[Message]) -> None:
        """The peer says this."""
        ...


class Keeper(Protocol):
    """Where a link comes from: it listens or dials."""

    def greet(self, link: Link, transport: asyncio.Transport) -> Initiator | Responder:
        """A connection is there: the handshake to have on it."""
        ...

    def greeted(self, link: Link) -> None:
        """The peer has said who it is, and has to prove it."""
        ...

    def up(self, link: Link) -> None:
        """Both ends have proven who they are; the sink hears of it after this."""
        ...

    def ended(self, link: Link) -> None:
        """The connection is gone, or never came about; `link.error` may say why."""
        ...
