"""Products by cuBLAS 10.2 compared with numpy's."""

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas

NUMBERS = np.random.default_rng(2)
LEFT, RIGHT = NUMBERS.standard_normal((70, 45)), NUMBERS.standard_normal((45, 33))
TOLERANCE = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}


@pytest.mark.parametrize("kind", TOLERANCE)
def test_matrices(kind):
    left, right = LEFT.astype(kind), RIGHT.astype(kind)
    product = cp.asarray(left) @ cp.asarray(right)
    assert product.dtype == kind
    np.testing.assert_allclose(product.get(), left @ right, rtol=0, atol=30 * TOLERANCE[kind])


def test_transposed_matrices():
    left, right = LEFT.T.copy(), RIGHT.T.copy()
    np.testing.assert_allclose((cp.asarray(left).T @ cp.asarray(right).T).get(), LEFT @ RIGHT, rtol=1e-12, atol=1e-12)


def test_a_matrix_of_several_tiles():
    matrix = NUMBERS.standard_normal((300, 260)).astype(np.float32)
    product = cp.asarray(matrix) @ cp.asarray(matrix).T
    np.testing.assert_allclose(product.get(), matrix @ matrix.T, rtol=1e-4, atol=1e-3)


def test_a_matrix_and_a_vector():
    np.testing.assert_allclose((cp.asarray(LEFT) @ cp.asarray(RIGHT[:, 0])).get(), LEFT @ RIGHT[:, 0], rtol=1e-12, atol=1e-12)


def test_vectors():
    assert np.isclose(cp.dot(cp.asarray(LEFT[0]), cp.asarray(LEFT[1])).get(), LEFT[0] @ LEFT[1])
    outer = cp.outer(cp.asarray(LEFT[0]), cp.asarray(LEFT[1]))
    np.testing.assert_array_equal(outer.get(), np.outer(LEFT[0], LEFT[1]))
    assert np.isclose(cp.linalg.norm(cp.asarray(LEFT)).get(), np.linalg.norm(LEFT))


def test_matrices_of_integers():
    matrix = NUMBERS.integers(-9, 9, (40, 40))
    np.testing.assert_array_equal((cp.asarray(matrix) @ cp.asarray(matrix)).get(), matrix @ matrix)


def test_tensors():
    left, right = NUMBERS.standard_normal((4, 5, 6)), NUMBERS.standard_normal((6, 5, 3))
    product = cp.tensordot(cp.asarray(left), cp.asarray(right), axes=[[1, 2], [1, 0]])
    np.testing.assert_allclose(product.get(), np.tensordot(left, right, axes=[[1, 2], [1, 0]]), rtol=1e-12, atol=1e-12)


def strided(function, *types):
    """Returns the squares of three matrices by a batched function of cuBLAS and by numpy."""
    size, count = 64, 3
    values = NUMBERS.standard_normal((count, size, size)).astype(np.float32)
    matrices, products = cp.asarray(values), cp.zeros_like(values)
    one, zero = np.ones((), np.float32), np.zeros((), np.float32)

    def matrix(array):
        return [array.data.ptr, *types, size, size * size]

    none = cublas.CUBLAS_OP_N
    inputs = [none, none, size, size, size, one.ctypes.data, *matrix(matrices), *matrix(matrices)]
    inputs += [zero.ctypes.data, *matrix(products), count]
    # The typed variant takes a compute type and an algorithm.
    function(device.get_cublas_handle(), *inputs, *([0, -1] if types else []))
    return products.get(), values @ values


def test_many_matrices():
    np.testing.assert_allclose(*strided(cublas.sgemmStridedBatched), rtol=1e-4, atol=1e-4)


def test_cublas_refuses_typed_batches_on_newer_devices():
    with pytest.raises(cublas.CUBLASError, match="CUBLAS_STATUS_NOT_SUPPORTED"):
        strided(cublas.gemmStridedBatchedEx, 0)
