"""`quorumcast sim` as its users meet it: output, exit codes, replay, interruption."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from quorumcast import __version__
from quorumcast.cli import app
from quorumcast.cli import sim as sim_module
from quorumcast.cli.app import Commands
from quorumcast.cli.telling import show_report
from quorumcast.sim.adversaries import REGISTRY
from quorumcast.sim.checkers import CHECKERS, Violation
from quorumcast.sim.report import Failure, Report
from quorumcast.sim.scenario import Scenario
from quorumcast.sim.shrink import Shrunk

QUORUMCAST = str(Path(sys.executable).with_name("quorumcast"))
SHORT = ("--publications", "3", "--seconds", "1.5")
BROKEN = ("--protocol", "ab", "--adversary", "collude", "--byzantine", "2")
COUNTS = (
    "runs",
    "violations",
    "deliveries",
    "publications",
    "delivered",
    "adversary_actions",
    "crashes",
    "lost_messages",
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["sim", *arguments])


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [QUORUMCAST, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


# -- what it prints ----------------------------------------------------------------------------


def test_a_real_process_runs_the_command_and_says_that_all_is_well() -> None:
    done = shell("sim", "--adversary", "silent", "--seeds", "1", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "ab, bracha, 4 replicas of which 1 may be faulty" in done.stdout
    assert "adversary silent played by 1: 2 runs" in done.stdout
    assert done.stdout.endswith("Every promise was kept.\n")
    assert done.stderr == "", "no progress bar where nobody looks"


def test_json_ends_with_one_object_of_counts() -> None:
    done = call("--adversary", "alter,silent", "--seeds", "2", "--no-crashes", "--json", *SHORT)
    assert done.exit_code == 0
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(COUNTS) <= set(found)
    assert found["runs"] == 2 * 2 * 2
    assert found["violations"] == found["vacuous"] == 0
    assert found["failures"] == []
    assert found["publications"] == found["runs"] * 2 * 3
    assert found["delivered"] > 0
    assert found["deliveries"] > found["delivered"]
    assert found["adversary_actions"] > 0
    assert found["lost_messages"] > 0
    assert found["crashes"] == 0


def test_counts_do_not_depend_on_the_number_of_processes() -> None:
    arguments = ("--adversary", "alter", "--seeds", "8", "--json", *SHORT)
    assert call(*arguments, "--jobs", "2").stdout == call(*arguments, "--jobs", "1").stdout


def test_plain_runs_against_crashes_alone() -> None:
    done = call("--protocol", "plain", "--replicas", "3", "--adversary", "all", "--seeds", "2")
    assert done.exit_code == 0
    assert "adversary none: 2 runs" in done.stdout


def test_one_seed_with_its_transcript() -> None:
    done = call("--protocol", "ab", "--seed", "3", "--transcript", *SHORT)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("   0.001  r1 -> r2 r3 r4  HELLO")
    assert any("s1 delivers alerts/p1/" in line for line in lines)
    assert lines[-1] == "Every promise was kept."
    assert "seed 3" in done.stdout
    assert call("--protocol", "ab", "--seed", "3", "--transcript", *SHORT).stdout == done.stdout


def test_the_transcript_is_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [QUORUMCAST, "sim", *BROKEN[:4], "--seed", "1", "--transcript", *SHORT],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": order},
            timeout=120,
        ).stdout
        for order in ("1", "2")
    }
    assert len(texts) == 1, "nothing may depend on the order of a set"
    assert b" takes a side with " in texts.pop()


# -- failures ----------------------------------------------------------------------------------


def test_beyond_the_bound_violations_are_found_and_replayed_by_the_printed_command() -> None:
    done = call(*BROKEN, "--seeds", "1", "--no-shrink", *SHORT)
    assert done.exit_code == 1
    assert "runs broke a promise." in done.stdout
    assert "the smallest run" not in done.stdout
    (replay,) = re.findall(r"replay: (.*)", done.stdout)
    words = shlex.split(replay)
    assert words[0] == "quorumcast"
    again = shell(*words[1:], "--json")
    assert again.returncode == 1
    found = json.loads(again.stdout)
    assert (found["runs"], found["violations"]) == (1, 1)
    (failure,) = found["failures"]
    assert f"\nseed {failure['seed']}: {failure['text']}\n" in done.stdout
    assert failure["command"] == replay
    assert failure["rule"] == "agreement"
    assert "the smallest run found that breaks the same promise" in found["shrunk"]
    assert "takes a side with" in found["shrunk"]


def test_the_shrunk_run_is_shown_below_the_failures() -> None:
    small = Shrunk(Scenario(), (), frozenset(), (), (), ("   0.005  s1 does",), 9, 5, 7)
    broken = Failure(Scenario(seed=4), (Violation("agreement", "they differ"),))
    report = Report(runs=12, violations=11, failures=[broken] * 11)
    with redirect_stdout(StringIO()) as out:
        show_report(report, [Scenario(seed=seed) for seed in range(12)], small)
    text = out.getvalue()
    assert text.count("seed 4: agreement: they differ") == 10
    assert "... and 1 more" in text
    assert text.index("... and 1 more") < text.index("   0.005  s1 does")
    assert text.endswith("11 of 12 runs broke a promise.\n")


def test_a_vacuous_run_fails_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Report(runs=1, vacuous=1, failures=[Failure(Scenario(seed=4), (), "nothing happened")])
    monkeypatch.setattr(sim_module, "campaign", lambda *_: iter([empty]))
    done = call("--protocol", "ab", "--seed", "4")
    assert done.exit_code == 1
    assert "seed 4: vacuous: nothing happened" in done.stdout
    assert "1 of 1 runs were vacuous" in done.stdout


# -- usage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--replicas", "3"), "3 replicas cannot tolerate 1 Byzantine faults"),
        (("--adversary", "loud"), "there is no adversary loud; there are: none, all, silent"),
        (("--protocol", "tcp"), "there is no protocol tcp; there are: ab, bracha, plain"),
        (("--protocol", "bracha", "--confirm", "false"), "use --confirm with a number"),
        (("--confirm", "often"), "--confirm often: use a number of publications, or false"),
        (("--protocol", "plain", "--adversary", "alter"), "plain replicas crash and do not lie"),
        (("--loss", "1.5"), "loss = 1.5 is out of range"),
        (("--byzantine", "9", "--adversary", "alter"), "9 Byzantine replicas of 4: use 0 to 4"),
        (("--seeds", "3", "--seed", "1"), "use one of the two"),
        (("--seeds", "0"), "--seeds 0: use 1 or more"),
        (("--jobs", "0"), "--jobs 0: use 1 or more"),
        (("--seconds", "0"), "--seconds 0: use 1 to 86400 virtual seconds"),
        (("--transcript",), "use it with --seed"),
        (("--transcript", "--seed", "1"), "one protocol and one adversary"),
    ],
)
def test_a_wrong_setting_gets_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.startswith("quorumcast: ")
    assert done.stderr.count("\n") == 1


def test_a_wrong_setting_of_a_real_process_has_no_traceback() -> None:
    done = shell("sim", "--replicas", "2")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert shell("sim", "--wrong").returncode == 2


def test_version_and_help() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["--version"]).stdout == f"quorumcast {__version__}\n"
    shown = runner.invoke(app, ["--help"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0
    assert "quorumcast sim --protocol ab,bracha --adversary all --seeds 20" in shown.stdout
    assert "--byzantine-publisher" in call("--help").stdout


# -- terminals and signals ---------------------------------------------------------------------


def on_terminal(*arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """A process whose standard error is a terminal, and our end of it."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [QUORUMCAST, *arguments], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    return process, ours


