"""`quorumcast demo`: a minute with a liar in it, and figures that are true."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console
from typer.testing import CliRunner

from quorumcast.cli import app
from quorumcast.cli import demo as demo_module
from quorumcast.cli.demo import show
from quorumcast.core.limits import EVIDENCE_PER_STREAM
from quorumcast.sim.checkers import Violation
from quorumcast.sim.minute import Minute, kind, play, scenario_of, steady
from quorumcast.sim.schedule import Publish

QUORUMCAST = str(Path(sys.executable).with_name("quorumcast"))


@pytest.fixture(scope="module")
def minute() -> Minute:
    return play(7, "fickle")


def shown(minute: Minute) -> str:
    console = Console(width=120, record=True, file=StringIO(), highlight=False)
    show(minute, console)
    return console.export_text()


def test_a_minute_is_a_minute_of_steady_publishing() -> None:
    scenario = scenario_of(7, "fickle")
    ticks = [each.tick for each in steady(scenario) if isinstance(each, Publish)]
    assert (scenario.replicas, scenario.faults) == (4, 1)
    assert ticks[0] < 500
    assert 59_000 < ticks[-1] < 60_000
    pauses = [after - before for before, after in pairwise(ticks)]
    assert set(pauses) == {100}


def test_everything_arrives_and_the_liar_is_caught(minute: Minute) -> None:
    assert len(minute.liars) == 1
    (liar,) = minute.liars
    assert minute.seconds >= 60.0
    assert minute.published == {"p1": 300, "p2": 300}
    assert minute.acknowledged == 600
    assert minute.delivered == {"s1": 600, "s2": 600, "s3": 600}
    assert set(minute.lost.values()) == set(minute.altered.values()) == {0}
    assert sum(minute.lies.values()) > 1000
    assert {"withholds Held", "alters Held", "tells another story"} <= set(minute.lies)
    local = [each for each in minute.detected if each.weight == "local"]
    assert [each.against for each in local] == [(liar,)], "no correct party is convicted"
    everybody = {"p1", "p2", "s1", "s2", "s3", "r1", "r2", "r3", "r4"}
    assert set(local[0].by) == everybody - {liar}, "whoever hears the liar catches it"
    assert local[0].times >= EVIDENCE_PER_STREAM * len(local[0].by)
    assert all(liar in each.against for each in minute.detected)
    assert not minute.violations


def test_the_table_shows_the_figures(minute: Minute) -> None:
    text = shown(minute)
    (liar,) = minute.liars
    rows = {
        cells[1].strip(): cells[2].strip()
        for line in text.splitlines()
        if len(cells := line.split("│")) == 5
    }
    withheld = sum(n for what, n in minute.lies.items() if what.startswith("withholds"))
    altered = sum(n for what, n in minute.lies.items() if what.startswith("alters"))
    assert rows["published"] == "600"
    assert rows["delivered"] == "1,800"
    assert rows["lost"] == rows["falsified"] == "0"
    assert rows["withheld"] == f"{withheld:,}"
    assert rows["altered"] == f"{altered:,}"
    assert rows["detected: local"] == f"{minute.detected[0].times:,}"
    assert f"{liar} lies: " in text
    assert f"{sum(minute.lies.values()):,} lies later" in text
    assert "quorumcast sim --protocol ab,bracha --adversary all --seeds 20" in text


def test_losses_and_falsehoods_would_be_seen(minute: Minute) -> None:
    worse = replace(
        minute,
        lost={"s1": 2, "s2": 0, "s3": 0},
        altered={"s1": 0, "s2": 3, "s3": 0},
        delivered={"s1": 598, "s2": 600, "s3": 600},
        violations=(Violation("validity", "s1 never got two"),),
    )
    text = shown(worse)
    assert "events to s1: 598, s2: 600, s3: 600" in text
    assert "A promise was broken: validity: s1 never got two." in text
    assert "lies later" not in text


def test_a_real_process_shows_the_table_of_another_liar() -> None:
    done = subprocess.run(
        [QUORUMCAST, "demo", "--adversary", "withhold", "--seed", "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("A simulated minute: 4 replicas")
    assert re.search(r"withheld +│ +[\d,]{5,} │", done.stdout)
    assert re.search(r"detected +│ +0 │", done.stdout), "silence convicts nobody"
    assert "│ altered" not in done.stdout
    assert "Next:" in done.stdout


def test_json_has_the_same_figures(minute: Minute, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, str]] = []

    def played(seed: int, adversary: str) -> Minute:
        asked.append((seed, adversary))
        return minute

    monkeypatch.setattr(demo_module, "play", played)
    done = CliRunner().invoke(app, ["demo", "--json"])
    assert done.exit_code == 0
    assert asked == [(7, "fickle")]
    found = json.loads(done.stdout)
    assert found["published"] == {"p1": 300, "p2": 300}
    assert found["lies"] == minute.lies
    assert found["detected"][0]["against"] == list(minute.liars)


def test_a_broken_promise_fails(minute: Minute, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(minute, violations=(Violation("validity", "s1 never got two"),))
    monkeypatch.setattr(demo_module, "play", lambda *_: broken)
    assert CliRunner().invoke(app, ["demo"]).exit_code == 1


def test_a_wrong_liar_gets_one_sentence() -> None:
    done = CliRunner().invoke(app, ["demo", "--adversary", "loud"])
    assert done.exit_code == 2
    assert done.stderr.startswith("quorumcast: there is no adversary loud; there are: none")


@pytest.mark.parametrize(
    ("deed", "what"),
    [
        ("withholds Held from s1", "withholds Held"),
        ("votes to r1 for what it lacks at 12", "votes for what it lacks"),
        ("round 3: r1 talk to r4; r2 to r4'", "splits the world between its twins"),
        ("says nothing to p2", "says nothing"),
    ],
)
def test_deeds_are_counted_by_kind(deed: str, what: str) -> None:
    assert kind(deed) == what
