"""A limit on what one party may ask for."""

from __future__ import annotations

from quorumcast.core.ids import Party


class Bucket:
    """Tokens that flow in at a rate, up to a burst; one per question.

    >>> bucket = Bucket(rate=1.0, burst=2)
    >>> [bucket.take("s1", now=0.0) for _ in range(3)], bucket.take("s1", now=1.0)
    ([True, True, False], True)
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left: dict[Party, tuple[float, float]] = {}

    def take(self, party: Party, now: float, cost: float = 1.0) -> bool:
        """Whether the party may ask now."""
        left, at = self._left.get(party, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        allowed = left >= cost
        self._left[party] = (left - cost if allowed else left, now)
        return allowed

    def charge(self, party: Party, now: float, cost: float) -> None:
        """Take tokens for what was done already, even those that are not there yet.

        >>> bucket = Bucket(rate=1.0, burst=2)
        >>> bucket.charge("s1", now=0.0, cost=3.0)
        >>> bucket.take("s1", now=1.0), bucket.take("s1", now=2.0)
        (False, True)
        """
        left, at = self._left.get(party, (self._burst, now))
        self._left[party] = (min(self._burst, left + (now - at) * self._rate) - cost, now)

    def forget(self, party: Party) -> None:
        """The party's link is gone."""
        self._left.pop(party, None)
