"""Every key of a channel's table: its default, its right values, and its wrong ones by line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from quorumcast.core.channel import Channel, Retention
from quorumcast.core.errors import ConfigError
from quorumcast.core.ids import Cluster
from quorumcast.events.schema import Schema
from quorumcast.runtime.channels import KEYS, ChannelSettings, Queue, read_channel
from quorumcast.runtime.tables import parse
from tests.runtime_files.made import manifest

CONFIRM = '{ every = 1000, within = "250ms" }'


def read(
    text: str, *, replicas: int = 4, faults: int = 1, lab: bool = False, name: str = "alerts"
) -> ChannelSettings:
    """The channel of a table that begins at line 10 of `x.toml`."""
    head = "\n" * 9 + "[[channel]]\n" + (f'name = "{name}"\n' if name else "")
    values, source = parse(head + text, "x.toml")
    cluster = manifest(replicas, faults, lab=lab).cluster()
    return read_channel(values["channel"][0], cluster, source, ("channel", 0))


def fault(text: str, **options: object) -> str:
    with pytest.raises(ConfigError) as raised:
        read(text, **options)  # type: ignore[arg-type]
    return str(raised.value)


def test_defaults() -> None:
    assert read("") == ChannelSettings(Channel("alerts"))
    assert read("").table() == {
        "name": "alerts",
        "protection": "bft",
        "order": "fifo",
        "protocol": "ab",
        "confirm": {"every": 1000, "within": "250ms"},
        "deliver": "safe",
        "publishers": [],
        "subscribers": ["*"],
        "max_publishers": 0,
        "max_subscribers": 0,
        "schema": {},
        "retention": {"events": 1_000_000, "age": "1d", "bytes": "1GiB"},
        "queue": {"events": 100_000, "overflow": "lag"},
        "on_gap": "fail",
        "ttl": None,
        "signed": False,
        "durability": "memory",
        "trusted_publishers": [],
        "trusted_subscribers": [],
    }
    assert tuple(read("").table()) == KEYS


def test_all_keys_at_once() -> None:
    found = read(
        """
        protection = "bft"
        order = "fifo"
        protocol = "bracha"
        confirm = { every = 50, within = "1.5s" }
        deliver = "safe"
        publishers = ["probe-*", "desk-[0-9]"]
        subscribers = ["audit"]
        max_publishers = 3
        max_subscribers = 400
        schema = { severity = "int8", host = "string" }
        retention = { events = 5, age = "2h", bytes = "10MB" }
        queue = { events = 9, overflow = "block" }
        on_gap = "continue"
        ttl = "10m"
        signed = true
        durability = "memory"
        trusted_publishers = []
        trusted_subscribers = ["audit"]
        """
    )
    channel = Channel(
        "alerts",
        protocol="bracha",
        alpha=50,
        within_seconds=1.5,
        publishers=("probe-*", "desk-[0-9]"),
        subscribers=("audit",),
        trusted_subscribers=("audit",),
        max_publishers=3,
        max_subscribers=400,
        signed=True,
        retention=Retention(5, 7200.0, 10_000_000),
    )
    assert found == ChannelSettings(
        channel,
        schema=Schema.parse({"severity": "int8", "host": "string"}),
        queue=Queue(9, "block"),
        on_gap="continue",
        ttl_seconds=600.0,
    )


def test_parts_of_tables_have_defaults_too() -> None:
    assert read("confirm = { every = 7 }").channel.within_seconds == 0.25
    assert read('confirm = { within = "1s" }').channel.alpha == 1000
    assert read('retention = { age = "1h" }').channel.retention == Retention(age_seconds=3600.0)
    assert read('queue = { overflow = "drop-oldest" }').queue == Queue(100_000, "drop-oldest")


def test_tables_may_have_headers_of_their_own() -> None:
    assert read("[channel.confirm]\nevery = 7\n").channel.alpha == 7
    assert fault("[channel.confirm]\nevery = 0\n").startswith("x.toml:13: channel alerts: confirm.")


def test_crash_channels() -> None:
    assert read('protection = "cft"').channel.protocol == "plain"
    assert read('protection = "cft"\ndeliver = "first"').channel.deliver == "first"
    few = read('protection = "cft"\ndeliver = "first"', replicas=2)
    assert few.channel.deliver == "first"


def test_confirmation_goes_off_in_lab_clusters_alone() -> None:
    assert not read("confirm = false", lab=True).channel.confirm
    assert "x.toml:12: channel alerts: confirm = false loses publications" in fault(
        "confirm = false"
    )


# -- wrong values ----------------------------------------------------------------------------------

TOTAL = "is not supported yet: leave it out, or use"
WRONG = [
    ("name", 'name = "a/b"', "contains a slash: use a name such as alerts"),
    ("name", "name = 5", 'is not a string: use "alerts" or the like'),
    ("protection", 'protection = "bfd"', 'is not known: use "bft", "cft" (did you mean bft?)'),
    ("protection", "protection = true", 'is not known: use "bft", "cft"'),
    ("order", 'order = "total"', f'{TOTAL} "fifo"'),
    ("order", 'order = "lifo"', 'is not known: use "fifo", "total" (did you mean fifo?)'),
    ("protocol", 'protocol = "chain"', 'is not supported yet: use "ab" or "bracha"'),
    ("protocol", 'protocol = "paxos"', 'is not known: use "ab", "bracha", "plain", "chain"'),
    ("protocol", 'protocol = "plain"', 'does not go with protection = "bft": use "ab" or "bracha"'),
    ("confirm", "confirm = true", f"says too little: use {CONFIRM}, or leave it out"),
    ("confirm", "confirm = 1000", f"is not a table: use {CONFIRM} or false"),
    ("confirm.every", "confirm.every = 0", "is out of range: use 1 to 32768"),
    ("confirm.every", "confirm.every = 32769", "is out of range: use 1 to 32768"),
    ("confirm.every", 'confirm.every = "5"', "is not a whole number: use 1 to 32768"),
    ("confirm.within", "confirm.within = 250", 'is not a string with a unit: use "250ms"'),
    ("confirm.within", 'confirm.within = "250"', '"250" is not a duration: use a number and one'),
    ("confirm.within", 'confirm.within = "0s"', 'is nothing: use more, such as "250ms"'),
    ("confirm.within", 'confirm.within = "2h"', 'is too long: use "1h" at most'),
    ("deliver", 'deliver = "fast"', 'is not known: use "safe", "first"'),
    ("deliver", 'deliver = "first"', 'believes a single replica: use "safe", or protection'),
    ("publishers", 'publishers = "probe-*"', 'is not a list: use ["probe-*"] or the like'),
    ("publishers", "publishers = [5]", 'has 5, not a string: use ["probe-*"] or the like'),
    ("publishers", 'publishers = ["a b"]', 'has "a b", which contains white space: use a name'),
    ("publishers", 'publishers = [""]', 'has "", which is empty: use a name, or a pattern'),
    ("publishers", 'publishers = ["a", "a"]', 'has "a" twice: use it once'),
    ("subscribers", 'subscribers = ["a/*"]', 'has "a/*", which contains a slash: use a name'),
    ("max_publishers", "max_publishers = -1", "is out of range: use 0 to"),
    ("max_subscribers", "max_subscribers = 1.5", "is not a whole number: use 0 to"),
    ("max_subscribers", "max_subscribers = true", "is not a whole number: use 0 to"),
    ("schema", "schema = 5", 'is not a table: use names and types, such as { severity = "int8" }'),
    ("schema.severity", 'schema = { severity = "int9" }', "'int9' is not a type: use \"bool\""),
    ("schema.Key", 'schema = { Key = "string" }', "every event has 'key' already: use another"),
    ("retention", 'retention = "24h"', "is not a table: use { events = 1_000_000, age ="),
    ("retention.events", "retention.events = 0", "is out of range: use 1 to"),
    ("retention.age", "retention.age = 24", 'is not a string with a unit: use "24h" or the like'),
    ("retention.bytes", 'retention.bytes = "1 Gig"', '"1 Gig" is not a size: use a number'),
    ("retention.bytes", 'retention.bytes = "0B"', 'is nothing: use more, such as "1GiB"'),
    ("queue", "queue = 100", 'is not a table: use { events = 100_000, overflow = "lag" }'),
    ("queue.events", "queue.events = 0", "is out of range: use 1 to"),
    ("queue.overflow", 'queue.overflow = "drop"', 'use "lag", "drop-oldest", "drop-newest"'),
    ("queue.overflow", 'queue.overflow = "block"', "name who may in trusted_subscribers"),
    ("on_gap", 'on_gap = "stop"', 'is not known: use "fail", "continue"'),
    ("ttl", "ttl = 600", 'is not a string with a unit: use "10m" or the like'),
    ("ttl", 'ttl = "never"', '"never" is not a duration: use a number and one of'),
    ("ttl", 'ttl = "0s"', 'is nothing: use more, such as "10m"'),
    ("signed", 'signed = "true"', "is neither true nor false: use one of them, without quotes"),
    ("durability", 'durability = "disk"', f'{TOTAL} "memory"'),
    ("durability", 'durability = "fsync"', f'{TOTAL} "memory"'),
    ("durability", 'durability = "tape"', 'is not known: use "memory", "disk", "fsync"'),
    ("trusted_publishers", 'trusted_publishers = ["a"]', f"{TOTAL} []"),
    ("trusted_publishers", 'trusted_publishers = "a"', "is not a list"),
    ("trusted_subscribers", "trusted_subscribers = {}", 'is not a list: use ["probe-*"]'),
]


@pytest.mark.parametrize(("key", "line", "right"), WRONG, ids=[line for _, line, _ in WRONG])
def test_a_wrong_value_is_named_by_line_and_key(key: str, line: str, right: str) -> None:
    text = fault(f"\n\n{line}\n", name="") if key == "name" else fault(f"\n{line}\n")
    assert text.startswith("x.toml:13: channel")
    assert f": {key} " in text
    assert right in text


def test_every_key_has_a_wrong_value_above() -> None:
    assert {key.split(".")[0] for key, _, _ in WRONG} == set(KEYS)


def test_an_element_of_a_list_has_a_line_of_its_own() -> None:
    assert fault('publishers = [\n"a",\n"b c",\n]').startswith("x.toml:14: channel alerts: pub")
    assert fault('schema = { a = "bool", B = "int8", b = "int8" }').startswith(
        "x.toml:12: channel alerts: schema.b is wrong: B differs from it by case alone"
    )


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ('protocl = "ab"', "there is no key protocl: did you mean protocol?"),
        ("confirm = { evry = 5 }", "there is no key confirm.evry: did you mean every?"),
        ("retention = { megabytes = 5 }", "there is no key retention.megabytes: did you mean byt"),
        ("queue = { x = 5 }", "there is no key queue.x: there are events, overflow"),
        ('"a b" = 5', 'there is no key "a b": there are name, protection, order'),
    ],
)
def test_an_unknown_key_suggests_the_nearest(line: str, advice: str) -> None:
    text = fault(f"\n{line}")
    assert text.startswith("x.toml:13: channel alerts: ")
    assert advice in text


def test_a_channel_without_a_name() -> None:
    text = fault("", name="")
    assert text == 'x.toml:10: channel: name is missing: add name = "alerts"'


def test_protocols_go_with_their_protection() -> None:
    text = fault('protection = "cft"\nprotocol = "bracha"')
    assert text.startswith('x.toml:13: channel alerts: protocol = "bracha" does not go with')
    assert text.endswith('use "plain", or protection = "bft"')


def test_bracha_cannot_do_without_confirmation() -> None:
    text = fault('protocol = "bracha"\nconfirm = false', lab=True)
    assert text.startswith("x.toml:13: channel alerts: confirm = false cannot work with bracha")


def test_too_few_replicas_for_a_channel() -> None:
    text = fault('protocol = "ab"', replicas=3)
    assert text == (
        'x.toml:12: channel alerts: protocol = "ab" cannot work here: 3 replicas cannot tolerate '
        "1 Byzantine faults: use at least 4 replicas, or at most 0 faults"
    )
    assert fault("", replicas=3).startswith("x.toml:10: channel alerts: 3 replicas cannot")
    text = fault('protection = "cft"', replicas=2)
    assert text.endswith(', or deliver = "first" with f+1 replicas')


def test_too_many_patterns() -> None:
    many = ", ".join(f'"p{number}"' for number in range(65))
    assert fault(f"publishers = [{many}]").endswith("publishers has 65 entries: use at most 64")


# -- what it promises ------------------------------------------------------------------------------


def promise(channel: Channel, replicas: int = 4, faults: int = 1) -> str:
    names = tuple(f"r{number}" for number in range(replicas))
    cluster = Cluster(bytes(32), 1, names, faults, bytes(32), lab=True)
    return ChannelSettings(channel.check(cluster)).promise(cluster)


def test_promises_say_what_the_protocol_keeps() -> None:
    assert promise(Channel("x", "ab", alpha=50)).startswith(
        "While at most 1 of 4 replicas lies, all subscribers deliver all events of a correct "
        "publisher in its order, and differ by at most 100 publications"
    )
    assert "deliver the same events, of every publisher" in promise(Channel("x", "bracha"))
    assert "at most 2 of 7 replicas lie, " in promise(Channel("x", "bracha"), 7, 2)
    assert "some may miss events (lab only" in promise(Channel("x", "ab", confirm=False))
    assert "on 2 equal copies: no replica is expected to lie" in promise(Channel("x", "plain"))
    assert "on the first copy" in promise(Channel("x", "plain", deliver="first"))
    assert promise(Channel("x"), 1, 0).startswith("While no replica lies, ")


@pytest.mark.parametrize("protocol", ["ab", "bracha", "plain"])
def test_every_promise_says_that_events_are_in_memory(protocol: str) -> None:
    text = promise(Channel("x", protocol))  # type: ignore[arg-type]
    assert text.endswith("; events are kept in memory and do not outlive the cluster's run.")
    assert text.count(".") == 1, "one sentence"


def test_replicas_read_settings_without_arrow() -> None:
    code = "import sys, quorumcast.runtime.settings; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
