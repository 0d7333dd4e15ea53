"""A Triton kernel: the scaled difference of two vectors, cut off at zero."""

import triton
import triton.language as tl


@triton.jit
def relu_difference(x, y, out, scale, n, BLOCK: tl.constexpr):
    """Write `max(scale * (x - y), 0)` to `out`."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    difference = tl.load(x + at, mask=inside) - tl.load(y + at, mask=inside)
    tl.store(out + at, tl.maximum(scale * difference, 0.0), mask=inside)
