"""Running and timing programs."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from voltsim.command import Finished, PathLike, invoke
from voltsim.errors import VoltsimError
from voltsim.table import Row, Table

Value = Union[str, int, float, bool]
Program = Union[PathLike, Sequence[PathLike]]


@dataclass(frozen=True)
class Run:
    """A run that has ended: the program's output, and the statistics of its launches.

    ``statistics`` is the whole document that ``--statistics FILE.json`` writes, and ``None`` for a
    run that was not timed. ``findings`` are those of ``check``.
    """

    program: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    statistics: dict[str, Any] | None = None
    findings: tuple[dict[str, Any], ...] = field(default=())

    @property
    def gpu(self) -> str:
        """Name of the modelled GPU."""
        return str(self._document()["gpu"])

    @property
    def cycles(self) -> int:
        """Cycles of all launches together, in cycles of the SM clock."""
        return int(self._document()["total"]["cycles"])

    @property
    def launches(self) -> Table:
        """One row for each launch: its shape, and all counters and ratios by name."""
        return Table([_flat(launch) for launch in self._document()["launches"]])

    @property
    def kernels(self) -> Table:
        """One row for each kernel, with launches and cycles, the longest first."""
        rows: dict[str, Row] = {}
        for launch in self._document()["launches"]:
            row = rows.setdefault(
                launch["kernel"], {"kernel": launch["kernel"], "launches": 0, "cycles": 0}
            )
            row["launches"] += 1
            row["cycles"] += launch["cycles"]
        return Table(sorted(rows.values(), key=lambda row: -int(row["cycles"])))

    def counter(self, name: str) -> int | float:
        """Return a counter or ratio of the whole run by its name, as ``l1.hits``."""
        total = self._document()["total"]
        for group in ("counters", "derived"):
            if name in total[group]:
                value = total[group][name]
                if value is None:
                    raise VoltsimError(f"{name} has no value in this run")
                return value  # type: ignore[no-any-return]
        raise VoltsimError(f"no counter {name!r}", "`voltsim explain` lists the counters")

    def save(self, file: PathLike) -> None:
        """Write the statistics as JSON, which :func:`load` and the command read."""
        Path(file).write_text(json.dumps(self._document()), encoding="utf-8")

    def report(self, file: PathLike, *, other: Run | None = None) -> Path:
        """Write a report: one HTML page with pictures. ``other`` is compared beside this run.

        Time series need ``series`` at the run.
        """
        target = Path(file)
        with tempfile.TemporaryDirectory(prefix="voltsim-") as folder:
            files = []
            for name, one in (("run.json", self), ("other.json", other)):
                if one is not None:
                    one.save(Path(folder, name))
                    files.append(Path(folder, name))
            invoke(["report", *files, "--output", target.absolute()])
        return target

    def _document(self) -> dict[str, Any]:
        if self.statistics is None:
            raise VoltsimError("the run was not timed", "Run it with mode='detailed'")
        return self.statistics

    def _repr_html_(self) -> str:
        """The report, for notebooks; the output of a run that was not timed."""
        if self.statistics is None:
            return f"<pre>{html.escape(self.stdout)}</pre>"
        with tempfile.TemporaryDirectory(prefix="voltsim-") as folder:
            page = self.report(Path(folder, "run.html")).read_text(encoding="utf-8")
        return (
            f'<iframe title="report" srcdoc="{html.escape(page)}" '
            'style="width: 100%; height: 48em; border: 0"></iframe>'
        )


def run(
    program: Program,
    *,
    mode: str | None = None,
    gpu: str | None = None,
    device: str | None = None,
    settings: Mapping[str, Value] | None = None,
    check: str | None = None,
    series: int | str | None = None,
    threads: int | None = None,
    options: Sequence[str] = (),
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> Run:
    """Run a program on the simulated GPU, and time its launches where ``mode`` or ``gpu`` asks so.

    ``program`` is a path, or a list of a path and arguments. ``settings`` are values of the GPU's
    keys, as ``{"l1.size": "64KiB"}``. ``check`` is a value of ``--check``, as ``"all"``.
    ``series`` adds time series: a point every so many cycles, or ``"auto"``.
    ``options`` are further options of ``voltsim run``. ``timeout`` is in seconds.

    Raises :class:`ProgramFailed` with the program's status, or the command's own error.
    Findings of ``check`` raise :class:`CheckFindings`.
    """
    words = _words(program)
    with tempfile.TemporaryDirectory(prefix="voltsim-") as folder:
        statistics = Path(folder, "statistics.json")
        findings = Path(folder, "findings.jsonl")
        arguments: list[PathLike] = ["run"]
        is_timed = mode not in (None, "functional") or (
            mode is None and (gpu is not None or bool(settings) or series is not None)
        )
        arguments += given_options(("--mode", mode), ("--gpu", gpu), ("--device", device))
        arguments += setting_options(settings)
        if series is not None:
            arguments += ["--series", str(series)]
        if threads is not None:
            arguments += ["--threads", str(threads)]
        if is_timed:
            arguments += ["--statistics", statistics]
        if check is not None:
            arguments += ["--check", check, "--check-report", findings]
        arguments += [*options, "--", *words]
        finished = invoke(arguments, cwd=cwd, env=env, stdin=stdin, timeout=timeout)
        return ended_run(words, finished, statistics, findings)


def ended_run(
    words: Sequence[str], finished: Finished, statistics: Path, findings: Path | None = None
) -> Run:
    """Return the run of a command that has ended, with what its files hold."""
    return Run(
        program=tuple(words),
        stdout=finished.stdout,
        stderr=finished.stderr,
        seconds=finished.seconds,
        statistics=_read(statistics) if statistics.exists() else None,
        findings=() if findings is None else _lines(findings),
    )


def given_options(*options: tuple[str, PathLike | None]) -> list[PathLike]:
    """Return name and value of each option that has a value."""
    return [word for name, value in options if value is not None for word in (name, value)]


def load(file: PathLike) -> Run:
    """Return the run whose statistics a JSON file holds."""
    document = _read(Path(file))
    if not isinstance(document, dict) or "launches" not in document:
        raise VoltsimError(
            f"{os.fspath(file)}: holds no statistics", "Write it with --statistics FILE.json"
        )
    return Run(program=(os.fspath(file),), statistics=document)


def setting_options(settings: Mapping[str, Value] | None) -> list[PathLike]:
    """Return ``--set KEY=VALUE`` for each setting."""
    options: list[PathLike] = []
    for key, value in (settings or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        options += ["--set", f"{key}={text}"]
    return options


def _words(program: Program) -> list[str]:
    words = [program] if isinstance(program, (str, os.PathLike)) else list(program)
    if not words:
        raise VoltsimError("no program", "Name a program: voltsim.run(['./program'])")
    return [os.fspath(word) for word in words]


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise VoltsimError(f"{file}: {error}") from error


def _lines(file: Path) -> tuple[dict[str, Any], ...]:
    if not file.exists():
        return ()
    return tuple(json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line)


def _flat(launch: Mapping[str, Any]) -> Row:
    """Return a launch as one row. Lists by DRAM channel stay with ``statistics``."""
    row: Row = {}
    for name, value in launch.items():
        if name in ("counters", "derived"):
            row.update(
                (counter, number)
                for counter, number in value.items()
                if not isinstance(number, (list, dict))
            )
        elif name == "occupancy":
            row.update((f"occupancy.{key}", part) for key, part in value.items() if key != "limits")
        elif name != "dram_channels":
            row[name] = value
    return row
