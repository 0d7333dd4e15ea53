"""Captured launches: folders that run alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from voltsim.command import PathLike, invoke
from voltsim.errors import VoltsimError
from voltsim.runs import Program, _words, given_options


@dataclass(frozen=True)
class Capture:
    """A folder with one launch: kernel, parameters, PTX and memory."""

    folder: Path

    @property
    def launch(self) -> int:
        """Number of the launch in its program, from 1."""
        return int(self.folder.name.partition("-")[0])

    @property
    def kernel(self) -> str:
        """Name of the kernel, as the folder is named."""
        return self.folder.name.partition("-")[2]

    def replay(self, *, library: PathLike | None = None, results: PathLike | None = None) -> str:
        """Run the launch, and return the command's report.

        ``library`` is the driver of a real GPU, as ``"libcuda.so.1"`` of NVIDIA; Voltsim's own
        without. ``results`` is a new folder for the buffers after the launch. A result that differs
        from the captured one raises :class:`VoltsimError`.
        """
        arguments: list[PathLike] = ["replay", self.folder]
        arguments += given_options(("--library", library), ("--output", results))
        return invoke(arguments).stdout


def capture(
    program: Program,
    folder: PathLike,
    *,
    launches: str | None = None,
    results: bool = False,
    device: str | None = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> list[Capture]:
    """Run a program, and save launches to a new or empty folder.

    ``launches`` selects them, as ``"kernel=gemm*,launch=3..5"``; all without. With ``results`` the
    memory after each launch is saved too, so that a replay can be compared.
    """
    target = Path(folder).absolute()
    arguments: list[PathLike] = ["capture", "--output", target]
    arguments += given_options(("--only", launches), ("--device", device))
    if results:
        arguments.append("--results")
    invoke([*arguments, "--", *_words(program)], cwd=cwd, env=env, timeout=timeout)
    folders = sorted(path.parent for path in target.glob("*/launch.toml"))
    if not folders:
        raise VoltsimError(
            f"{target}: no launch was captured", "Check `launches`, and that the program launches"
        )
    return [Capture(path) for path in folders]
