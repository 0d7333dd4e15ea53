"""Features of other libraries: cuSOLVER, cuSPARSE, and NVRTC for kernels compiled on demand."""

import pytest
import torch

from comparing import assert_near


@pytest.fixture
def matrix():
    """Returns a positive definite matrix."""
    numbers = torch.randn(16, 16)
    return numbers @ numbers.T + 16 * torch.eye(16)


@pytest.mark.parametrize("name", ["inv", "cholesky", "svdvals", "eigvalsh", "det"])
def test_a_function_of_a_matrix_is_near_that_of_the_cpu(name, matrix):
    function = getattr(torch.linalg, name)
    assert_near(function(matrix.cuda()), function(matrix))


def test_linear_equations_are_solved(matrix):
    right = torch.randn(16, 3)
    assert_near(matrix.cuda() @ torch.linalg.solve(matrix.cuda(), right.cuda()), right)


def test_a_sparse_matrix_is_multiplied_as_the_full_one(matrix):
    thin, right = matrix * (matrix > 1), torch.randn(16, 3)
    assert_near(thin.cuda().to_sparse_csr() @ right.cuda(), thin @ right)


def test_jit_compiled_kernels_match_the_cpu():
    numbers, six = torch.arange(1, 20), torch.full((19,), 6)
    assert torch.equal(torch.gcd(numbers.cuda(), six.cuda()).cpu(), torch.gcd(numbers, six))


def test_user_kernels_are_compiled_and_run():
    from torch.cuda.jiterator import _create_jit_fn

    function = _create_jit_fn("template <typename T> T product_and_one(T a, T b) { return a * b + T(1); }")
    assert function(torch.full((4,), 2.0).cuda(), torch.full((4,), 3.0).cuda()).tolist() == [7.0] * 4


def test_missing_libraries_raise_exceptions():
    with pytest.raises(RuntimeError, match="cuFFT"):
        torch.fft.fft(torch.ones(8, device="cuda"))
    with pytest.raises(RuntimeError, match="cuDNN"), torch.backends.cudnn.flags(enabled=True):
        torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4, device="cuda"), torch.ones(1, 1, 3, 3, device="cuda"))
    assert torch.ones(3, device="cuda").sum().item() == 3
