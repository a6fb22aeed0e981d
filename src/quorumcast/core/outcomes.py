"""What client machines tell their user: deliveries, gaps, acknowledgements, refusals."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from quorumcast.core.ids import Lane, Stream


class Delivery(msgspec.Struct, frozen=True):
    """Consecutive publications of a stream, from `first`, delivered in order and once.

    `votes` is how many replicas vouched for each of them, at least; `confirmed` says that they
    were confirmed when they were delivered.

    >>> Delivery(Stream("c", "p", bytes(32), Lane.NORMAL), 1, (b"a", b"b"), 3, False).last
    2
    """

    stream: Stream
    first: int
    bodies: tuple[bytes, ...]
    votes: int
    confirmed: bool

    @property
    def last(self) -> int:
        """The last position delivered."""
        return self.first + len(self.bodies) - 1


class Gap(msgspec.Struct, frozen=True):
    """Positions that no replica can serve any more; reading goes on after `last`.

    With `ended`, nothing of this stream can be read after it. With `before`, they were gone when a
    subscription to all that is retained began: it never asked for them.

    >>> Gap(Stream("c", "p", bytes(32), Lane.NORMAL), 1, 9, False).last
    9
    """

    stream: Stream
    first: int
    last: int
    ended: bool
    before: bool = False


class SubscriptionRefused(msgspec.Struct, frozen=True):
    """f+1 replicas refused the subscription.

    >>> SubscriptionRefused("alerts", "not allowed").channel
    'alerts'
    """

    channel: str
    reason: str


class Ticket(NamedTuple):
    """What `publish` returns: the `number`-th publication of this channel and lane, from 1.

    >>> Ticket("alerts", Lane.NORMAL, 3).number
    3
    """

    channel: str
    lane: Lane
    number: int


class Acknowledged(msgspec.Struct, frozen=True):
    """Everything from ticket `first` to ticket `last` of its lane is safe, as the protocol says.

    Ticket `last` is position `position` of `stream`; `replicas` hold it. With `confirmed`, f+1
    replicas said CONFIRMED; the first acknowledgement of a ticket usually comes without.

    >>> Acknowledged(Stream("c", "p", bytes(32), Lane.NORMAL), 5, 1, 5, 3, False).last
    5
    """

    stream: Stream
    position: int
    first: int
    last: int
    replicas: int
    confirmed: bool


class OutcomeUnknown(msgspec.Struct, frozen=True):
    """The session ended before these were acknowledged: they may be delivered or not.

    >>> OutcomeUnknown("alerts", Lane.NORMAL, 4, 6).first
    4
    """

    channel: str
    lane: Lane
    first: int
    last: int


class Refused(msgspec.Struct, frozen=True):
    """f+1 replicas refuse what this publisher sends, for this reason.

    Tickets `first` to `last` waited for a position, and will never have one: they are published
    nowhere. There are none if `last` is below `first`. Of earlier tickets this says nothing.

    >>> Refused("alerts", Lane.NORMAL, "not allowed", 1, 3).reason
    'not allowed'
    """

    channel: str
    lane: Lane
    reason: str
    first: int
    last: int


Outcome: TypeAlias = Acknowledged | OutcomeUnknown | Refused
