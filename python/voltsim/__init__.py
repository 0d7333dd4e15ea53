"""Runs CUDA programs without a GPU, and times them on a cycle-level model of one.

Every function starts the ``voltsim`` command of the same installation. A failure of the command
raises :class:`VoltsimError` with the command's message and its remedy.
"""

from voltsim.command import find_command, version
from voltsim.errors import (
    CheckFindings,
    NotSaved,
    OutputFailed,
    ProgramFailed,
    RefusedKernel,
    VoltsimError,
)
from voltsim.gpus import Gpu, gpu, gpus
from voltsim.runs import Run, load, run
from voltsim.streams import Stream, record
from voltsim.sweeps import Point, Sweep, sweep
from voltsim.table import Table

__all__ = [
    "CheckFindings",
    "Gpu",
    "NotSaved",
    "OutputFailed",
    "Point",
    "ProgramFailed",
    "RefusedKernel",
    "Run",
    "Stream",
    "Sweep",
    "Table",
    "VoltsimError",
    "find_command",
    "gpu",
    "gpus",
    "load",
    "record",
    "run",
    "sweep",
    "version",
]
