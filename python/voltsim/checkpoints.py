"""Checkpoints: runs that are saved at a point and resumed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from voltsim.command import PathLike, invoke
from voltsim.runs import Program, Run, Value, _words, ended_run, given_options, setting_options


@dataclass(frozen=True)
class Checkpoint:
    """A file of a saved run."""

    file: Path

    def info(self) -> str:
        """Return a description: point, program, device and sections."""
        return invoke(["checkpoint", "info", self.file]).stdout

    def verify(self) -> None:
        """Check every byte of the file. A damaged file raises :class:`VoltsimError`."""
        invoke(["checkpoint", "verify", self.file])

    def resume(
        self,
        program: Program,
        *,
        mode: str | None = None,
        gpu: str | None = None,
        settings: Mapping[str, Value] | None = None,
        options: Sequence[str] = (),
        cwd: PathLike | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Run:
        """Run the program from the point on. ``mode`` and ``gpu`` are those of :func:`run`."""
        words = _words(program)
        with TemporaryDirectory(prefix="voltsim-") as folder:
            statistics = Path(folder, "statistics.json")
            arguments: list[PathLike] = ["resume", self.file]
            arguments += given_options(("--mode", mode), ("--gpu", gpu))
            arguments += setting_options(settings)
            if gpu is not None or settings or mode not in (None, "functional"):
                arguments += ["--statistics", statistics]
            finished = invoke(
                [*arguments, *options, "--", *words], cwd=cwd, env=env, timeout=timeout
            )
            return ended_run(words, finished, statistics)


def checkpoint(
    program: Program,
    file: PathLike,
    *,
    at: str,
    stop: bool = True,
    options: Sequence[str] = (),
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Checkpoint:
    """Run a program and save the run at a point, as ``at="kernel=3"``: before launch 3.

    With ``stop`` the program ends there. ``options`` are further options of ``voltsim run``.
    """
    target = Path(file).absolute()
    arguments: list[PathLike] = ["run", "--checkpoint", at, "--output", target, *options]
    if stop:
        arguments.append("--stop")
    invoke([*arguments, "--", *_words(program)], cwd=cwd, env=env, timeout=timeout)
    return Checkpoint(target)
