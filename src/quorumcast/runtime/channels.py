"""A channel's table in `cluster.toml`: every key, its default, and what goes together.

Machines need a `Channel`; what only clients need stands beside it in `ChannelSettings`. Some keys
have values that are not built yet: they are refused with a sentence that says so, never ignored.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from quorumcast.auth.names import name_fault
from quorumcast.core.channel import Channel, Retention
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster
from quorumcast.core.limits import PATTERNS, RUN_POSITIONS
from quorumcast.events.schema import Schema
from quorumcast.runtime.scanner import Place
from quorumcast.runtime.tables import Source, Table, written
from quorumcast.runtime.units import duration_text, parse_duration, parse_size, size_text

COUNT = 2**40
"""More events, publishers or subscribers than anybody has."""

WITHIN_SECONDS = 3600.0
"""The longest that a tail may stay unconfirmed: beyond an hour it is not confirmation."""

KEYS = (
    "name",
    "protection",
    "order",
    "protocol",
    "confirm",
    "deliver",
    "publishers",
    "subscribers",
    "max_publishers",
    "max_subscribers",
    "schema",
    "retention",
    "queue",
    "on_gap",
    "ttl",
    "signed",
    "durability",
    "trusted_publishers",
    "trusted_subscribers",
)
"""All keys of a channel, in the order in which they are written."""

_ALWAYS = ("name", "protection", "protocol", "publishers", "durability")
_CONFIRM = '{ every = 1000, within = "250ms" }'
OVERFLOWS = ("lag", "drop-oldest", "drop-newest", "block")
"""What may happen when a queue is full."""

ON_GAP = ("fail", "continue")
"""And when retention overtook its subscriber."""

_PROTOCOLS = {"bft": ("ab", "bracha"), "cft": ("plain",)}

Protocol = Literal["ab", "bracha", "plain"]
Overflow = Literal["lag", "drop-oldest", "drop-newest", "block"]


class Queue(msgspec.Struct, frozen=True):
    """What a subscriber's client keeps for its application, and what happens when it is full.

    >>> Queue().overflow
    'lag'
    """

    events: int = 100_000
    overflow: Overflow = "lag"


class ChannelSettings(msgspec.Struct, frozen=True):
    """One channel with everything that its table says.

    >>> ChannelSettings(Channel("alerts")).table()["protection"]
    'bft'
    """

    channel: Channel
    schema: Schema = Schema()
    queue: Queue = Queue()
    on_gap: Literal["fail", "continue"] = "fail"
    ttl_seconds: float | None = None
    durability: Literal["memory"] = "memory"

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.channel.name

    def table(self) -> dict[str, Any]:
        """All keys with their values in effect, as a file would give them; `ttl` may be None."""
        channel, retention = self.channel, self.channel.retention
        within = duration_text(channel.within_seconds)
        return {
            "name": channel.name,
            "protection": "bft" if channel.byzantine else "cft",
            "order": "fifo",
            "protocol": channel.protocol,
            "confirm": {"every": channel.alpha, "within": within} if channel.confirm else False,
            "deliver": channel.deliver,
            "publishers": list(channel.publishers),
            "subscribers": list(channel.subscribers),
            "max_publishers": channel.max_publishers,
            "max_subscribers": channel.max_subscribers,
            "schema": self.schema.table(),
            "retention": {
                "events": retention.events,
                "age": duration_text(retention.age_seconds),
                "bytes": size_text(retention.bytes),
            },
            "queue": {"events": self.queue.events, "overflow": self.queue.overflow},
            "on_gap": self.on_gap,
            "ttl": None if self.ttl_seconds is None else duration_text(self.ttl_seconds),
            "signed": channel.signed,
            "durability": self.durability,
            "trusted_publishers": [],
            "trusted_subscribers": list(channel.trusted_subscribers),
        }

    def text(self) -> str:
        """The table as it stands in a file: what is not default, and what one looks for first.

        >>> print(ChannelSettings(Channel("alerts", publishers=("probe-*",))).text())
        [[channel]]
        name = "alerts"
        protection = "bft"
        protocol = "ab"
        publishers = ["probe-*"]
        durability = "memory"
        """
        channel = Channel(self.name, protocol=self.channel.protocol)
        usual = ChannelSettings(channel).table()
        lines = [
            f"{key} = {written(value)}"
            for key, value in self.table().items()
            if key in _ALWAYS or value != usual[key]
        ]
        return "\n".join(["[[channel]]", *lines])

    def promise(self, cluster: Cluster) -> str:
        """What this channel promises in that cluster, in one sentence.

        >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
        >>> ChannelSettings(Channel("alerts", protocol="bracha")).promise(cluster)
        "While at most 1 of 4 replicas lies, all subscribers deliver the same events, ..."
        """
        channel, (n, f) = self.channel, (len(cluster.replicas), cluster.faults)
        lies, stops = ("lies", "stops") if f < 2 else ("lie", "stop")
        few = f"at most {f} of {n} replicas" if f else "no replica"
        start = f"While {few} {lies}, "
        if channel.protocol == "bracha":
            what = "all subscribers deliver the same events, of every publisher, in its order"
        elif channel.protocol == "ab" and channel.confirm:
            what = (
                "all subscribers deliver all events of a correct publisher in its order, and "
                f"differ by at most {channel.window:,} publications in a stream of a lying one"
            )
        elif channel.protocol == "ab":
            what = (
                "no two subscribers deliver different events in one place, but some may miss "
                "events (lab only: nothing is confirmed or repaired)"
            )
        else:
            first = channel.deliver == "first" or f == 0
            copies = "the first copy" if first else f"{f + 1} equal copies"
            start = f"While {few} {stops}, "
            what = (
                "all subscribers deliver all events of a publisher in its order, on "
                f"{copies}: no replica is expected to lie"
            )
        return f"{start}{what}; events are kept in memory and do not outlive the cluster's run."


# -- reading ---------------------------------------------------------------------------------------


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern of names; None if nothing is.

    >>> pattern_fault("probe-*") is None
    True
    >>> pattern_fault("probe 7")
    'contains white space: use a name, or a pattern such as probe-*'
    """
    plain = pattern.translate(str.maketrans("*?[", "xxx"))
    fault = name_fault(plain)
    return None if fault is None else f"{fault}: use a name, or a pattern such as probe-*"


