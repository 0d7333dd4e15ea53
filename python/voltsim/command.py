"""The ``voltsim`` command of this installation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from voltsim.errors import VoltsimError, of_status

PathLike = Union[str, "os.PathLike[str]"]


def find_command() -> str:
    """Return the path of the command.

    The command is ``VOLTSIM_COMMAND`` where the variable is set, else the script that pip installed
    beside this package, else ``voltsim`` on ``PATH``.
    """
    named = os.environ.get("VOLTSIM_COMMAND")
    if named:
        if not os.access(named, os.X_OK):
            raise VoltsimError(f"VOLTSIM_COMMAND={named} is no program", "Name the voltsim command")
        return named
    for folder in _script_folders():
        script = os.path.join(folder, "voltsim")
        if os.access(script, os.X_OK):
            return script
    found = shutil.which("voltsim")
    if found is None:
        raise VoltsimError("there is no voltsim command", "Install it: pip install voltsim")
    return found


def _script_folders() -> list[str]:
    """Return the folders in which pip may have put the command of this package."""
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable)]
    folders.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    # `pip install --target FOLDER` puts scripts into FOLDER/bin.
    folders.append(str(Path(__file__).resolve().parent.parent / "bin"))
    return folders


def version() -> str:
    """Return the version of the command, as ``0.1.0``."""
    return invoke(["--version"]).stdout.split()[-1]


def demo_program() -> str:
    """Return the path of the demo, a CUDA program with the kernels ``mandelbrot`` and ``sum``.

    A checkout compiles the demo at the first call, which needs a C compiler.
    """
    command = Path(find_command()).resolve()
    installed = command.parent.parent / "lib" / "voltsim" / "voltsim-demo"
    if installed.exists():
        return str(installed)
    program = command.parent / "voltsim-demo"
    if not program.exists():
        invoke(["demo"])
    return str(program)


@dataclass(frozen=True)
class Finished:
    """A command that has ended: exit status and output."""

    status: int
    stdout: str
    stderr: str
    seconds: float


def invoke(
    arguments: Sequence[PathLike],
    *,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> Finished:
    """Run ``voltsim ARGUMENTS`` and return its output.

    ``env`` is added to this process's environment. ``timeout`` is in seconds; the command is then
    ended by SIGTERM, so that outputs hold the counts until then. ``check`` raises the error of a
    status other than 0.
    """
    command = [find_command(), *(os.fspath(argument) for argument in arguments)]
    environment = {**os.environ, **(env or {})}
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    start = time.monotonic()
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise VoltsimError(
            f"the command ran longer than {timeout} s", "Raise timeout", process.returncode
        ) from None
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finished = Finished(process.returncode, stdout, stderr, time.monotonic() - start)
    if check and finished.status != 0:
        raise of_status(finished.status, finished.stderr)
    return finished
