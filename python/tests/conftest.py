"""Fixtures: the demo program, which needs no CUDA compiler."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import voltsim


@pytest.fixture(scope="session")
def demo() -> str:
    """Path of the demo program. Its kernels are ``mandelbrot`` and ``sum``."""
    command = Path(voltsim.find_command()).resolve()
    installed = command.parent.parent / "lib" / "voltsim" / "voltsim-demo"
    if installed.exists():
        return str(installed)
    subprocess.run([command, "demo"], check=True, stdout=subprocess.DEVNULL)
    program = command.parent / "voltsim-demo"
    assert os.access(program, os.X_OK)
    return str(program)
