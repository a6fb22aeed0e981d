"""Attributes on a command line: `--set severity=5`, read as the channel's schema has it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from quorumcast.core.errors import ConfigError
from quorumcast.events.schema import Schema
from quorumcast.events.values import Column

_BOOLS = {"true": True, "false": False}


def parse_attributes(schema: Schema, given: Sequence[str]) -> dict[str, Any]:
    """The attributes that `NAME=VALUE` texts give, or a `ConfigError` that names what is wrong.

    >>> schema = Schema.parse({"severity": "int8", "host": "string"})
    >>> parse_attributes(schema, ["severity=5", "host=db-3"])
    {'severity': 5, 'host': 'db-3'}
    >>> parse_attributes(schema, ["severity=high"])
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: --set severity=high: severity is int8: use a whole ...
    """
    found: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals:
            raise ConfigError(f"--set {each}: use NAME=VALUE, such as severity=5")
        if name in found:
            raise ConfigError(f"--set {each}: {name} is set twice: use it once")
        column = schema.by_name.get(name)
        if column is None:
            raise ConfigError(f"--set {each}: {schema.unknown(name)}")
        found[name] = _value(column, text, each)
    return found


def _value(column: Column, text: str, given: str) -> Any:
    try:
        return column.value(_parsed(column.type.name, text))
    except (ValueError, KeyError, OverflowError, ConfigError):
        right = _RIGHT.get(column.type.name, column.type.right)
        raise ConfigError(
            f"--set {given}: {column.name} is {column.type.name}: use {right}"
        ) from None


_RIGHT = {
    "bool": "true or false",
    "float32": "a number of at most 3.4e38",
    "float64": "a number",
    "timestamp": "a time such as 2026-03-01T12:00:00Z, or microseconds since 1970",
}
"""What would be right on a command line, where that is not what Python's users are told."""


def _parsed(kind: str, text: str) -> Any:
    if kind == "string":
        return text
    if kind == "binary":
        return text.encode()
    if kind == "bool":
        return _BOOLS[text.lower()]
    if kind.startswith("int"):
        return int(text)
    if kind.startswith("float"):
        return float(text)
    return int(text) if text.lstrip("-").isdecimal() else _moment(text)


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.astimezone()
