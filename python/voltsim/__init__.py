"""Runs CUDA programs without a GPU, and times them on a cycle-level model of one.

Every function starts the ``voltsim`` command of the same installation. A failure of the command
raises :class:`VoltsimError` with the command's message and its remedy.
"""

from voltsim.caches import cache_model
from voltsim.captures import Capture, capture
from voltsim.checkpoints import Checkpoint, checkpoint
from voltsim.command import demo_program, find_command, version
from voltsim.correlations import correlate
from voltsim.errors import (
    CheckFindings,
    NotSaved,
    OutputFailed,
    ProgramFailed,
    RefusedKernel,
    VoltsimError,
)
from voltsim.gpus import Gpu, gpu, gpus
from voltsim.plans import Estimate, Plan, plan
from voltsim.recordings import time
from voltsim.runs import Run, load, run
from voltsim.streams import Stream, record
from voltsim.sweeps import Point, Sweep, sweep
from voltsim.table import Table

__all__ = [
    "Capture",
    "CheckFindings",
    "Checkpoint",
    "Estimate",
    "Gpu",
    "NotSaved",
    "OutputFailed",
    "Plan",
    "Point",
    "ProgramFailed",
    "RefusedKernel",
    "Run",
    "Stream",
    "Sweep",
    "Table",
    "VoltsimError",
    "cache_model",
    "capture",
    "checkpoint",
    "correlate",
    "demo_program",
    "find_command",
    "gpu",
    "gpus",
    "load",
    "plan",
    "record",
    "run",
    "sweep",
    "time",
    "version",
]
