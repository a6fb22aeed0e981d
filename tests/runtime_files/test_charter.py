"""What the operator signed is handed on unaltered; nobody else's word counts, the newest wins."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorumcast.core.channel import Channel
from quorumcast.core.errors import AuthError, ConfigError
from quorumcast.runtime import charter as module
from quorumcast.runtime.channels import ChannelSettings
from quorumcast.runtime.charter import Charter, unpack
from tests.runtime_files import strategies
from tests.runtime_files.made import OPERATOR, identity, manifest

ID = manifest().cluster_id


def signed(version: int = 1, *names: str, revoked: tuple[str, ...] = ()) -> Charter:
    channels = tuple(ChannelSettings(Channel(name)) for name in names)
    return Charter(version, channels, revoked).signed(OPERATOR, ID)


def as_operator(version: int, content: bytes) -> bytes:
    """Any content under the operator's good signature."""
    number = version.to_bytes(8, "big")
    message = b"quorumcast charter 1\0" + ID + number + content
    return number + OPERATOR.sign(message) + content


@settings(max_examples=40, deadline=None)
@given(strategies.several(), st.lists(strategies.NAMES, max_size=3), st.integers(0, 2**63 - 1))
def test_it_comes_back(
    found: tuple[ChannelSettings, ...], revoked: list[str], version: int
) -> None:
    charter = Charter(version, found, tuple(revoked)).signed(OPERATOR, ID)
    assert unpack(charter.pack(), manifest()) == charter
    assert charter.counts(OPERATOR.public.sign, ID)


def test_every_bit_is_under_the_signature() -> None:
    packed = signed(7, "alerts", revoked=("probe-9",)).pack()
    assert unpack(packed, manifest()).version == 7
    for place in range(0, len(packed), 3):
        altered = bytearray(packed)
        altered[place] ^= 1
        with pytest.raises(AuthError, match="operator did not sign it"):
            unpack(bytes(altered), manifest())
    with pytest.raises(AuthError, match="operator did not sign it"):
        unpack(packed + b" ", manifest())


def test_it_counts_in_its_own_cluster_alone() -> None:
    charter = signed(1, "alerts")
    assert not charter.counts(OPERATOR.public.sign, manifest(lab=True).cluster_id)
    assert not charter.counts(identity("mallory").public.sign, ID)
    with pytest.raises(AuthError, match="operator did not sign it"):
        unpack(charter.pack(), manifest(lab=True))


@pytest.mark.parametrize("size", [0, 8, 72, module.CHARTER_BYTES + 1])
def test_sizes_that_no_charter_has(size: int) -> None:
    with pytest.raises(AuthError, match=f"{size} bytes are not a charter"):
        unpack(bytes(size), manifest())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{}", "not understood: use a newer version"),
        (b"[", "not understood: use a newer version"),
        (b'{"channels":[],"revoked":[],"more":1}', "not understood: use a newer version"),
        (b'{"channels":[{"name":"a"}],"revoked":[]}', "not understood: use a newer version"),
        (b'{"channels":[{"name":"a","fresh":1}],"revoked":[]}', "there is no key fresh"),
    ],
)
def test_an_operators_word_that_this_program_does_not_know(content: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=f"the operator's settings, version 3.*{said}"):
        unpack(as_operator(3, content), manifest())


def test_the_highest_version_wins_and_a_tie_has_one_winner() -> None:
    one, two = signed(1, "zebra"), signed(2, "ant")
    assert two.newer(one)
    assert not one.newer(two)
    assert not one.newer(one)
    fork = signed(2, "bee")
    assert fork.newer(two) != two.newer(fork)


def test_the_signature_is_over_what_the_settings_mean() -> None:
    charter = signed(1, "alerts")
    loose = ChannelSettings(Channel("alerts", publishers=("*",)))
    altered = msgspec.structs.replace(charter, settings=(loose,))
    assert not altered.counts(OPERATOR.public.sign, ID)
    assert b'"durability":"memory"' in charter.content(), "defaults are signed as well"


def test_too_much_to_hand_on() -> None:
    long = tuple(f"{number:0128}" for number in range(40_000))
    with pytest.raises(ConfigError, match="use fewer, or shorter schemas"):
        Charter(1, (), long).signed(OPERATOR, ID)
