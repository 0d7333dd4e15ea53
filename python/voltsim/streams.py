"""Kernel streams: the launches of a program with their memory, without the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from voltsim.command import PathLike, invoke
from voltsim.runs import Program, Run, Value, _words, ended_run, given_options, setting_options


@dataclass(frozen=True)
class Stream:
    """A file of launches that were recorded with their memory. Any machine can run the file."""

    file: Path

    def run(
        self,
        *,
        gpu: str,
        mode: str = "detailed",
        settings: Mapping[str, Value] | None = None,
        launches: str | None = None,
        threads: int | None = None,
        options: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Run:
        """Time launches of the stream on a GPU.

        ``launches`` selects launches, as ``"kernel=gemm*,launch=3..5"``.
        """
        with TemporaryDirectory(prefix="voltsim-") as folder:
            statistics = Path(folder, "statistics.json")
            arguments: list[PathLike] = ["resume", self.file, "--mode", mode, "--gpu", gpu]
            arguments += setting_options(settings)
            if launches is not None:
                arguments += ["--launches", launches]
            if threads is not None:
                arguments += ["--threads", str(threads)]
            arguments += ["--statistics", statistics, *options]
            finished = invoke(arguments, timeout=timeout)
            return ended_run([str(self.file)], finished, statistics)


def record(
    program: Program,
    file: PathLike,
    *,
    device: str | None = None,
    launches: str | None = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Stream:
    """Run a program in functional mode and write its launches to a kernel stream.

    ``launches`` selects launches, as ``"kernel=gemm*,launch=3..5"``.
    """
    target = Path(file).absolute()
    arguments: list[PathLike] = ["run", "--image", target]
    arguments += given_options(("--device", device), ("--image-only", launches))
    invoke([*arguments, "--", *_words(program)], cwd=cwd, env=env, timeout=timeout)
    return Stream(target)
