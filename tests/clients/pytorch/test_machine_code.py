"""A kernel that exists only as machine code raises an exception with its name and a remedy."""

import os
import subprocess
import sys
from pathlib import Path

VOLTSIM = os.environ.get("VOLTSIM", "voltsim")
DEVICE = Path(__file__).resolve().parent / "capability-7.0.toml"

PRODUCT = """
import torch
try:
    torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
except RuntimeError as error:
    print(error)
"""


def test_exceptions_name_kernel_library_and_remedy():
    command = [VOLTSIM, "run", "--device", DEVICE, "--", sys.executable, "-c", PRODUCT]
    told = subprocess.run(command, stdout=subprocess.PIPE, universal_newlines=True, timeout=300, check=True).stdout
    assert "CUBLAS_STATUS_EXECUTION_FAILED" in told
    assert "kernel volta_sgemm" in told and "libcublas" in told and "--profile pytorch" in told
