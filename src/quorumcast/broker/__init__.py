"""The replica: channels, admission, subscriptions, retention, and the machine that joins them.

May import `core`, `auth`, `wire` and `broadcast`. No I/O, no clock, no randomness, no pyarrow.
"""

from quorumcast.broker.replica import Replica

__all__ = ["Replica"]
