"""The soak itself: that it does its work, stops in time, and says how to see a failure again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from quorumcast.core.errors import ConfigError
from quorumcast.sim.run import prepare
from tests.soak import __main__ as command
from tests.soak.running import Result, soak
from tests.soak.work import MESSAGE_TYPES, WORKS, Piece, Work, at_most, messages, scenario
from tests.wire import fuzz


def numbers(piece: Callable[[int, int], Piece], total: int = 20) -> Work:
    return Work("numbers", "numbers", total, 4, 1.0, piece)


def soaked(work: Work, seconds: float = 60.0, first: int = 0) -> Result:
    ticks = count()
    with ThreadPoolExecutor(1) as pool:
        return soak(work, pool, 1, seconds, lambda: float(next(ticks)), lambda *_: None, first)


def test_a_small_soak_of_everything_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--seeds", "2", "--minutes", "1", "--workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("passed") == len(WORKS)
    assert f"{2 * len(MESSAGE_TYPES)} inputs" in printed


def test_it_does_every_number_once() -> None:
    done: list[int] = []

    def piece(first: int, many: int) -> Piece:
        done.extend(range(first, first + many))
        return Piece(many)

    assert soaked(numbers(piece, 18), first=100).done == 18
    assert sorted(done) == list(range(100, 118))


def test_the_first_failure_ends_it() -> None:
    result = soaked(numbers(lambda first, many: Piece(many, 0, "broken" if first >= 8 else "")))
    assert result.failure == "broken"
    assert result.done < 20


def test_it_stops_when_the_time_is_up() -> None:
    result = soaked(numbers(lambda first, many: Piece(many), 10_000), seconds=5.0)
    assert 0 < result.done < 100
    assert result.failure == ""


def test_too_many_runs_with_nothing_to_judge_are_a_failure() -> None:
    assert soaked(numbers(lambda first, many: Piece(many, 0))).failure == ""
    result = soaked(numbers(lambda first, many: Piece(many, many)))
    assert result.failure == "20 of 20 numbers had nothing to judge"


def test_a_failure_is_printed_and_gives_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Result(WORKS[0], 7, 0, "agreement: broken\nreplay with: quorumcast sim [x] --seed 6")
    monkeypatch.setattr(command, "soak_all", lambda *_: [failed])
    assert command.main([]) == 1
    assert "replay with: quorumcast sim [x] --seed 6" in capsys.readouterr().out


def test_a_decoder_that_fails_is_told_with_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(payload: bytes, detached: bytes) -> bool:
        raise KeyError(payload)

    monkeypatch.setattr(fuzz, "accepted", broken)
    piece = messages(10, 10)
    assert f"{MESSAGE_TYPES[1].__name__}, seed 1, case 0" in piece.failure
    assert f"fuzz({MESSAGE_TYPES[1].__name__}, 10, 1)" in piece.failure


def test_what_is_done_in_all() -> None:
    totals = {work.name: work.total for work in WORKS}
    assert totals == {
        "seeds": 100_000,
        "twins": 65_536,
        "messages": 1_000_000 * len(MESSAGE_TYPES),
        "bodies": 1_000_000,
    }
    assert sum(work.share for work in WORKS) == pytest.approx(1.0)
    assert [at_most(work, 50).total for work in WORKS] == [50, 50, 50 * len(MESSAGE_TYPES), 50]


def test_every_seed_draws_a_run_that_the_simulator_takes() -> None:
    drawn = [scenario(seed) for seed in range(300)]
    for each in drawn:
        try:
            prepare(each)
        except ConfigError as error:
            pytest.fail(f"{each}: {error}")
    assert {each.protocol for each in drawn} == {"ab", "bracha", "plain"}
    assert {each.replicas for each in drawn} == {4, 5, 6, 7, 10}
    assert any(each.confirm is False for each in drawn)
    assert scenario(7) == scenario(7)


def test_an_unknown_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["sedes"])
    assert "there is no kind sedes; there are: seeds, twins" in capsys.readouterr().err
