"""Comparison of a timed run with what a profiler counted on a card."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from voltsim.command import PathLike, invoke
from voltsim.runs import Run, given_options


def correlate(
    run: Run | PathLike,
    profiler: PathLike,
    *,
    program: str | None = None,
    metric: str | None = None,
) -> dict[str, Any]:
    """Return launches and metrics of a run beside those of a card.

    ``run`` is a timed run, a file of its statistics, or a folder with files of several programs.
    ``profiler`` is a CSV of Nsight Compute or nvprof, or a table with a row for each launch.
    ``program`` names the rows that are compared, where the table has several programs.
    """
    with TemporaryDirectory(prefix="voltsim-") as folder:
        statistics = Path(folder, "run.json")
        if isinstance(run, Run):
            run.save(statistics)
        else:
            statistics = Path(run)
        arguments: list[PathLike] = ["correlate", "--json", statistics, profiler]
        arguments += given_options(("--program", program), ("--metric", metric))
        document: dict[str, Any] = json.loads(invoke(arguments).stdout)
        return document