def read_channel(
    values: dict[str, Any], cluster: Cluster, source: Source, place: Place = ()
) -> ChannelSettings:
    """The channel that a table describes in that cluster, or `ConfigError`.

    >>> cluster = Cluster(bytes(32), 1, ("r1", "r2", "r3", "r4"), 1, bytes(32))
    >>> read_channel({"name": "alerts", "order": "total"}, cluster, Source("a.toml"))
    Traceback (most recent call last):
    ...
    quorumcast.core.errors.ConfigError: a.toml: channel alerts: order = "total" is not ...
    """
    named = values.get("name")
    title = f"channel {named}" if isinstance(named, str) else "channel"
    table = Table(source, place, values, title, KEYS)
    name = table.text("name", example="alerts")
    if (fault := name_fault(name)) is not None:
        raise table.wrong("name", f"{fault}: use a name such as alerts")
    _refuse_unbuilt(table)
    protocol = _protocol(table)
    confirm, alpha, within_seconds = _confirm(table, cluster, protocol)
    channel = Channel(
        name,
        protocol=protocol,
        confirm=confirm,
        alpha=alpha,
        within_seconds=within_seconds,
        deliver=_deliver(table, protocol),
        publishers=_patterns(table, "publishers", ()),
        subscribers=_patterns(table, "subscribers", ("*",)),
        trusted_subscribers=_patterns(table, "trusted_subscribers", ()),
        max_publishers=table.whole("max_publishers", 0, 0, COUNT),
        max_subscribers=table.whole("max_subscribers", 0, 0, COUNT),
        signed=table.flag("signed", False),
        retention=_retention(table),
    )
    _check_bounds(table, channel, cluster)
    return ChannelSettings(
        channel,
        schema=_schema(table),
        queue=_queue(table, channel.trusted_subscribers),
        on_gap=table.choice("on_gap", ON_GAP, "fail"),
        ttl_seconds=table.quantity("ttl", None, parse_duration, "10m"),
    )


def _refuse_unbuilt(table: Table) -> None:
    if table.choice("order", ("fifo", "total"), "fifo") != "fifo":
        raise table.wrong("order", 'is not supported yet: leave it out, or use "fifo"')
    if table.choice("durability", ("memory", "disk", "fsync"), "memory") != "memory":
        raise table.wrong("durability", 'is not supported yet: leave it out, or use "memory"')
    if _patterns(table, "trusted_publishers", ()):
        raise table.wrong("trusted_publishers", "is not supported yet: leave it out, or use []")


