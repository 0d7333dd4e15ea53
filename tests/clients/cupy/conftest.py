"""What the tests have in common."""

import os

# CuPy's own cache of compiled kernels would hide what NVRTC and we do.
os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
