"""Texture and surface objects of CuPy, in kernels compiled by NVRTC 10.2."""

import cupy as cp
import numpy as np
import pytest
from cupy.cuda import runtime, texture

WIDTH, HEIGHT = 16, 8
IMAGE = np.arange(WIDTH * HEIGHT, dtype=np.float32).reshape(HEIGHT, WIDTH)
FLOATS = texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat)


def resource(flags=0):
    """Returns a device array and its description."""
    array = texture.CUDAarray(FLOATS, WIDTH, HEIGHT, 0, flags)
    return array, texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)


@pytest.mark.parametrize("linear", [False, True])
def test_a_texture_gives_texels_or_what_is_between_them(linear):
    array, description = resource()
    array.copy_from(IMAGE)
    mode = runtime.cudaFilterModeLinear if linear else runtime.cudaFilterModePoint
    clamp = (runtime.cudaAddressModeClamp,) * 2
    sampler = texture.TextureDescriptor(clamp, mode, runtime.cudaReadModeElementType)
    source = r"""
    extern "C" __global__ void sample(cudaTextureObject_t image, float *to) {
        to[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(image, threadIdx.x + 1.0f, threadIdx.y + 0.5f);
    }"""
    to = cp.zeros_like(IMAGE)
    cp.RawKernel(source, "sample")((1,), (WIDTH, HEIGHT), (texture.TextureObject(description, sampler), to))
    right = np.minimum(np.arange(WIDTH) + 1, WIDTH - 1)
    np.testing.assert_array_equal(to.get(), (IMAGE + IMAGE[:, right]) / 2 if linear else IMAGE[:, right])


def test_a_surface_is_written():
    array, description = resource(runtime.cudaArraySurfaceLoadStore)
    source = r"""
    extern "C" __global__ void fill(cudaSurfaceObject_t image) {
        surf2Dwrite(float(threadIdx.y * blockDim.x + threadIdx.x), image, threadIdx.x * 4, threadIdx.y);
    }"""
    cp.RawKernel(source, "fill")((1,), (WIDTH, HEIGHT), (texture.SurfaceObject(description),))
    written = cp.zeros_like(IMAGE)
    array.copy_to(written)
    np.testing.assert_array_equal(written.get(), IMAGE)
