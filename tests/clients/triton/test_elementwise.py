"""Kernels that read each element once: sums of vectors, softmax of rows, layer norm with the gradient of its input."""

import numpy as np
import pytest
import triton
import triton.language as tl
from device import Array, zeros

RNG = np.random.default_rng(7)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
def test_sum_of_vectors(dtype):
    n = 12_345
    x, y = (RNG.integers(-100, 100, n).astype(dtype) for _ in range(2))
    out = zeros(n, dtype)
    add_kernel[(triton.cdiv(n, 1024),)](Array(x), Array(y), out, n, BLOCK=1024)
    np.testing.assert_array_equal(out.numpy(), x + y)


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=inside)


@pytest.mark.parametrize("columns", [5, 128, 781])
def test_softmax_of_rows(columns):
    rows = 37
    x = RNG.standard_normal((rows, columns), np.float32)
    out = zeros(x.shape)
    softmax_kernel[(rows,)](Array(x), out, columns, BLOCK=triton.next_power_of_2(columns))
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, mean_out, rstd_out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        apart = tl.where(at < columns, tl.load(x + row * columns + at, mask=at < columns, other=0.0) - mean, 0.0)
        squares += apart * apart
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        normal = (tl.load(x + row * columns + at, mask=inside) - mean) * rstd
        result = normal * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(out + row * columns + at, result, mask=inside)


def test_layer_norm():
    rows, columns, eps = 29, 600, 1e-5
    x = RNG.standard_normal((rows, columns), np.float32) * 3 + 1
    weight, bias = RNG.standard_normal((2, columns), np.float32)
    out, mean, rstd = zeros(x.shape), zeros(rows), zeros(rows)
    layer_norm_kernel[(rows,)](Array(x), Array(weight), Array(bias), out, mean, rstd, columns, eps, BLOCK=256)
    expected_rstd = 1 / np.sqrt(x.var(axis=1) + eps)
    expected = (x - x.mean(axis=1, keepdims=True)) * expected_rstd[:, None] * weight + bias
    np.testing.assert_allclose(mean.numpy(), x.mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(rstd.numpy(), expected_rstd, rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.rand(seed, at) > p
    values = tl.load(x + at, mask=inside)
    tl.store(out + at, tl.where(keep, values / (1 - p), 0.0), mask=inside)


def test_dropout_keeps_about_its_share_and_the_same_for_a_seed():
    n = 20_000
    x = np.ones(n, np.float32)
    results = []
    for seed in (123, 123, 512):
        out = zeros(n)
        dropout_kernel[(triton.cdiv(n, 1024),)](Array(x), out, n, 0.5, seed, BLOCK=1024)
        results.append(out.numpy())
    first, again, other = results
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.4
    assert set(np.unique(first)) == {0.0, 2.0}
    assert abs((first > 0).mean() - 0.5) < 0.02
