"""One event, as publishers give it and subscribers get it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from quorumcast.events.values import EPOCH, Value


class Event(msgspec.Struct, frozen=True):
    """What one publisher says at one time.

    `timestamp` is the publisher's wall clock in microseconds since 1970 (UTC): nothing is ordered
    by it. An event that was read has all attributes of its channel, None where it had none.

    >>> event = Event(b"disk failing", timestamp=1_000_000, attributes={"severity": 5})
    >>> event["severity"], event.time.isoformat()
    (5, '1970-01-01T00:00:01+00:00')
    """

    payload: bytes
    timestamp: int
    key: str | None = None
    urgent: bool = False
    attributes: Mapping[str, Value] = msgspec.field(default_factory=dict[str, Value])

    @property
    def time(self) -> datetime:
        """The timestamp as a datetime in UTC.

        >>> Event(b"", timestamp=0).time.year
        1970
        """
        return EPOCH + timedelta(microseconds=self.timestamp)

    def __getitem__(self, attribute: str) -> Value:
        return self.attributes[attribute]
