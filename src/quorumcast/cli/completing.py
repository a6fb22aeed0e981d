"""What a shell completes after Tab: names that stand in the cluster's files.

It is asked on a key press, so it reads plain text: no signature is checked and nothing heavy is
imported. Whatever is wrong with the files is told by the command itself; here it completes nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer

from quorumcast.core.errors import QuorumcastError
from quorumcast.runtime.files import CLIENT_SUFFIX, CLUSTER_FILE
from quorumcast.runtime.finding import find_cluster


def channel_names(context: typer.Context, incomplete: str) -> list[str]:
    """The cluster's channels."""
    return _matching(incomplete, lambda: _names(context, "channel"))


def replica_names(context: typer.Context, incomplete: str) -> list[str]:
    """The cluster's replicas."""
    return _matching(incomplete, lambda: _names(context, "replica"))


def identity_names(context: typer.Context, incomplete: str) -> list[str]:
    """Clients whose files are in the cluster's folder."""
    return _matching(
        incomplete, lambda: (each.stem for each in _folder(context).glob(f"*{CLIENT_SUFFIX}"))
    )


def attribute_names(context: typer.Context, incomplete: str) -> list[str]:
    """NAME= for each attribute of the channel's schema."""
    return _matching(incomplete, lambda: _attributes(context))


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completes one of these words.

    >>> one_of("earliest", "latest")("l")
    ['latest']
    """

    def complete(incomplete: str) -> list[str]:
        return [each for each in words if each.startswith(incomplete)]

    return complete


def _matching(incomplete: str, candidates: Callable[[], Iterable[str]]) -> list[str]:
    try:
        return sorted(each for each in candidates() if each.startswith(incomplete))
    except (QuorumcastError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return []  # a shell's line is no place for errors


def _folder(context: typer.Context) -> Path:
    return find_cluster(context.params.get("cluster"))


def _tables(context: typer.Context, kind: str) -> list[dict[str, Any]]:
    with (_folder(context) / CLUSTER_FILE).open("rb") as file:
        return tomllib.load(file)[kind]


def _names(context: typer.Context, kind: str) -> list[str]:
    return [str(each["name"]) for each in _tables(context, kind)]


def _attributes(context: typer.Context) -> list[str]:
    # Arguments are not assigned yet where an option in front of the cursor lacks its value.
    name = context.params.get("channel") or next(iter(context.args), None)
    schemas = [each["schema"] for each in _tables(context, "channel") if each["name"] == name]
    return [f"{attribute}=" for schema in schemas for attribute in schema]
