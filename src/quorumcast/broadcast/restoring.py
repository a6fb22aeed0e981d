"""What a stream is after a restart: what the store has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorumcast.broadcast.path import Path
from quorumcast.broadcast.pledges import Pledges
from quorumcast.broadcast.tally import Tally
from quorumcast.core.messages import DIGEST_BYTES as D
from quorumcast.core.records import StreamState

if TYPE_CHECKING:
    from quorumcast.broadcast.stream import ReplicaStream


def restore(stream: ReplicaStream, state: StreamState, sign_key: bytes) -> None:
    """Put the stored state into a fresh stream."""
    stream.recorded = True
    stream.open(state.opening, state.certificate, sign_key)
    stream.tainted, stream.closed = state.tainted, state.closed
    stream.floor, stream.floor_confirmed = state.floor, state.floor_confirmed
    stream.confirmed = state.confirmed
    stream.path = Path(state.confirmed, state.votes)
    stream.pledges = Pledges(stream.path.end + 1, state.pledged)
    stream.signatures = bytearray(state.signatures)
    stream.sizes.extend([0] * (len(state.votes) // D))
    stream.tally = Tally(stream.path, stream.context.channel.window)
    stream.ready = state.confirmed
    if state.ready.seq > state.confirmed.seq:
        stream.ready = state.ready
        stream.truth = _ready_path(state)
        stream.tally.ready.state(stream.path, stream.context.me, stream.ready)


def _ready_path(state: StreamState) -> Path | None:
    """The digests under READY, where the votes with bodies do not show them."""
    if state.ready_digests:
        skip = max(0, state.confirmed.seq + 1 - state.ready_first)
        return Path(state.confirmed, state.ready_digests[skip * D :])
    count = state.ready.seq - state.confirmed.seq
    if count * D > len(state.votes):
        return Path(state.confirmed, (state.votes + state.pledged)[: count * D])
    return None
