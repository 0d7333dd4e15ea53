"""Shared setup of the tests."""

import os

# CuPy's own cache of compiled kernels would bypass NVRTC and the simulator.
os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
