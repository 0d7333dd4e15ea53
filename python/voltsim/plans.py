"""Plans: the launches of a program that are worth timing, and estimates of the whole program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from voltsim.command import PathLike, invoke
from voltsim.runs import Program, Value, _read, _words, given_options, setting_options
from voltsim.table import Table


@dataclass(frozen=True)
class Estimate:
    """The time of a whole program, estimated from some of its launches.

    ``bound`` is the relative bound of the error: 0.05 for 5 %. ``work`` is the part of all warp
    instructions that was timed.
    """

    gpu: str
    cycles: float
    bound: float
    work: float
    document: dict[str, Any]

    @property
    def kernels(self) -> Table:
        """One row for each group of alike launches, with launches and estimated cycles."""
        rows = [
            {key: group[key] for key in ("kernel", "launches", "cycles", "bound")}
            for group in self.document["groups"]
        ]
        return Table(sorted(rows, key=lambda row: -float(row["cycles"])))


@dataclass(frozen=True)
class Plan:
    """A file of groups of alike launches, with a kernel stream beside the file."""

    file: Path

    def estimate(
        self,
        *,
        gpu: str | None = None,
        mode: str | None = None,
        settings: Mapping[str, Value] | None = None,
        within: float | None = None,
        results: PathLike | None = None,
        jobs: int | None = None,
        timeout: float | None = None,
    ) -> Estimate:
        """Time launches until the bound of the estimate is at most ``within`` (0.05 for 5 %).

        ``results`` is a folder that keeps the results, so that an interrupted estimate goes on.
        """
        with TemporaryDirectory(prefix="voltsim-") as folder:
            target = Path(results) if results is not None else Path(folder, "results")
            arguments: list[PathLike] = ["sweep", self.file, "--output", target]
            arguments += given_options(("--gpu", gpu), ("--mode", mode))
            arguments += setting_options(settings)
            if within is not None:
                arguments += ["--within", f"{within:.6%}"]
            if jobs is not None:
                arguments += ["--jobs", str(jobs)]
            invoke(arguments, timeout=timeout)
            document = _read(target / "estimate.json")["configurations"][0]
            return Estimate(
                gpu=document["configuration"],
                cycles=document["cycles"],
                bound=document["bound"],
                work=document["work"],
                document=document,
            )


def plan(
    program: Program,
    file: PathLike,
    *,
    gpus: Sequence[str] = (),
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Plan:
    """Run a program in functional mode, and group its launches by what they do.

    ``file`` ends in ``.toml``. The kernel stream lies beside it and ends in ``.vks``.
    """
    target = Path(file).absolute()
    arguments: list[PathLike] = ["plan", "--output", target]
    for name in gpus:
        arguments += ["--gpu", name]
    invoke([*arguments, "--", *_words(program)], cwd=cwd, env=env, timeout=timeout)
    return Plan(target)
