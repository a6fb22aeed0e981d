"""What is in a publication's body: events, their schema, and how bytes become either.

One event travels as a compact record (`record`), several as an Arrow record batch (`batch`), which
passes a gate of our own (`flatgate`) before Arrow sees it. Bodies are foreign input: `read` gives a
`Publication` or a `BadPublication`, and never raises.

For clients, edges and Spark; replicas handle bodies as bytes and import none of this. Only
`quorumcast.core` may be imported here. No I/O, no clock, no randomness. pyarrow is imported when a
batch or a table is first touched.
"""

from quorumcast.events.event import Event
from quorumcast.events.foreign import BadPublication, BodyError
from quorumcast.events.publication import (
    Publication,
    build_batch,
    build_event,
    from_table,
    is_record,
    read,
    read_all,
    read_records,
)
from quorumcast.events.schema import Schema
from quorumcast.events.values import Value

__all__ = [
    "BadPublication",
    "BodyError",
    "Event",
    "Publication",
    "Schema",
    "Value",
    "build_batch",
    "build_event",
    "from_table",
    "is_record",
    "read",
    "read_all",
    "read_records",
]
