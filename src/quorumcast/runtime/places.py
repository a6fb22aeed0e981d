"""Where replicas of a new cluster listen, and the TLS certificates of those behind a network."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Party
from quorumcast.runtime.addresses import Tcp, parse_address
from quorumcast.runtime.settings import address_fault

FIRST_PORT = 7400
"""Where the search for free ports begins."""

_HERE = "127.0.0.1"
_PORTS = 65_536
# RFC 5280's date for a certificate without a known end: the manifest ends its use, not time.
_NEVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


class Certified(NamedTuple):
    """A TLS key with its certificate: the DER that the manifest pins, the PEM of both."""

    certificate: bytes
    pem: str


def free_addresses(count: int, first_port: int = FIRST_PORT) -> list[str]:
    """Addresses on this host at the next free ports.

    >>> len(set(free_addresses(3)))
    3
    """
    found: list[str] = []
    for port in range(first_port, _PORTS):
        if len(found) == count:
            break
        if _is_free(port):
            found.append(f"tcp://{_HERE}:{port}")
    if len(found) < count:
        raise ConfigError(
            f"{count} free ports from {first_port} on are needed and there are {len(found)}: "
            "use a lower first port"
        )
    return found


def host_addresses(hosts: str) -> list[str]:
    """The addresses in a list of hosts, whose ports are 7400 unless they say another one.

    >>> host_addresses("a.example:7401, b.example,[::1]:7400")
    ['tcp://a.example:7401', 'tcp://b.example:7400', 'tcp://[::1]:7400']
    """
    found: list[str] = []
    for host in hosts.split(","):
        name = host.strip()
        has_port = ":" in name.rpartition("]")[2]
        address = f"tcp://{name}" if has_port else f"tcp://{name}:{FIRST_PORT}"
        if address_fault(address) is not None:
            raise ConfigError(
                f"host {name!r} is not HOST:PORT: use names or addresses with commas between "
                "them, such as a.example:7400,b.example:7400"
            )
        found.append(address)
    return found


def host_of(address: str) -> str:
    """The host of an address; of a Unix socket, this one.

    >>> host_of("tcp://[::1]:7400"), host_of("unix:///run/r1")
    ('::1', 'localhost')
    """
    found = parse_address(address)
    return found.host if isinstance(found, Tcp) else "localhost"


def is_loopback(address: str) -> bool:
    """Whether nothing that goes there leaves this host.

    >>> is_loopback("tcp://127.0.0.1:7400"), is_loopback("tcp://10.0.0.7:7400")
    (True, False)
    """
    host = host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def make_tls(name: Party) -> Certified:
    """A new TLS key and its self-signed certificate, which counts because the manifest pins it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"quorumcast {name}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A host whose clock is a little behind takes it as well.
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(_NEVER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem = secret + certificate.public_bytes(Encoding.PEM)
    return Certified(certificate.public_bytes(Encoding.DER), pem.decode())


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As a replica will: a port that only has old connections left counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HERE, port))
        except OSError:
            return False
    return True
