"""What a party can show, or believes, about another's fault.

- PROOF: two signatures of one party that contradict; anybody can check it.
- LOCAL: two authenticated statements to me that contradict, or content on a signed channel
  without its publisher's signature; convinces me alone, for a tag proves nothing to others.
- SUSPICION: somebody in a set is at fault, and I cannot tell who.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from quorumcast.core.ids import Party, Stream
from quorumcast.core.messages import Message


class Weight(Enum):
    """Whom the evidence convinces.

    >>> Weight.PROOF.value
    'proof'
    """

    PROOF = "proof"
    LOCAL = "local"
    SUSPICION = "suspicion"


class SignedDigest(msgspec.Struct, frozen=True):
    """A publisher's signature over the digest at a position: half of a proof.

    >>> SignedDigest(1, bytes(32), bytes(64)).position
    1
    """

    position: int
    digest: bytes
    signature: bytes


class Evidence(msgspec.Struct, frozen=True):
    """A fault, whom it may lie with, and both statements that show it.

    `certificate` stands with a PROOF: with it and the operator's key anybody can check both
    signatures.

    >>> Evidence(Weight.SUSPICION, frozenset({"r4"}), "no two equal", None, None, None).weight.name
    'SUSPICION'
    """

    weight: Weight
    parties: frozenset[Party]
    reason: str
    stream: Stream | None
    first: Message | SignedDigest | None
    second: Message | SignedDigest | None
    certificate: bytes = b""
