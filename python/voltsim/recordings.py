"""Timing of recorded instructions: folders of ``voltsim record``, and traces of Accel-Sim."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from voltsim.command import PathLike, invoke
from voltsim.runs import Run, Value, ended_run, given_options, setting_options


def time(
    recording: PathLike,
    *,
    gpu: str,
    mode: str | None = None,
    settings: Mapping[str, Value] | None = None,
    threads: int | None = None,
    options: Sequence[str] = (),
    timeout: float | None = None,
) -> Run:
    """Time recorded launches on a GPU.

    ``recording`` is a folder with a ``kernelslist.g``, such a list, or a file of one launch.
    """
    with TemporaryDirectory(prefix="voltsim-") as folder:
        statistics = Path(folder, "statistics.json")
        arguments: list[PathLike] = ["time", recording, "--gpu", gpu]
        arguments += given_options(("--mode", mode))
        arguments += setting_options(settings)
        if threads is not None:
            arguments += ["--threads", str(threads)]
        arguments += ["--statistics", statistics, *options]
        finished = invoke(arguments, timeout=timeout)
        return ended_run([os.fspath(recording)], finished, statistics)
