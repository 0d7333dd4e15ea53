"""Runs of programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import voltsim


def test_functional_run_has_output_and_no_statistics(demo: str) -> None:
    run = voltsim.run(demo)
    assert "0 of 307200 points wrong" in run.stdout
    assert run.statistics is None
    with pytest.raises(voltsim.VoltsimError, match="mode='detailed'"):
        run.launches  # noqa: B018


def test_timed_run_has_one_row_for_each_launch(demo: str) -> None:
    run = voltsim.run([demo], mode="detailed", gpu="v100")
    assert run.gpu == "v100"
    assert run.launches.column("kernel") == ["mandelbrot", "sum"]
    assert sum(run.launches.column("warp_instructions")) > 0
    assert run.cycles >= max(run.launches.column("cycles"))
    assert run.counter("issue.issued") > 0


def test_gpu_alone_times_the_launches(demo: str) -> None:
    assert voltsim.run(demo, gpu="titan-v").statistics is not None


def test_settings_change_the_cycles(demo: str) -> None:
    slow = voltsim.run(demo, settings={"clocks.dram": 200})
    assert slow.cycles > voltsim.run(demo, mode="detailed").cycles


def test_saved_statistics_load_as_the_same_run(demo: str, tmp_path: Path) -> None:
    run = voltsim.run(demo, mode="detailed")
    run.save(tmp_path / "run.json")
    assert voltsim.load(tmp_path / "run.json").launches.column("cycles") == run.launches.column(
        "cycles"
    )


def test_file_without_statistics_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([1]))
    with pytest.raises(voltsim.VoltsimError, match="holds no statistics") as error:
        voltsim.load(tmp_path / "x.json")
    assert error.value.remedy is not None


def test_status_of_a_program_is_a_programs_failure() -> None:
    with pytest.raises(voltsim.ProgramFailed) as error:
        voltsim.run(["/bin/sh", "-c", "echo broken >&2; exit 7"])
    assert error.value.status == 7
    assert "broken" in str(error.value)


def test_mistake_in_a_setting_is_the_commands_error(demo: str) -> None:
    with pytest.raises(voltsim.VoltsimError) as error:
        voltsim.run(demo, settings={"l1.seize": 1})
    assert not isinstance(error.value, voltsim.ProgramFailed)
    assert "l1.seize" in error.value.message


def test_run_that_takes_too_long_is_ended(demo: str) -> None:
    with pytest.raises(voltsim.VoltsimError, match="longer than"):
        voltsim.run(["/bin/sleep", "60"], timeout=0.5)


def test_unknown_counter_is_refused(demo: str) -> None:
    with pytest.raises(voltsim.VoltsimError, match="no counter"):
        voltsim.run(demo, mode="detailed").counter("l1.nothing")


def test_notebook_shows_the_report(demo: str) -> None:
    page = voltsim.run(demo, mode="detailed")._repr_html_()
    assert page.startswith("<iframe") and "mandelbrot" in page and "titan-v" in page