def _protocol(table: Table) -> Protocol:
    protection = table.choice("protection", ("bft", "cft"), "bft")
    usual = _PROTOCOLS[protection][0]
    protocol = table.choice("protocol", ("ab", "bracha", "plain", "chain"), usual)
    if protocol == "chain":
        raise table.wrong("protocol", 'is not supported yet: use "ab" or "bracha"')
    if protocol not in _PROTOCOLS[protection]:
        right = " or ".join(f'"{each}"' for each in _PROTOCOLS[protection])
        other = "cft" if protection == "bft" else "bft"
        raise table.wrong(
            "protocol",
            f'does not go with protection = "{protection}": use {right}, or protection = "{other}"',
        )
    return cast("Protocol", protocol)


def _confirm(table: Table, cluster: Cluster, protocol: str) -> tuple[bool, int, float]:
    usual = Channel("")
    value = table.raw("confirm")
    if value is True:
        raise table.wrong("confirm", f"says too little: use {_CONFIRM}, or leave it out")
    if value is False:
        if not cluster.lab:
            raise table.wrong(
                "confirm",
                "loses publications that a faulty replica withholds, and is for lab clusters "
                f"alone: use {_CONFIRM}",
            )
        if protocol == "bracha":
            raise table.wrong(
                "confirm",
                f"cannot work with bracha, which delivers on confirmation: use {_CONFIRM}, "
                'or protocol = "ab"',
            )
        return False, usual.alpha, usual.within_seconds
    inner = table.table("confirm", ("every", "within"), f"{_CONFIRM} or false")
    every = inner.whole("every", usual.alpha, 1, RUN_POSITIONS // 2)
    within = inner.quantity("within", usual.within_seconds, parse_duration, "250ms")
    if within > WITHIN_SECONDS:
        raise inner.wrong("within", f'is too long: use "{duration_text(WITHIN_SECONDS)}" at most')
    return True, every, within


def _deliver(table: Table, protocol: str) -> Literal["safe", "first"]:
    deliver: Literal["safe", "first"] = table.choice("deliver", ("safe", "first"), "safe")
    if deliver == "first" and protocol != "plain":
        raise table.wrong(
            "deliver", 'believes a single replica: use "safe", or protection = "cft" with plain'
        )
    return deliver


def _patterns(table: Table, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    return table.texts(key, default, pattern_fault, PATTERNS, "probe-*")


def _retention(table: Table) -> Retention:
    usual = Retention()
    example = '{ events = 1_000_000, age = "24h", bytes = "1GiB" }'
    inner = table.table("retention", ("events", "age", "bytes"), example)
    return Retention(
        events=inner.whole("events", usual.events, 1, COUNT),
        age_seconds=inner.quantity("age", usual.age_seconds, parse_duration, "24h"),
        bytes=inner.quantity("bytes", usual.bytes, parse_size, "1GiB"),
    )


def _queue(table: Table, trusted: tuple[str, ...]) -> Queue:
    usual = Queue()
    example = '{ events = 100_000, overflow = "lag" }'
    inner = table.table("queue", ("events", "overflow"), example)
    overflow = inner.choice("overflow", OVERFLOWS, usual.overflow)
    if overflow == "block" and not trusted:
        raise inner.wrong(
            "overflow",
            "lets a slow subscriber stop the channel: name who may in trusted_subscribers, "
            'or use "lag"',
        )
    return Queue(inner.whole("events", usual.events, 1, COUNT), cast("Overflow", overflow))


def _schema(table: Table) -> Schema:
    example = 'names and types, such as { severity = "int8" }'
    found = table.mapping("schema", example)
    try:
        return Schema.parse(found)
    except ConfigError:
        pass  # and which of the attributes is it?
    inner, read = table.table("schema", tuple(found), example), dict[str, Any]()
    for name, kind in found.items():
        read[name] = kind
        try:
            Schema.parse(read)
        except ConfigError as error:
            text = str(error).removeprefix("schema").removeprefix(f".{name}").removeprefix(": ")
            raise inner.fault(name, f"is wrong: {text}") from None
    raise AssertionError("a schema is wrong that is right in all its parts")


def _check_bounds(table: Table, channel: Channel, cluster: Cluster) -> None:
    key = "protocol" if "protocol" in table else None
    try:
        channel.quorum(cluster)
    except ConfigError as error:
        right = "" if channel.byzantine else ', or deliver = "first" with f+1 replicas'
        value = f'= "{channel.protocol}" cannot work here: ' if key else ""
        raise table.fault(key, f"{value}{error}{right}") from None
    table.checked(None, lambda: channel.check(cluster))