def read_until(descriptor: int, text: bytes) -> bytes:
    """What a terminal shows, up to and including a text, or all of it."""
    seen = b""
    while text not in seen:
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # Linux says so when the other end is closed
            part = b""
        if not part:
            break
        seen += part
    return seen


def test_progress_is_shown_on_a_terminal() -> None:
    process, ours = on_terminal("sim", "--protocol", "ab", "--seeds", "3", "--json", *SHORT)
    shown = read_until(ours, b"never")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert b"3/3" in shown
    assert json.loads(out)["runs"] == 3, "results go elsewhere"


def test_an_interrupt_ends_all_processes_with_its_own_code() -> None:
    process, ours = on_terminal("sim", "--seeds", "5000", "--jobs", "2")
    assert b"runs" in read_until(ours, b"runs")
    process.send_signal(signal.SIGINT)
    rest = read_until(ours, b"never")  # the terminal closes once the workers are gone, too
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 130
    assert b"interrupted" in rest
    assert b"Traceback" not in rest + out


# -- the page about it -------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "simulator.md"


def rows(heading: str) -> list[str]:
    """The names in the first column of the table below a heading."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)


def test_the_page_lists_every_adversary_and_every_checker() -> None:
    assert rows("Adversaries") == list(REGISTRY)
    assert sorted(rows("Checkers")) == sorted(CHECKERS)


def test_the_page_names_every_option() -> None:
    sim = Commands().load("sim")
    options = {option for each in sim.params for option in each.opts}
    assert len(options) > 15
    missing = {option for option in options if f"`{option}" not in PAGE.read_text()}
    assert missing <= {"--crashes", "--shrink"}, "the page has what switches them off"


def test_the_pages_commands_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def campaign(scenarios: list[Scenario], workers: int) -> Iterator[Report]:
        ran.append(len(scenarios))
        return iter([Report(runs=len(scenarios))])

    monkeypatch.setattr(sim_module, "campaign", campaign)
    commands = re.findall(r"^quorumcast sim ([^#\n]*)", PAGE.read_text(), re.MULTILINE)
    for command in commands:
        assert call(*shlex.split(command)).exit_code == 0, command
    assert len(ran) == len(commands) >= 5


def test_the_pages_program_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(program, {})
