"""Sweeps over configurations."""

from __future__ import annotations

import json
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import pytest

import voltsim

SETTINGS = {"clocks.dram": [400, 850], "l1.latency": [28, 60]}


def test_sweep_has_a_row_for_each_combination(demo: str) -> None:
    sweep = voltsim.sweep(demo, SETTINGS, gpus=["titan-v", "v100"])
    assert len(sweep.table) == 8
    assert {row["gpu"] for row in sweep.table} == {"titan-v", "v100"}
    best = sweep.best()
    assert min(sweep.table.column("cycles")) == sweep.runs[sweep.points.index(best)].cycles


def test_any_executor_gives_the_same_cycles(demo: str) -> None:
    settings = {"clocks.dram": [400, 850]}
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        tables = [
            voltsim.sweep(demo, settings, executor=pool).table for pool in (threads, processes)
        ]
    assert tables[0].column("cycles") == tables[1].column("cycles")


def test_kept_results_are_read_and_not_timed_again(demo: str, tmp_path: Path) -> None:
    settings = {"clocks.dram": [850]}
    first = voltsim.sweep(demo, settings, results=tmp_path)
    (file,) = tmp_path.glob("*.json")
    document = json.loads(file.read_text())
    document["total"]["cycles"] += 1
    file.write_text(json.dumps(document))
    again = voltsim.sweep(demo, settings, results=tmp_path)
    assert again.table[0]["cycles"] == first.table[0]["cycles"] + 1


class _LosesFirst(ThreadPoolExecutor):
    """Loses the first future of every task, as a worker that is killed does."""

    def __init__(self) -> None:
        super().__init__(1)
        self.seen: set[str] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        key = repr(args)
        if key not in self.seen:
            self.seen.add(key)
            lost: Future[Any] = Future()
            lost.set_exception(RuntimeError("the worker is lost"))
            return lost
        return super().submit(fn, *args, **kwargs)


def test_lost_worker_is_repeated(demo: str) -> None:
    settings = {"clocks.dram": [400, 850]}
    with _LosesFirst() as executor:
        lossy = voltsim.sweep(demo, settings, executor=executor)
    assert lossy.table.column("cycles") == voltsim.sweep(demo, settings).table.column("cycles")


def test_mistake_in_a_key_ends_the_sweep(demo: str) -> None:
    with pytest.raises(voltsim.VoltsimError, match="l1.seize"):
        voltsim.sweep(demo, {"l1.seize": [1]})


def test_text_in_place_of_a_list_is_refused(demo: str) -> None:
    with pytest.raises(voltsim.VoltsimError, match="is no list"):
        voltsim.sweep(demo, {"l1.size": "64KiB"})


def test_stream_gives_the_programs_cycles(demo: str, tmp_path: Path) -> None:
    stream = voltsim.record(demo, tmp_path / "all.vks")
    settings = {"clocks.dram": [400]}
    assert voltsim.sweep(stream, settings).table.column("cycles") == voltsim.sweep(
        demo, settings
    ).table.column("cycles")


#: A command that writes statistics at once, so that a sweep's own cost is all that is left.
STUB = """#!/bin/sh
case "$1" in --version) echo "voltsim 0.1.0"; exit;; esac
while [ $# -gt 0 ]; do if [ "$1" = --statistics ]; then file=$2; fi; shift; done
echo '{"gpu":"x","launches":[],"total":{"cycles":1,"counters":{},"derived":{}}}' > "$file"
"""


def test_point_of_a_large_sweep_costs_under_20_ms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "voltsim"
    stub.write_text(STUB)
    stub.chmod(0o755)
    monkeypatch.setenv("VOLTSIM_COMMAND", str(stub))
    values = list(range(1, 41))
    before = time.process_time()
    sweep = voltsim.sweep(["/bin/true"], {"l1.latency": values, "clocks.dram": values})
    assert len(sweep.points) == 1600
    assert (time.process_time() - before) / 1600 < 0.02
