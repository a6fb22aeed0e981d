"""The application: its commands, and what is said of all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from quorumcast import __version__
from quorumcast.cli.ending import INTERRUPTED

EPILOG = """
Examples:

quorumcast up --detach

quorumcast pub events "disk failing" --key db-3

quorumcast sub events --from earliest

quorumcast demo

quorumcast sim --protocol ab,bracha --adversary all --seeds 20
"""


# -- where commands come from ----------------------------------------------------------------------


def _demo(part: typer.Typer) -> None:
    from quorumcast.cli.demo import EXAMPLES, demo

    part.command(epilog=EXAMPLES)(demo)


def _sim(part: typer.Typer) -> None:
    from quorumcast.cli.sim import EXAMPLES, sim

    part.command(epilog=EXAMPLES)(sim)


def _cluster(part: typer.Typer) -> None:
    from quorumcast.cli.cluster import register

    register(part)


def _running(part: typer.Typer) -> None:
    from quorumcast.cli.running import register

    register(part)


def _publishing(part: typer.Typer) -> None:
    from quorumcast.cli.publishing import register

    register(part)


def _reading(part: typer.Typer) -> None:
    from quorumcast.cli.reading import register

    register(part)


class Source(NamedTuple):
    """Where a command is found, and the line about it in the help of all."""

    add: Callable[[typer.Typer], None]
    """Imports the command's module, and adds what is in it."""
    help: str


COMMANDS = {
    "demo": Source(
        _demo, "Show what this is for: four replicas here, probes of this host, a replica killed."
    ),
    "sim": Source(
        _sim, "Run clusters with liars in a deterministic world, and check every promise."
    ),
    "init": Source(
        _cluster, "Make a cluster: cluster.toml, keys, example channels, and the identity `local`."
    ),
    "up": Source(
        _running,
        "Run the replicas of a cluster on this host; make the cluster first where there is none.",
    ),
    "down": Source(_running, "Stop the replicas of a cluster that run on this host."),
    "status": Source(
        _running,
        "What the replicas say of themselves; those of other hosts say it to the operator alone.",
    ),
    "start": Source(_running, "Start one replica of this host again, in the background."),
    "stop": Source(_running, "Stop one replica of this host."),
    "replica": Source(
        _running,
        "Run one replica in the foreground: what `up` does for each, and what a service runs.",
    ),
    "pub": Source(
        _publishing,
        "Publish events: arguments, files, made-up ones, or else the lines of standard input.",
    ),
    "sub": Source(
        _reading, "Print events as they come, each with how many replicas vouched for it."
    ),
    "channels": Source(_cluster, "Show the channels: their settings, and what each promises."),
    "channel": Source(_cluster, "Add a channel, or sign edited ones."),
    "keys": Source(_cluster, "Add and revoke the identities of clients."),
}


class Commands(TyperGroup):
    """The commands by name; the module of one is imported when it is called, and no other.

    So neither the help of all of them nor a shell's completion waits for imports.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; one that nobody called yet has a name and a line of help."""
        known = self.commands.get(cmd_name)
        if known is None and cmd_name in COMMANDS:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help)
        return known

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with its module."""
        if args and args[0] in COMMANDS:
            self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> Any:
        """Import a command's module; returns the command.

        >>> Commands().load("sub").name
        'sub'
        """
        if name not in self.commands:
            part = typer.Typer()
            part.callback()(lambda: None)  # else one command alone would be no group
            COMMANDS[name].add(part)
            group: Any = typer.main.get_group(part)
            self.commands.update(group.commands)
        return self.commands[name]


app = typer.Typer(
    name="quorumcast",
    cls=Commands,
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"quorumcast {__version__}")
        raise typer.Exit


@app.callback()
def common(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """A publish/subscribe broker that keeps its promises while some of its servers lie."""


def _open_standard_files() -> None:
    """Where a caller closed one (`<&-`), the next file that we open would take its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def main() -> None:
    """The entry point of `quorumcast` and `qc`."""
    _open_standard_files()
    try:
        app()
    except KeyboardInterrupt:  # before or after the command itself, which ends by its own code
        sys.exit(INTERRUPTED)
