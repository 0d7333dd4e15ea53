"""Arrays in device memory for Triton, via the driver API and without PyTorch."""

import ctypes

import numpy as np

CUDA = ctypes.CDLL("libcuda.so.1")


def check(code):
    if code != 0:
        name = ctypes.c_char_p()
        CUDA.cuGetErrorName(code, ctypes.byref(name))
        raise RuntimeError((name.value or str(code).encode()).decode())


def use_primary_context():
    """Makes the primary context of device 0 current."""
    check(CUDA.cuInit(0))
    context = ctypes.c_void_p()
    check(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(CUDA.cuCtxSetCurrent(context))


class Array:
    """Copies a numpy array to the device."""

    def __init__(self, values):
        values = np.ascontiguousarray(values)
        self.shape = values.shape
        self.dtype = values.dtype.name
        self.size = values.nbytes
        self.address = ctypes.c_uint64()
        check(CUDA.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(max(self.size, 1))))
        check(CUDA.cuMemcpyHtoD_v2(self.address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.size)))

    def __del__(self):
        CUDA.cuMemFree_v2(self.address)

    def data_ptr(self):
        return self.address.value

    def numpy(self):
        values = np.empty(self.shape, self.dtype)
        check(CUDA.cuMemcpyDtoH_v2(values.ctypes.data_as(ctypes.c_void_p), self.address, ctypes.c_size_t(self.size)))
        return values


def zeros(shape, dtype=np.float32):
    return Array(np.zeros(shape, dtype))


use_primary_context()
