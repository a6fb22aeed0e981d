"""Links inside TLS: the handshake is bound to the certificate that the server shows."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from quorumcast.auth.handshake import binding_of
from quorumcast.core.errors import AuthError
from quorumcast.core.ids import Lane, Stream
from quorumcast.core.messages import AskHeads, Message, Publish
from quorumcast.runtime.addresses import Address, Tcp
from quorumcast.runtime.bounds import Bounds
from quorumcast.runtime.dialling import Dialling
from quorumcast.runtime.link import Link
from quorumcast.runtime.listening import Listening
from tests.runtime.kit import (
    LOOPS,
    Heard,
    Loops,
    Stranger,
    addresses,
    credentials,
    entropy,
    run,
)

LOOPBACK = Tcp("127.0.0.1", 0)
BIG = Publish(Stream("alerts", "probe-1", bytes(32), Lane.NORMAL), 1, (bytes(2**20),), b"")


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


async def listen(
    sink: Heard,
    context: ssl.SSLContext,
    shown: bytes,
    address: Address = LOOPBACK,
    **bounds: float,
) -> Listening:
    listening = Listening(
        address,
        credentials("r1"),
        sink,
        loop=asyncio.get_running_loop(),
        entropy=entropy("r1"),
        bounds=Bounds(**bounds),  # type: ignore[arg-type]
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


# -- peers that do not read: on Unix sockets, where the kernel takes little on their behalf --------


@asynccontextmanager
async def unread(
    folder: Path, name: str, **bounds: float
) -> AsyncIterator[tuple[Heard, Stranger, Link]]:
    """A peer inside TLS that reads when a test says so, and r1's end of its link."""
    context, shown = certificate(folder, b"1")
    sink = Heard()
    with addresses("unix") as (address,):
        listening = await listen(sink, context, shown, address, **bounds)
        peer = await Stranger.at(address, client_context())
        await peer.shake(credentials(name), "r1", b"n" * 32, binding_of(shown))
        await sink.until(lambda: sink.up)
        link = sink.up[0]
        assert isinstance(link, Link)
        try:
            yield sink, peer, link
        finally:
            await listening.close()


@LOOPS
def test_a_peer_that_leaves_too_much_unread_is_ended(loops: Loops, tmp_path: Path) -> None:
    async def work() -> None:
        async with unread(tmp_path, "screen-1", unsent_bytes=8 * 2**20) as (sink, _, link):
            link.send([BIG] * 40)
            await sink.until(lambda: sink.down)
            assert "bytes unread" in str(link.error)

    run(work, loops)


@LOOPS
def test_a_peer_that_reads_nothing_for_a_time_is_ended(loops: Loops, tmp_path: Path) -> None:
    async def work() -> None:
        async with unread(tmp_path, "r2", stall_seconds=0.1) as (sink, _, link):
            link.send([BIG] * 12)
            await sink.until(lambda: sink.down)
            assert "read nothing for 0.1 seconds" in str(link.error)

    run(work, loops)


@LOOPS
def test_what_one_turn_says_to_a_peer_that_does_not_read_is_counted(
    loops: Loops, tmp_path: Path
) -> None:
    async def work() -> None:
        async with unread(tmp_path, "r2", all_unsent_bytes=16 * 2**20) as (sink, peer, link):
            link.send([BIG] * 12)
            link.flush()
            assert link.unsent() > 11 * 2**20
            heard: list[Message] = []
            while len(heard) < 12:  # and all of it comes, once the peer reads
                size = await peer.reader.readexactly(4)
                rest = await peer.reader.readexactly(int.from_bytes(size, "big"))
                heard += peer.opener.open(size + rest)
            assert heard == [BIG] * 12
            link.send([BIG] * 20)
            await sink.until(lambda: sink.down)
            assert "too many for others" in str(link.error)

    run(work, loops)


@LOOPS
def test_closing_hands_out_what_waits(loops: Loops, tmp_path: Path) -> None:
    async def work() -> None:
        async with unread(tmp_path, "screen-1") as (sink, peer, link):
            link.send([BIG] * 12)
            link.close()
            assert link.unsent() > 11 * 2**20
            link.send([BIG])  # too late: nobody hears it
            peer.say(peer.sealer.seal([AskHeads("alerts", 1)]))
            data = await peer.ended()
            heard: list[Message] = []
            while data:
                end = 4 + int.from_bytes(data[:4], "big")
                heard += peer.opener.open(data[:end])
                data = data[end:]
            assert heard == [BIG] * 12
            await sink.until(lambda: sink.down)
            assert sink.said == []

    run(work, loops)
