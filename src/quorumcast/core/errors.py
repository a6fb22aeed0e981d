"""Errors that tell our own bug from a peer's fault and from a user's mistake.

- `ProtocolError`: a peer sent what no correct peer sends. The driver rejects the peer's message
  or closes its link; the machine's state is unchanged.
- `ConfigError`: a user's file or argument is wrong; the text says what would be right.
- Our own bugs are `AssertionError`: invariants of ours, never a condition on what a peer sent.
"""

from __future__ import annotations


class QuorumcastError(Exception):
    """The base of every error that Quorumcast raises on purpose.

    >>> issubclass(ProtocolError, QuorumcastError)
    True
    """


class ProtocolError(QuorumcastError):
    """A peer's fault: bytes or a statement that no correct peer sends.

    >>> raise ProtocolError("frame of 9 bytes is shorter than its header")
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ProtocolError: frame of 9 bytes is shorter than its header
    """


class AuthError(ProtocolError):
    """A tag, signature or certificate that does not verify.

    >>> issubclass(AuthError, ProtocolError)
    True
    """


class ConfigError(QuorumcastError):
    """A setting that cannot work; the text names it and what would be right.

    >>> issubclass(ConfigError, ProtocolError)
    False
    """
