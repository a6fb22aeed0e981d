"""Addresses as people write them."""

from __future__ import annotations

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.addresses import Tcp, Unix, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://127.0.0.1:7400", Tcp("127.0.0.1", 7400)),
        ("tcp://replica-1.example:1", Tcp("replica-1.example", 1)),
        ("tcp://[::1]:65535", Tcp("::1", 65535)),
        ("tcp://0.0.0.0:0", Tcp("0.0.0.0", 0)),
        ("unix:///run/quorumcast/r1.sock", Unix("/run/quorumcast/r1.sock")),
    ],
)
def test_good_addresses_are_read_and_written_alike(text: str, address: Tcp | Unix) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "use tcp://HOST:PORT or unix:///PATH"),
        ("127.0.0.1:7400", "use tcp://HOST:PORT or unix:///PATH"),
        ("http://127.0.0.1:7400", "use tcp://HOST:PORT or unix:///PATH"),
        ("tcp://127.0.0.1", "use tcp://HOST:PORT or unix:///PATH"),
        ("tcp://127.0.0.1:7400/", "use tcp://HOST:PORT or unix:///PATH"),
        ("tcp://::1:7400", "use tcp://HOST:PORT or unix:///PATH"),
        ("tcp://host:65536", "there is no port 65536"),
        ("unix://r1.sock", "a path begins with a slash"),
        ("unix:///" + "x" * 100, "this has 101: choose a shorter one"),
    ],
)
def test_bad_addresses_say_what_would_be_right(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(text)
    assert says in str(caught.value)
    assert repr(text) in str(caught.value)
