"""What users of a cluster write against: `connect`, the client, its publishers and subscriptions.

Everything below may be imported here; only `lab`, `spark`, `console` and `cli` may import from
here. The machines of `client` decide what is believed; what is here gathers events into
publications, keeps bounded queues, and turns outcomes into return values and errors. `quorumcast`
re-exports the names below.
"""

from quorumcast.api.batching import Batching
from quorumcast.api.client import AsyncClient, connect
from quorumcast.api.cursor import Cursor
from quorumcast.api.errors import Closed, Gap, NoQuorum, NotAllowed, Rejected
from quorumcast.api.flight import Handle
from quorumcast.api.publishing import Publisher
from quorumcast.api.received import Ack, PublicationId, Received
from quorumcast.api.subscribing import Subscription
from quorumcast.api.sync import Client
from quorumcast.core.errors import AuthError, ConfigError, QuorumcastError
from quorumcast.events import Event

__all__ = [
    "Ack",
    "AsyncClient",
    "AuthError",
    "Batching",
    "Client",
    "Closed",
    "ConfigError",
    "Cursor",
    "Event",
    "Gap",
    "Handle",
    "NoQuorum",
    "NotAllowed",
    "PublicationId",
    "Publisher",
    "QuorumcastError",
    "Received",
    "Rejected",
    "Subscription",
    "connect",
]
