"""Addresses of parties: `tcp://host:port` and `unix:///path`."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from quorumcast.core.errors import ConfigError

PATH_BYTES = 100
"""A Unix socket's path: macOS takes 103 bytes, Linux 107."""

_TCP = re.compile(r"tcp://(?:\[([0-9a-fA-F:.%\w]+)\]|([^\s/:\[\]]+)):([0-9]{1,5})")
_UNIX = "unix://"


class Tcp(NamedTuple):
    """A host's name or address, and a port; port 0 listens on any that is free.

    >>> str(Tcp("::1", 7400))
    'tcp://[::1]:7400'
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp://{host}:{self.port}"


class Unix(NamedTuple):
    """A socket in the file system.

    >>> str(Unix("/run/r1.sock"))
    'unix:///run/r1.sock'
    """

    path: str

    def __str__(self) -> str:
        return f"{_UNIX}{self.path}"


Address: TypeAlias = Tcp | Unix


def parse_address(text: str) -> Address:
    """The address that a text stands for, or `ConfigError` that says what would be right.

    >>> parse_address("tcp://127.0.0.1:7400")
    Tcp(host='127.0.0.1', port=7400)
    >>> parse_address("127.0.0.1:7400")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: address '127.0.0.1:7400': use tcp://HOST:PORT or ...
    """
    if text.startswith(_UNIX):
        path = text.removeprefix(_UNIX)
        if not path.startswith("/"):
            raise ConfigError(f"address {text!r}: a path begins with a slash: unix:///run/r1.sock")
        if len(path.encode()) > PATH_BYTES:
            raise ConfigError(
                f"address {text!r}: a socket's path may have {PATH_BYTES} bytes, "
                f"this has {len(path.encode())}: choose a shorter one"
            )
        return Unix(path)
    match = _TCP.fullmatch(text)
    if match is None:
        raise ConfigError(f"address {text!r}: use tcp://HOST:PORT or unix:///PATH")
    port = int(match[3])
    if port > 65_535:
        raise ConfigError(f"address {text!r}: there is no port {port}: use 1 to 65535")
    return Tcp(match[1] or match[2], port)
