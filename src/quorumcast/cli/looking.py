"""A cluster and its channels as tables that fit 80 columns."""

from __future__ import annotations

import textwrap
import time
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quorumcast.cli.visible import visible

STYLES = {
    "ready": "green",
    "catching-up": "yellow",
    "abstaining": "yellow",
    "stopped": "red",
    "unreachable": "red",
}
"""How a replica's state is coloured, on a terminal."""

_WIDTH = 78


def show_status(found: dict[str, Any]) -> None:
    """Print what `LocalCluster.status` says."""
    console = Console(highlight=False, markup=False, emoji=False)
    lab = "  LAB" if found["lab"] else ""
    console.print(
        f"{visible(found['cluster'])}: {found['n']} replicas, {found['f']} may be faulty, "
        f"a quorum is {found['quorum']}{lab}",
        style="bold",
    )
    for line in _outlook(found):
        console.print(line)
    table = _table(("replica", 0), ("state", 0), ("address", 0), ("pid", 1), ("clients", 1))
    table.add_column("memory", justify="right")
    for each in found["replicas"]:
        memory = each.get("rss_bytes")
        state = each["state"]
        table.add_row(
            visible(each["name"]),
            Text(state, style=STYLES.get(state, "")),
            visible(each["address"]),
            str(each["pid"] or ""),
            "" if each.get("clients") is None else str(each["clients"]),
            f"{memory / 2**20:.0f} MiB" if memory else "",
        )
    console.print(table)
    for each in found["replicas"]:
        if note := _note(each):
            console.print(f"{visible(each['name'])} {note}")
    console.print("Each line is that replica's own statement.", style="dim")
    for each in found["suspected"]:
        console.print(_suspicion(each))


def _outlook(found: dict[str, Any]) -> list[str]:
    """How many more may fail, what to do if too many have, and of whom nothing is known."""
    not_asked = found["not_asked"]
    away = [
        each
        for each in found["replicas"]
        if each["state"] in ("stopped", "unreachable") and each["name"] not in not_asked
    ]
    left = found["f"] - len(away)  # as far as is known
    lines: list[str] = []
    if len(away) == found["n"] and all(each["state"] == "stopped" for each in away):
        lines.append("nothing runs: quorumcast up starts it")
    elif left < 0:
        lines.append(
            f"{-left} too many are away: publishing waits until they are back (quorumcast start)"
        )
    elif left == found["faults_left"]:
        lines.append(f"{left} more may fail" if left else "no more may fail")
    if not_asked:
        names = visible(", ".join(not_asked))
        lines.append(f"could not ask {names}: operator.key is not here")
    return lines


def _note(replica: dict[str, Any]) -> str:
    notes: list[str] = []
    if replica["state"] == "unreachable" and replica["pid"] is not None:
        notes.append("runs and does not answer: quorumcast stop ends it")
    if abstaining := replica.get("abstaining_streams"):
        notes.append(f"abstains in {_count(abstaining, 'stream')}")
    progress: dict[str, Any] = replica.get("progress") or {}
    if behind := progress.get("streams_behind"):
        notes.append(f"behind in {_count(behind, 'stream')}")
    return ", ".join(notes)


def _suspicion(each: dict[str, Any]) -> str:
    who = visible(" or ".join(each["parties"]))
    by = visible(", ".join(each["seen_by"]))
    last = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["last"]))
    times = _count(each["count"], "time")
    return f"{each['grade']}: {who}: {visible(each['kind'])} ({times}, last {last}, by {by})"


def show_channels(found: list[dict[str, Any]]) -> None:
    """Print channels as `channels --json` has them."""
    if not found:
        print("no channels: quorumcast channel add NAME makes one")
        return
    console = Console(highlight=False, markup=False, emoji=False)
    table = _table(("channel", 0), ("protocol", 0), ("may publish", 0), ("may subscribe", 0))
    runs = any(each["held"] is not None for each in found)
    for title in ("held", "confirmed", "connected") if runs else ():
        table.add_column(title, justify="right")
    for each in found:
        settings = each["settings"]
        row = [visible(each["name"]), settings["protocol"]]
        row += [visible(", ".join(settings[who]) or "nobody") for who in _WHO]
        if runs:
            row += [_number(each["held"]), _number(each["confirmed"]), _connected(each)]
        table.add_row(*row)
    console.print(table)
    if runs:
        told = "Publications that replicas hold; publishers + subscribers connected now."
        console.print(told, style="dim")
    for each in found:
        promise = f"{visible(each['name'])}: {visible(each['promise'])}"
        print(textwrap.fill(promise, _WIDTH, subsequent_indent="  ", break_on_hyphens=False))


_WHO = ("publishers", "subscribers")


def _number(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def _connected(channel: dict[str, Any]) -> str:
    return "?" if channel["held"] is None else " + ".join(_number(channel[who]) for who in _WHO)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _table(*columns: tuple[str, int]) -> Table:
    """A table without lines, which other programs can read as well."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title, right in columns:
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    return table
