"""`quorumcast channels`, `channel add` and `channel sign`: what the operator says of channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorumcast.cli.completing import one_of
from quorumcast.cli.folders import Json, Where, as_json, folder_ending, run
from quorumcast.core.errors import ConfigError
from quorumcast.runtime.finding import find_cluster

if TYPE_CHECKING:
    from quorumcast.runtime.channels import ChannelSettings
    from quorumcast.runtime.settings import ClusterFile
    from quorumcast.runtime.spreading import Spread

CHANNELS_EXAMPLES = """
Examples:

quorumcast channels

quorumcast channels --cluster demo --json
"""
ADD_EXAMPLES = """
Examples:

quorumcast channel add trades --publishers 'desk-*' --subscribers 'desk-*,audit'

quorumcast channel add alarms --protocol bracha --publishers probe-7 --schema severity=int8

quorumcast channel add load --protection cft --publishers '*' --overflow drop-oldest --ttl 10m
"""
SIGN_EXAMPLES = """
Examples:

quorumcast channel sign

quorumcast channel sign --cluster demo
"""

Publishers = Annotated[str, typer.Option(help="Who may publish: names or patterns, with commas.")]
Subscribers = Annotated[str, typer.Option(help="Who may subscribe, likewise.")]
Protection = Annotated[
    str | None, typer.Option(help="bft or cft.", autocompletion=one_of("bft", "cft"))
]
Protocol = Annotated[
    str | None,
    typer.Option(
        help="ab or bracha; plain for cft.", autocompletion=one_of("ab", "bracha", "plain")
    ),
]
Confirm = Annotated[str | None, typer.Option(help="α in publications, or false in a lab cluster.")]
Within = Annotated[
    str | None, typer.Option(help="How long a tail may stay unconfirmed, such as 250ms.")
]
Deliver = Annotated[
    str | None,
    typer.Option(help="With cft: safe or first.", autocompletion=one_of("safe", "first")),
]
Most = Annotated[int | None, typer.Option(help="At one time; 0: any number.")]
Attributes = Annotated[
    str | None, typer.Option("--schema", help="Attributes: severity=int8,host=string.")
]
Events = Annotated[int | None, typer.Option(help="Events that replicas keep of a stream.")]
Age = Annotated[str | None, typer.Option(help="How long they do, such as 24h.")]
Size = Annotated[str | None, typer.Option(help="How many bytes of them, such as 1GiB.")]
Unread = Annotated[int | None, typer.Option(help="Events that a client keeps unread.")]
Overflow = Annotated[
    str | None,
    typer.Option(
        help="And then: lag, drop-oldest, drop-newest or block.",
        autocompletion=one_of("lag", "drop-oldest", "drop-newest", "block"),
    ),
]
OnGap = Annotated[
    str | None, typer.Option(help="fail or continue.", autocompletion=one_of("fail", "continue"))
]
Ttl = Annotated[str | None, typer.Option(help="Events older than this are of no use.")]
Signed = Annotated[bool, typer.Option("--signed", help="Publications are signed.")]
Durability = Annotated[str | None, typer.Option(help="memory, until there is a log.")]
Trusted = Annotated[str, typer.Option(help="Who may block, with commas.")]


def channels(*, cluster: Where = None, json: Json = False) -> None:
    """Show the channels: their settings, and what each promises."""
    from quorumcast.runtime.settings import load_cluster

    with folder_ending():
        found = load_cluster(find_cluster(cluster))
        live = run(_live(found))
        shown = [_channel(each, found, live) for each in found.settings]
        if json:
            print(as_json(shown))
            return
        from quorumcast.cli.looking import show_channels

        show_channels(shown)


def channel_add(
    name: Annotated[str, typer.Argument(help="What it is called.")],
    *,
    publishers: Publishers = "",
    subscribers: Subscribers = "*",
    protection: Protection = None,
    protocol: Protocol = None,
    confirm: Confirm = None,
    within: Within = None,
    deliver: Deliver = None,
    max_publishers: Most = None,
    max_subscribers: Most = None,
    schema: Attributes = None,
    retention_events: Events = None,
    retention_age: Age = None,
    retention_bytes: Size = None,
    queue: Unread = None,
    overflow: Overflow = None,
    on_gap: OnGap = None,
    ttl: Ttl = None,
    signed: Signed = False,
    durability: Durability = None,
    trusted_subscribers: Trusted = "",
    cluster: Where = None,
    json: Json = False,
) -> None:
    """Add a channel and sign it as the operator."""
    from quorumcast.runtime.changing import add_channel
    from quorumcast.runtime.spreading import spread

    with folder_ending():
        values = {
            "name": name,
            "protection": protection if protection or protocol != "plain" else "cft",
            "protocol": protocol,
            "confirm": _confirm(confirm, within),
            "deliver": deliver,
            "publishers": _list(publishers),
            "subscribers": _list(subscribers),
            "max_publishers": max_publishers,
            "max_subscribers": max_subscribers,
            "schema": _schema(schema),
            "retention": _table(events=retention_events, age=retention_age, bytes=retention_bytes),
            "queue": _table(events=queue, overflow=overflow),
            "on_gap": on_gap,
            "ttl": ttl,
            "signed": signed,
            "durability": durability,
            "trusted_subscribers": _list(trusted_subscribers),
        }
        folder = find_cluster(cluster)
        given = {key: value for key, value in values.items() if value is not None}
        found, settings = add_channel(folder, given)
        known = run(spread(found))
        if json:
            made = {**_channel(settings, found, {}), "version": found.charter.version}
            print(as_json({**made, **spread_json(known)}))
            return
        _tell_added(settings, found, known)


def _tell_added(settings: ChannelSettings, found: ClusterFile, known: Spread) -> None:
    print(f"Added channel {settings.name} to {found.path} (version {found.charter.version}).")
    print(known.text())
    print(settings.promise(found.manifest.cluster()))
    if not settings.channel.publishers:
        print("Nobody may publish on it: name publishers there, then quorumcast channel sign.")


def channel_sign(*, cluster: Where = None, json: Json = False) -> None:
    """Sign channels and revoked names in cluster.toml that were edited by hand."""
    from quorumcast.runtime.changing import sign_again
    from quorumcast.runtime.spreading import spread

    with folder_ending():
        found, changed = sign_again(find_cluster(cluster))
        version = found.charter.version
        known = run(spread(found))
        if json:
            made = {"file": str(found.path), "version": version, "changed": changed}
            print(as_json({**made, **spread_json(known)}))
            return
        said = f"Signed {found.path} as version {version}."
        print(said if changed else f"{found.path} is signed as it is: version {version}.")
        print(known.text())


def spread_json(known: Spread) -> dict[str, Any]:
    """Which replicas have a change, for `--json`.

    >>> from quorumcast.runtime.spreading import Spread
    >>> spread_json(Spread(4, 4, 0, 0, ()))["replicas_here"]
    {'have_it': 4, 'of': 4}
    """
    return {
        "replicas_here": {"have_it": known.here, "of": known.of_here},
        "replicas_elsewhere": {"have_it": known.elsewhere, "of": known.of_elsewhere},
        "faults": list(known.faults),
    }


# -- arguments and output --------------------------------------------------------------------------


async def _live(cluster: ClusterFile) -> dict[str, dict[str, int]]:
    """What running replicas say, here and on other hosts."""
    from quorumcast.runtime.local import LocalCluster

    return await LocalCluster(cluster.path.parent, anywhere=True).channels()


def _channel(
    settings: ChannelSettings, cluster: ClusterFile, live: dict[str, dict[str, int]]
) -> dict[str, Any]:
    """A channel for `--json`; what only running replicas know is null while too few run."""
    from quorumcast.runtime.survey import LIVE

    return {
        "name": settings.name,
        "settings": settings.table(),
        "promise": settings.promise(cluster.manifest.cluster()),
        **dict.fromkeys(LIVE),
        **live.get(settings.name, {}),
    }


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _table(**values: object) -> dict[str, object] | None:
    return {key: value for key, value in values.items() if value is not None} or None


def _confirm(every: str | None, within: str | None) -> dict[str, object] | bool | None:
    if every is not None and every.lower() == "false":
        if within is not None:
            raise ConfigError("--confirm false and --within exclude each other: use one of them")
        return False
    if every is not None and not every.isdecimal():
        raise ConfigError(f"--confirm {every}: use a number of publications, or false")
    return _table(every=None if every is None else int(every), within=within)


def _schema(text: str | None) -> dict[str, str] | None:
    if text is None:
        return None
    found: dict[str, str] = {}
    for each in _list(text):
        name, equals, kind = each.partition("=")
        if not equals or name in found:
            raise ConfigError(
                f"--schema {each}: use NAME=TYPE once for each attribute, "
                "such as severity=int8,host=string"
            )
        found[name] = kind
    return found
