"""What a showcase came to, for people and for programs."""

from __future__ import annotations

import msgspec

from quorumcast.lab.meter import Spread
from quorumcast.lab.outages import Outage
from quorumcast.lab.showcase import Showcase


class Summary(msgspec.Struct, frozen=True):
    """Counts are events, if nothing else is said."""

    seconds: float
    replicas: tuple[str, ...]
    published: int
    acknowledged: int
    delivered: int
    lost: int
    """Acknowledged, and not delivered."""
    altered: int
    """Delivered with another content than was sent, or never sent at all."""
    repeated: int
    """Delivered again."""
    publishers: dict[str, int]
    outages: tuple[Outage, ...]
    vouched: dict[int, int]
    """By how many replicas had voted for them when they were delivered."""
    votes: dict[str, int]
    """The publications that each replica says it voted for."""
    best_burst_per_second: float
    to_acknowledgement: Spread | None
    """Seconds, of the probes' events."""
    to_delivery: Spread | None

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        wrong = self.lost or self.altered or self.repeated
        return not wrong and self.published == self.acknowledged


def summary_of(showcase: Showcase) -> Summary:
    """What it came to."""
    ledger, meter = showcase.ledger, showcase.meter
    return Summary(
        seconds=round(showcase.elapsed, 3),
        replicas=showcase.local.names,
        published=ledger.sent,
        acknowledged=ledger.acked,
        delivered=ledger.got,
        lost=ledger.lost,
        altered=ledger.altered,
        repeated=ledger.repeated,
        publishers=dict(showcase.published),
        outages=tuple(showcase.outages),
        vouched=dict(sorted(meter.vouched.items())),
        votes={each.name: each.votes for each in showcase.votes.standings},
        best_burst_per_second=round(showcase.best_burst, 1),
        to_acknowledgement=meter.to_acknowledgement.all(),
        to_delivery=meter.to_delivery.all(),
    )
