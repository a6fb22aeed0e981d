"""Quorumcast: a publish/subscribe broker that keeps its promises while some of its servers lie.

Users import from here alone:

    import quorumcast

    async with quorumcast.connect("probe-7.qc") as qc:
        alerts = await qc.publisher("alerts")
        await alerts.publish(b"disk failing", key="db-3")

The names are looked up when they are used: a replica has no need of what only clients import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorumcast.api import (
        Ack,
        AsyncClient,
        AuthError,
        Batching,
        Client,
        Closed,
        ConfigError,
        Cursor,
        Event,
        Gap,
        Handle,
        NoQuorum,
        NotAllowed,
        PublicationId,
        Publisher,
        QuorumcastError,
        Received,
        Rejected,
        Subscription,
        connect,
    )

__version__ = "0.1.0"

__all__ = [
    "Ack",
    "AsyncClient",
    "AuthError",
    "Batching",
    "Client",
    "Closed",
    "ConfigError",
    "Cursor",
    "Event",
    "Gap",
    "Handle",
    "NoQuorum",
    "NotAllowed",
    "PublicationId",
    "Publisher",
    "QuorumcastError",
    "Received",
    "Rejected",
    "Subscription",
    "connect",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module quorumcast has no attribute {name}")
    from quorumcast import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
