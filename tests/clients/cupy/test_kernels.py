"""Kernels compiled by NVRTC 10.2: RawKernel, RawModule, ElementwiseKernel, ReductionKernel, fusion, cupyx.jit."""

import subprocess
import sys

import cupy as cp
import numpy as np
import pytest
from cupyx import jit

VALUES = np.random.default_rng(3).standard_normal((30, 100)).astype(np.float32)
VECTOR = VALUES.ravel()


def test_raw_kernel():
    source = r"""
    extern "C" __global__ void scale(const float *from, float *to, float factor, int count) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < count) to[i] = from[i] * factor;
    }"""
    to = cp.zeros(VECTOR.size + 1, np.float32)
    cp.RawKernel(source, "scale")((24,), (128,), (cp.asarray(VECTOR), to, np.float32(3), VECTOR.size))
    np.testing.assert_array_equal(to.get(), np.append(VECTOR * np.float32(3), 0))


def test_raw_kernel_with_shared_memory_and_atomics():
    source = r"""
    extern "C" __global__ void total(const float *from, double *sum, int count) {
        extern __shared__ double part[];
        double mine = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) mine += from[i];
        part[threadIdx.x] = mine;
        for (int half = blockDim.x / 2; half; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        }
        if (threadIdx.x == 0) atomicAdd(sum, part[0]);
    }"""
    total = cp.zeros((), np.float64)
    kernel = cp.RawKernel(source, "total")
    kernel((5,), (64,), (cp.asarray(VECTOR), total, VECTOR.size), shared_mem=64 * 8)
    assert np.isclose(total.get(), VECTOR.astype(np.float64).sum(), rtol=1e-12)


def test_raw_kernel_tells_its_attributes():
    kernel = cp.RawKernel('extern "C" __global__ void f(int *p) { __shared__ int s[32]; s[threadIdx.x] = 1; p[0] = s[0]; }', "f")
    assert kernel.shared_size_bytes in (0, 128) and kernel.max_threads_per_block == 1024


def test_raw_module_with_variables_and_templates():
    source = r"""
    __constant__ float offsets[4];
    __device__ int calls;
    template <typename T> __global__ void add(T *to) {
        to[threadIdx.x] += offsets[threadIdx.x % 4];
        if (threadIdx.x == 0) atomicAdd(&calls, 1);
    }"""
    names = ("add<float>", "add<double>")
    module = cp.RawModule(code=source, options=("-std=c++11",), name_expressions=names)
    cp.ndarray(4, np.float32, module.get_global("offsets"))[...] = cp.arange(4, dtype=np.float32)
    for name, kind in zip(names, (np.float32, np.float64)):
        to = cp.ones(8, kind)
        module.get_function(name)((1,), (8,), (to,))
        np.testing.assert_array_equal(to.get(), 1 + np.arange(8) % 4)
    assert cp.ndarray((), np.int32, module.get_global("calls")).get() == 2


def test_compile_errors_of_a_raw_kernel_quote_the_compiler():
    with pytest.raises(cp.cuda.compiler.CompileException, match="missing"):
        cp.RawKernel('extern "C" __global__ void f() { missing(); }', "f").compile()


WILD = r"""
import cupy as cp
cp.RawKernel('extern "C" __global__ void wild(int *p) { p[1 << 28] = 1; }', "wild")((1,), (1,), (cp.zeros(4, "int32"),))
try:
    cp.cuda.Device().synchronize()
except cp.cuda.runtime.CUDARuntimeError as error:
    print(error)
"""


def test_a_wild_address_names_the_instruction():
    # The device is unusable afterwards.
    program = subprocess.run([sys.executable, "-c", WILD], capture_output=True, text=True, timeout=120)
    assert "cudaErrorIllegalAddress" in program.stdout
    assert "illegal address" in program.stderr and "in kernel wild" in program.stderr


@pytest.mark.parametrize("kind", ["float32", "float64", "int32"])
def test_elementwise_kernel(kind):
    square = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    values = (VALUES * 10).astype(kind)
    np.testing.assert_allclose(square(cp.asarray(values), cp.asarray(values[0])).get(), (values - values[0]) ** 2, rtol=1e-6)


def test_elementwise_kernel_with_raw_arrays():
    neighbours = cp.ElementwiseKernel("raw T x", "T y", "y = x[(i + 1) % x.size()] - x[i]", "neighbours")
    np.testing.assert_array_equal(neighbours(cp.asarray(VECTOR), cp.empty_like(VECTOR)).get(), np.roll(VECTOR, -1) - VECTOR)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reduction_kernel(axis):
    length = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    np.testing.assert_allclose(length(cp.asarray(VALUES), axis=axis).get(), np.sqrt((VALUES**2).sum(axis)), rtol=1e-5)


def test_fused_functions():
    @cp.fuse()
    def wave(x, y):
        return cp.sin(x) * y + cp.maximum(x, y)

    expected = np.sin(VALUES) * VALUES[0] + np.maximum(VALUES, VALUES[0])
    np.testing.assert_allclose(wave(cp.asarray(VALUES), cp.asarray(VALUES[0])).get(), expected, rtol=1e-5, atol=1e-6)


def test_kernels_in_python():
    @jit.rawkernel()
    def reverse(source, to, count):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < count:
            to[i] = source[count - 1 - i]

    to = cp.zeros_like(VECTOR)
    reverse((24,), (128,), (cp.asarray(VECTOR), to, np.int32(VECTOR.size)))
    np.testing.assert_array_equal(to.get(), VECTOR[::-1])
