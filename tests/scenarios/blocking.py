"""A channel that trusts a subscriber B with stopping it, for the scenarios of rule 17."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from quorumcast.client.reader import Reader
from quorumcast.core.ids import Party
from tests.scenarios.stage import Stage
from tests.scenarios.story import CHANNEL

ALL = "r1 r2 r3 r4"
WINDOW = 8
LONG = "abcdefghijklmnopqrstuvwxyz" * 4


def small_windows() -> Iterator[None]:
    """Windows that a scenario can fill; chunks of the log are not larger than they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorumcast.client.reading.SUBSCRIBER_WINDOW", WINDOW)
        patch.setattr("quorumcast.broker.subscriptions.READ_POSITIONS", WINDOW)
        yield


def blocker(stage: Stage, name: Party = "B", *, blocks: bool = True, **how: Any) -> Reader:
    """A subscriber that lets publishers wait for it."""
    machine = Reader(name, stage.cluster, stage.channels)
    machine.at(stage.now)
    machine.subscribe(
        CHANNEL, how.get("patterns", ("*",)), how.get("start", "earliest"), blocks=blocks
    )
    stage._enter(name, machine)
    return machine


def play(scripted: str = "", **channel: Any) -> Stage:
    """A channel that trusts B, with B and a publisher p."""
    stage = Stage(scripted=scripted, alpha=50, trusted_subscribers=("B*",), **channel)
    blocker(stage)
    stage.publisher("p")
    return stage


def hold(stage: Stage, name: Party = "B") -> None:
    stage._do(name, lambda machine: machine.hold(CHANNEL))
    stage.flush()


def release(stage: Stage, name: Party = "B") -> None:
    stage._do(name, lambda machine: machine.release(CHANNEL))
    stage.flush()


def stopped(stage: Stage, text: str = LONG) -> int:
    """B stops reading, p publishes; returns how many of p's publications are acknowledged."""
    stage.publish("p", "ab")
    stage.run(1.0)
    hold(stage)
    stage.publish("p", text)
    stage.run(30.0)
    return stage.acknowledged("p")
