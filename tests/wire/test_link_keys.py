"""Links under keys as parties derive them: what was said once, there, to one, counts nowhere else.

Replayed on the next connection, thrown back, in another epoch or cluster, by a third party, or
under another name: each frame fails at its tag, before anything inside is looked at.
"""

from __future__ import annotations

import pytest

from quorumcast.auth.keys import connection_key, pair_key
from quorumcast.core.errors import AuthError
from quorumcast.core.messages import AskHeads, Message
from quorumcast.wire import Opener, Sealer
from tests.auth.parties import CLUSTER, identity

WHO = {name: identity(name) for name in ("r1", "r2", "r3", "probe-7")}
N1, N2, N3 = b"1" * 32, b"2" * 32, b"3" * 32
SAID: list[Message] = [AskHeads("alerts", 0)]


def key(
    me: str,
    sender: str,
    receiver: str,
    *,
    nonces: tuple[bytes, bytes] = (N1, N2),
    cluster: bytes = CLUSTER,
    epoch: int = 1,
) -> bytes:
    """The key of one direction of a connection, as `me` derives it; the sender's nonce first."""
    peer = receiver if me == sender else sender
    pair = pair_key(WHO[me], WHO[peer].public.agree, cluster, epoch, sender, receiver)
    return connection_key(pair, *nonces)


FRAME = Sealer(key("r1", "r1", "r2")).seal(SAID)
"""r1 to r2, the first frame of a connection."""


def test_the_receiver_opens_what_the_sender_sealed() -> None:
    assert Opener(key("r2", "r1", "r2")).open(FRAME) == SAID


ELSEWHERE: dict[str, bytes] = {
    "thrown back at its sender": key("r1", "r2", "r1", nonces=(N2, N1)),
    "thrown back with the nonces as they were": key("r1", "r2", "r1"),
    "on the receiver's next connection": key("r2", "r1", "r2", nonces=(N1, N3)),
    "on the sender's next connection": key("r2", "r1", "r2", nonces=(N3, N2)),
    "with the nonces exchanged": key("r2", "r1", "r2", nonces=(N2, N1)),
    "in the next epoch": key("r2", "r1", "r2", epoch=2),
    "in another cluster": key("r2", "r1", "r2", cluster=b"d" * 32),
    "handed on to a third": key("r3", "r1", "r3"),
    "under another sender's name": key("r2", "r3", "r2"),
    "under a client's name": key("r2", "probe-7", "r2"),
}


@pytest.mark.parametrize("where", ELSEWHERE)
@pytest.mark.parametrize("window", [0, 64])
def test_a_frame_counts_nowhere_else(where: str, window: int) -> None:
    with pytest.raises(AuthError, match="tag is not of this link"):
        Opener(ELSEWHERE[where], window).open(FRAME)


def test_no_two_places_share_a_key() -> None:
    assert len({*ELSEWHERE.values(), key("r2", "r1", "r2")}) == len(ELSEWHERE) + 1


def test_a_party_cannot_speak_for_another_to_a_third() -> None:
    """r3 knows its own secrets and everybody's public keys, and says that it is r1."""
    guess = pair_key(WHO["r3"], WHO["r2"].public.agree, CLUSTER, 1, "r1", "r2")
    frame = Sealer(connection_key(guess, N1, N2)).seal(SAID)
    with pytest.raises(AuthError):
        Opener(key("r2", "r1", "r2")).open(frame)
