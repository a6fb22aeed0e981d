"""Links inside TLS: the handshake is bound to the certificate that the server shows."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from quorumcast.core.errors import AuthError
from quorumcast.core.messages import AskHeads
from quorumcast.runtime.addresses import Tcp
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Dialling
from quorumcast.runtime.listening import Listening
from tests.runtime.kit import LOOPS, Heard, Loops, credentials, entropy, run


def certificate(folder: Path, seed: bytes) -> tuple[ssl.SSLContext, bytes]:
    """A server's context with a certificate that it signed itself, and that certificate."""
    key = Ed25519PrivateKey.from_private_bytes(seed * 32)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "r1")])
    start = datetime(2024, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=36_500))
        .sign(key, None)
    )
    path = folder / f"{seed.hex()}.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(secret + made.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(path)
    return context, made.public_bytes(Encoding.DER)


def client_context() -> ssl.SSLContext:
    """Takes any certificate: the handshake inside says whether it is the replica's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def listen(sink: Heard, context: ssl.SSLContext, shown: bytes) -> Listening:
    listening = Listening(
        Tcp("127.0.0.1", 0),
        credentials("r1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("r1"),
        tls=context,
        tls_certificate=shown,
    )
    await listening.start()
    return listening


def dial(listening: Listening, sink: Heard) -> Dialling:
    made = Dialling(
        listening.address,
        "r1",
        credentials("probe-1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("dial"),
        bounds=Bounds(backoff_seconds=0.001),
        tls=client_context(),
    )
    made.start()
    return made


@LOOPS
def test_messages_go_through_tls(loops: Loops, tmp_path: Path) -> None:
    context, shown = certificate(tmp_path, b"1")

    async def work() -> None:
        there, here = Heard(), Heard()
        listening = await listen(there, context, shown)
        dialling = dial(listening, here)
        await here.until(lambda: here.up)
        here.up[0].send([AskHeads("alerts", number) for number in range(1000)])
        await there.until(lambda: len(there.said) == 1000)
        there.up[0].send([AskHeads("alerts", 1)])
        await here.until(lambda: here.said)
        await dialling.close()
        await listening.close()

    run(work, loops)


@LOOPS
def test_somebody_between_who_shows_another_certificate_is_found_out(
    loops: Loops, tmp_path: Path
) -> None:
    """The one between ends TLS with its own key and passes on every byte of the handshake."""
    _, shown = certificate(tmp_path, b"1")
    others, _ = certificate(tmp_path, b"2")

    async def work() -> None:
        there, here = Heard(), Heard()
        # r1 as it is behind the one between: its links show `shown`, the client saw another.
        listening = await listen(there, others, shown)
        dialling = dial(listening, here)
        failed = asyncio.Event()
        dialling.on_failure = lambda party, error: failed.set()
        await failed.wait()
        assert isinstance(dialling.failure, AuthError)
        assert "check its TLS certificate" in str(dialling.failure)
        assert (here.up, there.up) == ([], [])
        await dialling.close()
        await listening.close()

    run(work, loops)
