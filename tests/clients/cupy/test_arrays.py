"""CuPy's arrays compared with numpy's: elementwise operations, indexing, reductions, scans, sorting."""

import cupy as cp
import numpy as np
import pytest

NUMBERS = np.random.default_rng(1)
FLOATS = NUMBERS.standard_normal((64, 50)).astype(np.float32)
INTEGERS = NUMBERS.integers(-1_000, 1_000, (64, 50))
TYPES = ["int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


def both(function, *arrays):
    """Returns the results of a function with CuPy and with numpy as its first argument."""
    return cp.asnumpy(function(cp, *map(cp.asarray, arrays))), function(np, *arrays)


def equal(function, *arrays):
    np.testing.assert_array_equal(*both(function, *arrays))


def close(function, *arrays, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(*both(function, *arrays), rtol=rtol, atol=atol)


@pytest.mark.parametrize("kind", TYPES)
def test_sums_products_and_differences_of_a_type(kind):
    values = (INTEGERS % 100).astype(kind)
    close(lambda module, x: x + x * x[0] - x[::-1], values, rtol=1e-3)


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
def test_quotients_and_remainders_round_down(kind):
    values = INTEGERS.astype(kind)
    equal(lambda module, x: x // 7, values)
    equal(lambda module, x: x % -7, values)


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "arctan", "sinh", "tanh", "exp", "exp2", "expm1", "cbrt", "floor", "ceil", "rint", "sign", "square"]
)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_functions_of_one_argument(name, kind):
    close(lambda module, x: getattr(module, name)(x), FLOATS.astype(kind))


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_functions_of_positive_arguments(name, kind):
    close(lambda module, x: getattr(module, name)(x), np.abs(FLOATS).astype(kind) + 0.01)


@pytest.mark.parametrize("name", ["hypot", "arctan2", "maximum", "fmod", "copysign", "nextafter", "logaddexp", "power"])
def test_functions_of_two_arguments(name):
    close(lambda module, x: getattr(module, name)(module.abs(x) + 0.5, x[::-1]), FLOATS)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_xor", "gcd", "lcm"])
def test_functions_of_integers(name):
    equal(lambda module, x: getattr(module, name)(x, x[::-1]), INTEGERS)


def test_half_and_complex_functions():
    close(lambda module, x: module.exp(x), FLOATS.astype("float16"), rtol=1e-3)
    close(lambda module, x: module.exp(x * 1j) / x, FLOATS.astype("complex64"))


def test_shapes_broadcast_and_transpose():
    equal(lambda module, x: (x[:, None, :3] * x[None, :, :3]).transpose(2, 0, 1).reshape(3, -1), FLOATS)


def test_elements_are_chosen_by_index_mask_and_condition():
    equal(lambda module, x: x[[3, 1, 2]][:, ::-3], FLOATS)
    equal(lambda module, x: x[x > 1], FLOATS)
    equal(lambda module, x: module.where(x > 0, x, -x), FLOATS)
    equal(lambda module, x: module.stack(module.nonzero(x > 1)), FLOATS)
    equal(lambda module, x: module.take_along_axis(x, module.argsort(x, axis=1)[:, :5], axis=1), FLOATS)


def test_additions_to_one_element_are_all_done():
    def count(module, x):
        counts = module.zeros(10, np.int32)
        module.add.at(counts, x.ravel() % 10, 1)
        return counts

    equal(count, INTEGERS)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "mean", "std", "max", "argmax", "min", "argmin", "any"])
def test_reductions(name, axis):
    close(lambda module, x: getattr(x, name)(axis=axis), FLOATS, atol=1e-4)


def test_reductions_of_many_elements():
    values = NUMBERS.integers(0, 1_000, 200_000)
    equal(lambda module, x: x.sum(), values)
    equal(lambda module, x: module.median(x), values)
    equal(lambda module, x: module.percentile(x, [10, 50, 90]), values)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scans(axis):
    equal(lambda module, x: module.cumsum(x, axis=axis), INTEGERS)
    close(lambda module, x: module.cumprod(1 + x / 10, axis=axis), FLOATS, rtol=1e-4)


@pytest.mark.parametrize("kind", ["int8", "int32", "uint64", "float16", "float32", "float64"])
def test_sorting(kind):
    values = (INTEGERS % 251).astype(kind)
    equal(lambda module, x: module.sort(x, axis=1), values)
    equal(lambda module, x: module.sort(x, axis=None), values)
    equal(lambda module, x: module.unique(x), values)


def test_orders():
    equal(lambda module, x: module.argsort(x.ravel()), FLOATS)
    equal(lambda module, x: module.lexsort(x[:3]), FLOATS)
    equal(lambda module, x: module.partition(x[0], 10)[10], FLOATS)
    equal(lambda module, x: module.searchsorted(module.sort(x.ravel()), x[0]), FLOATS)


def test_histograms():
    equal(lambda module, x: module.histogram(x, 10)[0], INTEGERS)
    equal(lambda module, x: module.bincount(x.ravel() + 1_000), INTEGERS)


def test_arrays_are_joined_split_and_rolled():
    equal(lambda module, x: module.concatenate([x, x[:3], module.roll(x, 7)]), FLOATS)
    equal(lambda module, x: module.split(x, 4)[2], FLOATS)
    equal(lambda module, x: module.pad(module.tile(x, (2, 1)), 2, "edge"), FLOATS)
