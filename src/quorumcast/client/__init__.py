"""Clients as machines: the publisher and the subscriber.

May import `core`, `auth`, `wire` and `broadcast`, never `broker`. No I/O, no clock, no randomness.
"""

from quorumcast.client.publisher import Publisher
from quorumcast.client.subscriber import Subscriber

__all__ = ["Publisher", "Subscriber"]
