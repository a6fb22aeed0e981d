"""Messages as bytes: one encoding of every message, frames, and frames under a link's key.

- `primitives`, `runs`: the pieces that messages are made of, read within strict bounds
- `codec`: the table of kinds; payloads from messages and back
- `messages`: the messages of the fifo protocols; other protocols `register` theirs
- `frames`: frames in a stream of bytes
- `link`: frames sealed and opened under the key of one direction of a connection

Bytes in, messages out: no I/O, no clock, no randomness. Of Quorumcast, only `core` and `auth`
may be imported here.
"""

from quorumcast.wire.codec import (
    VERSION,
    Encoded,
    Memo,
    decode_payload,
    encode_message,
    encode_payload,
    kinds,
    register,
)
from quorumcast.wire.frames import HEADER_BYTES, Framer
from quorumcast.wire.link import Opener, Sealer, split
from quorumcast.wire.messages import FIFO_KINDS
from quorumcast.wire.primitives import LAST_POSITION, Reader

__all__ = [
    "FIFO_KINDS",
    "HEADER_BYTES",
    "LAST_POSITION",
    "VERSION",
    "Encoded",
    "Framer",
    "Memo",
    "Opener",
    "Reader",
    "Sealer",
    "decode_payload",
    "encode_message",
    "encode_payload",
    "kinds",
    "register",
    "split",
]
