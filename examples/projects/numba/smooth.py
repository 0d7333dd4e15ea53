"""A smoothing filter in numba: each point becomes the mean of its neighbourhood."""

import numpy as np
from numba import cuda

THREADS = 128


@cuda.jit
def smooth_kernel(source, target, radius):
    """Write the mean of `source[i - radius : i + radius + 1]` to `target[i]`."""
    i = cuda.grid(1)
    if i >= source.size:
        return
    first = max(i - radius, 0)
    last = min(i + radius, source.size - 1)
    total = 0.0
    for j in range(first, last + 1):
        total += source[j]
    target[i] = total / (last - first + 1)


def smooth(values: np.ndarray, radius: int) -> np.ndarray:
    """Return the smoothed values."""
    source = cuda.to_device(values)
    target = cuda.device_array_like(source)
    smooth_kernel[-(-values.size // THREADS), THREADS](source, target, radius)
    return target.copy_to_host()
