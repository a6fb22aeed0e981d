"""What strangers and peers may make a process hold or wait for, each with its reason.

The machines' own bounds stand in `core/limits.py`; these are about sockets. Tests and small
machines make their own `Bounds`.
"""

from __future__ import annotations

import msgspec

from quorumcast.core.limits import CLIENTS, FRAME_BYTES, REPLICAS

_OTHER_FILES = 128
"""Files that a process has besides its clients' connections: storage, logs, orders from its
operator, its links to other replicas."""

_STRANGERS_PART = 16
_BACKLOG_PART = 8
"""Of a process that may have few files, one in so many is for strangers, and for the backlog."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one process's connections.

    >>> Bounds(strangers=4).strangers
    4
    """

    frame_bytes: int = FRAME_BYTES
    """The longest frame that is taken in on a link."""

    strangers: int = 256
    """Connections that have said nothing yet, and as many that have said who they are and have not
    proven it. Each has its time to do so; one more than this ends the oldest, so that those who
    hold many keep out nobody who is quick."""

    backlog: int = 512
    """Connections that the kernel holds while the loop is busy; it may accept them all at once."""

    connections: int = CLIENTS + REPLICAS
    """Connections that have: every client that may subscribe, and the replicas."""

    unsent_bytes: int = 64 * 2**20
    """Output that one peer has not read yet; above it the link ends. Room for several maximal
    frames, and for what a busy replica says within a second."""

    pause_bytes: int = 1 * 2**20
    """Output above which nothing more is read from a client: who does not take answers may not
    go on asking. Between replicas this would lead to two that wait for each other."""

    all_unsent_bytes: int = 256 * 2**20
    """Output that all peers have not read yet; above it the one with most of it is ended."""

    all_unfinished_bytes: int = 128 * 2**20
    """Frames of clients of which the end has not come; above it one of these links is ended."""

    slice_seconds: float = 0.025
    """What a client said and came with one read may take this long to be handled. One that takes
    longer is not read from for a while, so that others have most of the time."""

    slice_rest: float = 2.0
    """For how long it is not read from, as a multiple of that time."""

    handshake_seconds: float = 5.0
    """From the connection to the last proof: two round trips, and a busy machine."""

    stall_seconds: float = 30.0
    """A peer that takes not one byte of waiting output for this long is gone."""

    close_seconds: float = 5.0
    """How long a link that was closed may take to hand out what was sent."""

    connect_seconds: float = 10.0
    """How long a connection may take to come about."""

    backoff_seconds: float = 0.05
    """The first pause before a lost link is tried again; doubles with each attempt."""

    backoff_most_seconds: float = 5.0
    """The longest pause: how late a replica that came back may be noticed."""

    steady_seconds: float = 5.0
    """A link that stood for this long begins with the first pause again; one that is ended as
    soon as it stands does not."""

    @classmethod
    def within(cls, files: int) -> Bounds:
        """The bounds of a process that may have so many files open.

        >>> Bounds.within(1_000_000).connections, Bounds.within(1024).connections
        (10064, 640)
        """
        usual = cls()
        strangers = max(1, min(usual.strangers, files // _STRANGERS_PART))
        backlog = max(1, min(usual.backlog, files // _BACKLOG_PART))
        room = files - 2 * strangers - backlog - min(_OTHER_FILES, files // 2)
        return cls(
            strangers=strangers,
            backlog=backlog,
            connections=max(1, min(usual.connections, room)),
        )
