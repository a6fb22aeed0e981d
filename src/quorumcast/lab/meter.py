"""Rates and latencies over the last seconds, on a clock that comes in."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

RATE_SECONDS = 3.0
"""What "now" is: bursts come once a second, and a few of them make a rate."""

LATENCY_SECONDS = 10.0

SAMPLES = 10_000
"""Latencies that are kept at most."""

HISTORY_SECONDS = 60
"""Seconds whose sums are kept, for a picture of the last minute."""


class Rate:
    """How many things a second, over the last `RATE_SECONDS`, and second by second.

    >>> times = iter([0.0, 0.5, 1.0, 2.0])
    >>> rate = Rate(lambda: next(times))
    >>> rate.add(10), rate.add(20)
    (None, None)
    >>> rate.now()
    15.0
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self._recent: deque[tuple[float, int]] = deque()
        self._seconds: deque[int] = deque(maxlen=HISTORY_SECONDS)
        self._second = 0
        self._sum = 0

    def add(self, count: int) -> None:
        """So many came just now."""
        now = self._clock()
        self._turn(now)
        self._sum += count
        self._recent.append((now, count))

    def now(self) -> float:
        """How many a second, of late."""
        now = self._clock()
        self._turn(now)
        span = min(RATE_SECONDS, max(1.0, now - self._began))
        return sum(count for _, count in self._recent) / span

    def history(self) -> list[int]:
        """The sums of the last whole seconds, the latest last."""
        self._turn(self._clock())
        return list(self._seconds)

    def _turn(self, now: float) -> None:
        while self._recent and self._recent[0][0] <= now - RATE_SECONDS:
            self._recent.popleft()
        whole = int(now - self._began)
        if whole > self._second:
            idle = min(whole - self._second - 1, HISTORY_SECONDS)
            self._seconds += [self._sum, *[0] * idle]
            self._second, self._sum = whole, 0


class Spread(msgspec.Struct, frozen=True):
    """How latencies are distributed, in seconds.

    >>> Spread(1, 0.5, 0.5, 0.5).samples
    1
    """

    samples: int
    p50: float
    p99: float
    most: float


class Latencies:
    """Latencies of the last `LATENCY_SECONDS`, and of all time a bounded choice of the latest.

    >>> latencies = Latencies(lambda: 0.0)
    >>> for number in range(100):
    ...     latencies.add(number / 100)
    >>> latencies.recent()
    Spread(samples=100, p50=0.5, p99=0.99, most=0.99)
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def add(self, seconds: float) -> None:
        """Another one."""
        self._samples.append((self._clock(), seconds))

    def recent(self) -> Spread | None:
        """Of the last seconds; None if there was nothing."""
        since = self._clock() - LATENCY_SECONDS
        return spread(sorted(value for at, value in self._samples if at > since))

    def all(self) -> Spread | None:
        """Of all that are kept."""
        return spread(sorted(value for _, value in self._samples))


def spread(ordered: list[float]) -> Spread | None:
    """The distribution of sorted values.

    >>> spread([1.0, 2.0, 9.0])
    Spread(samples=3, p50=2.0, p99=9.0, most=9.0)
    """
    if not ordered:
        return None
    count = len(ordered)
    return Spread(count, ordered[count // 2], ordered[count * 99 // 100], ordered[-1])


class Standing(msgspec.Struct, frozen=True):
    """One replica as it describes itself; while it does not answer, as it last did."""

    name: str
    state: str
    votes: int = 0
    """Publications that it voted for, once each, on the channels that are looked at."""
    votes_per_second: float = 0.0
    unconfirmed: int = 0
    """Publications that it voted for and that are not confirmed there yet: its queue."""
    behind: int = 0
    """Streams in which it is fetching what it missed."""
    rss_bytes: int = 0

    @property
    def away(self) -> bool:
        """Whether it does not answer."""
        return self.state in ("stopped", "unreachable")


class Votes:
    """What replicas say of their votes, from one answer to the next.

    >>> votes = Votes(lambda: 1.0, ("alerts",))
    >>> told = {"name": "r1", "state": "ready", "rss_bytes": 1, "progress": {"streams_behind": 0},
    ...         "channels": [{"name": "alerts", "held": 7, "confirmed": 5}]}
    >>> votes.note({"replicas": [told]})
    >>> votes.standings[0].votes, votes.standings[0].unconfirmed
    (7, 2)
    """

    def __init__(self, clock: Callable[[], float], channels: tuple[str, ...]) -> None:
        self._clock = clock
        self._channels = frozenset(channels)
        self._rates: dict[str, Rate] = {}
        self._known: dict[str, Standing] = {}

    @property
    def standings(self) -> list[Standing]:
        """The replicas, in the cluster's order."""
        return list(self._known.values())

    def note(self, status: Mapping[str, Any]) -> None:
        """What `LocalCluster.status` returned."""
        for told in status["replicas"]:
            name, known = told["name"], self._known.get(told["name"])
            if "channels" not in told:  # it does not answer
                old = known if known is not None else Standing(name, told["state"])
                self._known[name] = msgspec.structs.replace(
                    old, state=told["state"], votes_per_second=0.0, rss_bytes=0
                )
                continue
            channels = [each for each in told["channels"] if each["name"] in self._channels]
            held = sum(each["held"] for each in channels)
            rate = self._rates.setdefault(name, Rate(self._clock))
            rate.add(max(0, held - known.votes) if known is not None else 0)
            self._known[name] = Standing(
                name,
                told["state"],
                votes=held,
                votes_per_second=rate.now(),
                unconfirmed=held - sum(each["confirmed"] for each in channels),
                behind=told["progress"]["streams_behind"],
                rss_bytes=told["rss_bytes"],
            )


class Meter:
    """Everything that is measured from outside while events flow.

    >>> meter = Meter(lambda: 0.0)
    >>> meter.delivered(5, votes=3)
    >>> meter.vouched
    Counter({3: 5})
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.deliveries = Rate(clock)
        self.to_acknowledgement = Latencies(clock)
        self.to_delivery = Latencies(clock)
        self.vouched: Counter[int] = Counter()
        """Events by how many replicas had voted for them when they were delivered."""

    def delivered(self, events: int, votes: int) -> None:
        """A subscriber has so many more events."""
        self.deliveries.add(events)
        self.vouched[votes] += events
