"""Whose fault it is can be told from the error: a peer's, a user's, or our own."""

from __future__ import annotations

import pytest

from quorumcast.auth.certificate import check, issue
from quorumcast.auth.manifest import Manifest
from quorumcast.core.errors import AuthError, ConfigError, ProtocolError, QuorumcastError
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import Held
from quorumcast.core.quorum import Quorum
from quorumcast.wire import Opener, decode_payload, encode_payload
from tests.auth.parties import CLUSTER, OPERATOR, PROBE

STREAM = Stream("alerts", "probe-7", bytes(32), Lane.NORMAL)


def fault_of(act: object) -> str:
    """As a driver asks: close the link, tell the user, or stop for a bug of ours."""
    assert callable(act)
    try:
        act()
    except ProtocolError:
        return "a peer"
    except ConfigError:
        return "a user"
    except AssertionError:
        return "ourselves"
    return "nobody"


@pytest.mark.parametrize(
    ("act", "whose"),
    [
        (lambda: decode_payload(b"\x01\xff"), "a peer"),
        (lambda: Opener(bytes(32)).open(bytes(40)), "a peer"),
        (lambda: check(b"no certificate", OPERATOR.public.sign, CLUSTER), "a peer"),
        (lambda: Quorum.byzantine(3, 1), "a user"),
        (lambda: issue(OPERATOR, CLUSTER, "a/b", PROBE.public), "a user"),
        (lambda: Manifest(nonce=b"", operator=b"", faults=0, replicas=()), "a user"),
        (lambda: encode_payload([Held(STREAM, 0, bytes(32))]), "ourselves"),
        (lambda: Opener(b"short"), "ourselves"),
        (lambda: decode_payload(b"\x01"), "nobody"),
    ],
)
def test_faults_lie_with_who_made_them(act: object, whose: str) -> None:
    assert fault_of(act) == whose


def test_one_base_for_what_is_raised_on_purpose_and_bugs_are_not_under_it() -> None:
    for kind in (ProtocolError, AuthError, ConfigError):
        assert issubclass(kind, QuorumcastError)
    assert issubclass(AuthError, ProtocolError)
    assert not issubclass(ConfigError, ProtocolError)
    assert not issubclass(QuorumcastError, AssertionError | ValueError | OSError)
