"""Random numbers by cuRAND 13, for CuPy's legacy generators, and by CuPy's own kernels."""

import cupy as cp
import numpy as np

COUNT = 20_000


def test_the_same_seed_gives_the_same_numbers():
    first, second = (cp.random.RandomState(7).random_sample(COUNT).get() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert 0 <= first.min() and first.max() < 1 and abs(first.mean() - 0.5) < 0.01


def test_normal_numbers_have_their_mean_and_deviation():
    numbers = cp.random.RandomState(7).normal(3, 2, COUNT).get()
    assert abs(numbers.mean() - 3) < 0.05 and abs(numbers.std() - 2) < 0.05


def test_a_permutation_has_every_number():
    permutation = cp.random.permutation(1_000).get()
    assert (permutation != np.arange(1_000)).any()
    np.testing.assert_array_equal(np.sort(permutation), np.arange(1_000))


def test_generators_of_bits():
    for bits in (cp.random.XORWOW, cp.random.MRG32k3a, cp.random.Philox4x3210):
        first, second = (cp.random.Generator(bits(5)).standard_normal(COUNT).get() for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert abs(first.mean()) < 0.03 and abs(first.std() - 1) < 0.03
