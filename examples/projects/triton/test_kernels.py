import numpy as np
import pytest
import triton

from arrays import Array, use_first_device
from kernels import relu_difference

use_first_device()


@pytest.mark.parametrize("size", [1, 1000, 4096])
def test_difference_equals_numpys(size):
    x, y = np.random.default_rng(size).random((2, size), dtype=np.float32)
    out = Array(np.zeros(size, np.float32))
    relu_difference[(triton.cdiv(size, 256),)](Array(x), Array(y), out, 2.0, size, BLOCK=256)
    np.testing.assert_allclose(out.numpy(), np.maximum(2 * (x - y), 0), rtol=1e-6)
