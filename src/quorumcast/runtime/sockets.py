"""What all connections have in common: one buffer to read to, and a way to notice a dead host."""

from __future__ import annotations

import asyncio
import socket
from threading import local

from quorumcast.wire.frames import Spares

_KEEPALIVE_SECONDS = 15
"""After this long without a byte the kernel asks whether the other host still is there."""

_READ_BYTES = 256 * 1024
"""What is read at once. One buffer serves all links of a thread: what was read is cut into frames
before anything else is read. A private one would cost an idle link as much as all the rest."""

CLIENT_READ_BYTES = 64 * 1024
"""What is read at once from a client: so many small messages are handled before others' are."""

_threads = local()


def read_spares() -> Spares:
    """This thread's buffers for long frames.

    >>> read_spares() is read_spares()
    True
    """
    try:
        return _threads.spares
    except AttributeError:
        _threads.spares = Spares()
        return _threads.spares


def read_buffer() -> memoryview:
    """This thread's buffer, for one read at a time.

    >>> read_buffer().obj is read_buffer().obj
    True
    """
    try:
        return _threads.buffer
    except AttributeError:
        _threads.buffer = memoryview(bytearray(_READ_BYTES))
        return _threads.buffer


def client_buffer() -> memoryview:
    """The front part of the same buffer, for what comes from a client.

    >>> client_buffer().obj is read_buffer().obj, len(client_buffer())
    (True, 65536)
    """
    try:
        return _threads.front
    except AttributeError:
        _threads.front = read_buffer()[:CLIENT_READ_BYTES]
        return _threads.front


def keep_alive(transport: asyncio.Transport) -> None:
    """A host that vanished is noticed also where there is nothing to say to it."""
    its_socket = transport.get_extra_info("socket")
    if its_socket is None or its_socket.family not in (socket.AF_INET, socket.AF_INET6):
        return
    its_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _KEEPALIVE_SECONDS),  # Linux
        ("TCP_KEEPALIVE", _KEEPALIVE_SECONDS),  # macOS
        ("TCP_KEEPINTVL", _KEEPALIVE_SECONDS // 3),
        ("TCP_KEEPCNT", 3),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            its_socket.setsockopt(socket.IPPROTO_TCP, option, value)
