import cupy as cp
import numpy as np

from spectrum import loudest, powers


def test_powers_equal_numpys():
    signal = np.sin(np.arange(4096, dtype=np.float32))
    expected = (signal.reshape(32, 128) ** 2).mean(axis=1)
    np.testing.assert_allclose(cp.asnumpy(powers(cp.asarray(signal), 32)), expected, rtol=1e-5)


def test_loudest_part_is_found():
    signal = cp.ones(1000, dtype=cp.float32)
    signal[700:800] = 3
    assert loudest(signal, 10) == 7
