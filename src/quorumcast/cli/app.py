"""The application: its commands, and what is said of all of them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from quorumcast import __version__
from quorumcast.cli import cluster, running, talking
from quorumcast.cli.demo import EXAMPLES, demo
from quorumcast.cli.ending import INTERRUPTED
from quorumcast.cli.sim import sim

EPILOG = """
Examples:

quorumcast demo

quorumcast sim --protocol ab,bracha --adversary all --seeds 20

quorumcast sim --protocol ab --adversary equivocate --byzantine 2 --seeds 50

quorumcast sim --protocol bracha --adversary state-aware --seed 7 --transcript
"""

app = typer.Typer(
    name="quorumcast",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=EXAMPLES)(demo)
app.command(epilog=EPILOG)(sim)
cluster.register(app)
running.register(app)
talking.register(app)


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


def main() -> None:
    """The entry point of `quorumcast` and `qc`."""
    try:
        app()
    except KeyboardInterrupt:  # before or after the command itself, which ends by its own code
        sys.exit(INTERRUPTED)
