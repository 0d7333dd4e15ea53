"""Captures, checkpoints, plans, the cache model and reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import voltsim


def test_report_is_one_page_with_the_kernels(demo: str, tmp_path: Path) -> None:
    run = voltsim.run(demo, mode="detailed", series="auto")
    page = run.report(tmp_path / "run.html").read_text(encoding="utf-8")
    assert "mandelbrot" in page and "</html>" in page
    assert "srcdoc=" in run._repr_html_()


def test_report_compares_two_runs(demo: str, tmp_path: Path) -> None:
    first = voltsim.run(demo, gpu="v100")
    second = voltsim.run(demo, gpu="titan-v")
    page = first.report(tmp_path / "both.html", other=second).read_text(encoding="utf-8")
    assert "v100" in page and "titan-v" in page


def test_series_are_part_of_the_statistics(demo: str) -> None:
    run = voltsim.run(demo, series=500)
    assert run.statistics is not None
    assert "series" in run.statistics["launches"][0]


def test_captured_launch_replays_with_its_results(demo: str, tmp_path: Path) -> None:
    captures = voltsim.capture(demo, tmp_path / "launches", results=True)
    assert [(one.launch, one.kernel) for one in captures] == [(1, "mandelbrot"), (2, "sum")]
    assert "the results are the captured ones" in captures[1].replay()


def test_capture_of_no_launch_is_an_error(demo: str, tmp_path: Path) -> None:
    with pytest.raises(voltsim.VoltsimError, match="no launch was captured"):
        voltsim.capture(demo, tmp_path / "launches", launches="kernel=nothing")


def test_resumed_run_prints_as_the_whole_run(demo: str, tmp_path: Path) -> None:
    saved = voltsim.checkpoint(demo, tmp_path / "two.vck", at="kernel=2")
    saved.verify()
    assert "launch 2, kernel sum" in saved.info()
    run = saved.resume(demo, gpu="titan-v")
    assert "0 of 307200 points wrong" in run.stdout
    assert run.launches.column("kernel") == ["sum"]


def test_damaged_checkpoint_is_an_error(demo: str, tmp_path: Path) -> None:
    saved = voltsim.checkpoint(demo, tmp_path / "two.vck", at="kernel=2")
    saved.file.write_bytes(saved.file.read_bytes()[:-100])
    with pytest.raises(voltsim.VoltsimError):
        saved.verify()


def test_estimate_of_a_plan_is_near_the_whole_run(demo: str, tmp_path: Path) -> None:
    estimate = voltsim.plan(demo, tmp_path / "plan.toml").estimate(gpu="v100", within=0.05)
    whole = voltsim.run(demo, gpu="v100")
    assert estimate.gpu == "v100" and estimate.bound <= 0.05
    assert abs(estimate.cycles / whole.cycles - 1) < 0.05
    assert set(estimate.kernels.column("kernel")) == {"mandelbrot", "sum"}


def test_cache_model_counts_misses_by_kind(demo: str, tmp_path: Path) -> None:
    table = voltsim.cache_model(demo, gpu="v100", sweep="l1.size=32..64KiB")
    rows = [row for row in table if row["kernel"] == "sum"]
    assert len(rows) == 2
    for row in rows:
        kinds = [count for key, count in row.items() if key.startswith("misses.")]
        assert row["accesses"] == row["hits"] + sum(kinds) > 0
    stream = voltsim.record(demo, tmp_path / "sum.vks", launches="kernel=sum")
    assert voltsim.cache_model(stream, gpu="v100").column("kernel") == ["sum"]


def test_recorded_launches_are_timed(demo: str, tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    voltsim.command.invoke(["record", "--output", folder, "--only", "kernel=sum", "--", demo])
    assert voltsim.time(folder, gpu="v100").launches.column("kernel") == ["sum"]


def test_correlation_has_an_error_for_each_metric(demo: str, tmp_path: Path) -> None:
    run = voltsim.run(demo, gpu="v100")
    cycles = run.launches.column("cycles")
    table = tmp_path / "card.csv"
    lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
    for number, (kernel, count) in enumerate(zip(("mandelbrot", "sum"), cycles)):
        lines.append(f'"{number}","{kernel}","gpc__cycles_elapsed.max","cycle","{count * 2}"')
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    document = voltsim.correlate(run, table)
    assert [metric["bias"] for metric in document["metrics"]] == [-50.0]
    launches = document["programs"][0]["launches"]
    assert [launch["kernel"] for launch in launches] == ["mandelbrot", "sum"]
