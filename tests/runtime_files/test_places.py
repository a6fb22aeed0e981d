"""Where new replicas listen, and the certificates of their links."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from quorumcast.core.errors import ConfigError
from quorumcast.runtime.places import (
    FIRST_PORT,
    free_addresses,
    host_addresses,
    host_of,
    is_loopback,
    make_tls,
)


def test_ports_in_use_are_passed_over() -> None:
    with socket.socket() as busy:
        port = int(free_addresses(1, 20_000)[0].rpartition(":")[2])
        busy.bind(("127.0.0.1", port))
        busy.listen()
        found = free_addresses(3, port)
        assert f"tcp://127.0.0.1:{port}" not in found
        assert len(set(found)) == 3
        assert all(int(each.rpartition(":")[2]) > port for each in found)


def test_the_search_begins_at_7400() -> None:
    assert FIRST_PORT == 7400
    assert all(int(each.rpartition(":")[2]) >= 7400 for each in free_addresses(4))


def test_no_ports_are_left() -> None:
    with pytest.raises(ConfigError, match="3 free ports from 65534 on are needed"):
        free_addresses(3, 65_534)


@pytest.mark.parametrize(
    "hosts", ["", "a,,b", "a:b", "a b", "a:0", "a:70000", "../a", "..:7", "a/b"]
)
def test_hosts_that_are_none(hosts: str) -> None:
    with pytest.raises(ConfigError, match="is not HOST:PORT: use names or addresses with commas"):
        host_addresses(hosts)


@pytest.mark.parametrize(
    ("address", "host", "loopback"),
    [
        ("tcp://127.0.0.1:7400", "127.0.0.1", True),
        ("tcp://127.8.9.1:7400", "127.8.9.1", True),
        ("tcp://localhost:7400", "localhost", True),
        ("tcp://[::1]:7400", "::1", True),
        ("unix:///run/r1", "localhost", True),
        ("tcp://10.0.0.7:7400", "10.0.0.7", False),
        ("tcp://0.0.0.0:7400", "0.0.0.0", False),
        ("tcp://a.example:7400", "a.example", False),
        ("tcp://127.0.0.1.example:7400", "127.0.0.1.example", False),
    ],
)
def test_what_leaves_this_host(address: str, host: str, loopback: bool) -> None:
    assert host_of(address) == host
    assert is_loopback(address) is loopback


def test_a_certificate_serves_tls_1_3_and_is_what_is_pinned(tmp_path: Path) -> None:
    made = make_tls("r1")
    path = tmp_path / "tls.pem"
    path.write_text(made.pem, encoding="ascii")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_3
    server.load_cert_chain(path)
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(cadata=made.certificate)

    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(down, up), server.wrap_bio(up, down, server_side=True)]
    open_ends = list(ends)
    for _ in range(8):
        for end in list(open_ends):
            try:
                end.do_handshake()
                open_ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert open_ends == []
    assert ends[0].version() == "TLSv1.3"
    assert ends[0].getpeercert(binary_form=True) == made.certificate
    found = x509.load_der_x509_certificate(made.certificate)
    assert found.not_valid_before_utc < datetime.now(UTC)
    assert found.not_valid_after_utc.year == 9999
    assert make_tls("r1").certificate != made.certificate
