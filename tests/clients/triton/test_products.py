"""Matrix products with several tile orders and types, and fused attention with on-chip scores."""

import numpy as np
import pytest
import triton
import triton.language as tl
from device import Array, zeros

RNG = np.random.default_rng(11)


@triton.jit
def matmul_kernel(
    a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, LEAKY: tl.constexpr
):
    # Tiles are grouped by rows, so that neighbours share columns of b.
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(m, M), tl.cdiv(n, N)
    group = tile // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    row = first + (tile % (GROUP * columns)) % height
    column = (tile % (GROUP * columns)) // height
    at_m = row * M + tl.arange(0, M)
    at_n = column * N + tl.arange(0, N)
    at_k = tl.arange(0, K)
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        inside = start + at_k < k
        left = tl.load(a + at_m[:, None] * k + (start + at_k)[None, :], mask=(at_m < m)[:, None] & inside[None, :], other=0.0)
        right = tl.load(b + (start + at_k)[:, None] * n + at_n[None, :], mask=inside[:, None] & (at_n < n)[None, :], other=0.0)
        sums = tl.dot(left, right, sums, input_precision="ieee")
    if LEAKY:
        sums = tl.where(sums >= 0, sums, 0.01 * sums)
    place = out + at_m[:, None] * n + at_n[None, :]
    tl.store(place, sums.to(out.dtype.element_ty), mask=(at_m < m)[:, None] & (at_n < n)[None, :])


@pytest.mark.parametrize("leaky", [False, True])
@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 2e-3), (np.float32, 1e-4)])
def test_matmul(dtype, tolerance, leaky):
    m, n, k = 100, 130, 70
    a = RNG.standard_normal((m, k), np.float32).astype(dtype)
    b = RNG.standard_normal((k, n), np.float32).astype(dtype)
    out = zeros((m, n), dtype)
    grid = (triton.cdiv(m, 32) * triton.cdiv(n, 64),)
    matmul_kernel[grid](Array(a), Array(b), out, m, n, k, M=32, N=64, K=32, GROUP=2, LEAKY=leaky)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    expected = np.where(expected >= 0, expected, 0.01 * expected) if leaky else expected
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, rtol=tolerance, atol=tolerance * 10)


@triton.jit
def attention_kernel(
    q, k, v, out, scale, length, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    at_m = tl.program_id(0) * M + tl.arange(0, M)
    at_d = tl.arange(0, D)
    head = tl.program_id(1) * length * D
    inside = (at_m < length)[:, None]
    queries = tl.load(q + head + at_m[:, None] * D + at_d[None, :], mask=inside, other=0.0)
    highest = tl.full([M], -float("inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    sums = tl.zeros([M, D], tl.float32)
    end = min((tl.program_id(0) + 1) * M, length) if CAUSAL else length
    for start in range(0, end, N):
        at_n = start + tl.arange(0, N)
        keys = tl.load(k + head + at_n[None, :] * D + at_d[:, None], mask=(at_n < length)[None, :], other=0.0)
        scores = tl.dot(queries, keys, input_precision="ieee") * scale
        allowed = (at_n < length)[None, :]
        if CAUSAL:
            allowed = allowed & (at_n[None, :] <= at_m[:, None])
        scores = tl.where(allowed, scores, -float("inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp(scores - new_highest[:, None])
        shrink = tl.exp(highest - new_highest)
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + head + at_n[:, None] * D + at_d[None, :], mask=(at_n < length)[:, None], other=0.0)
        sums = tl.dot(weights.to(values.dtype), values, sums * shrink[:, None], input_precision="ieee")
        highest = new_highest
    place = out + head + at_m[:, None] * D + at_d[None, :]
    tl.store(place, (sums / total[:, None]).to(out.dtype.element_ty), mask=inside)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 4e-3), (np.float32, 1e-4)])
def test_fused_attention(dtype, tolerance, causal):
    heads, length, width = 3, 80, 32
    q, k, v = (RNG.standard_normal((heads, length, width), np.float32).astype(dtype) for _ in range(3))
    out = zeros(q.shape, dtype)
    scale = width**-0.5
    grid = (triton.cdiv(length, 32), heads)
    attention_kernel[grid](Array(q), Array(k), Array(v), out, scale, length, CAUSAL=causal, M=32, N=32, D=width)
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) * scale
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = weights / weights.sum(axis=2, keepdims=True) @ v
    np.testing.assert_allclose(out.numpy().astype(np.float64), expected, rtol=tolerance, atol=tolerance)
