"""Arrays in device memory for Triton, by the driver API. A project with PyTorch has its tensors."""

import ctypes

import numpy as np

cuda = ctypes.CDLL("libcuda.so.1")


def check(code: int) -> None:
    """Raise the error of a call of the driver."""
    if code != 0:
        raise RuntimeError(f"the CUDA driver returned {code}")


class Array:
    """A copy of a numpy array in device memory."""

    def __init__(self, values: np.ndarray) -> None:
        """Allocate memory and copy the values there."""
        self.shape, self.dtype, self.bytes = values.shape, values.dtype.name, values.nbytes
        self.address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(self.bytes)))
        source = values.ctypes.data_as(ctypes.c_void_p)
        check(cuda.cuMemcpyHtoD_v2(self.address, source, ctypes.c_size_t(self.bytes)))

    def data_ptr(self) -> int:
        """Return the address; Triton asks for it."""
        return self.address.value

    def numpy(self) -> np.ndarray:
        """Copy the values back."""
        values = np.empty(self.shape, self.dtype)
        target = values.ctypes.data_as(ctypes.c_void_p)
        check(cuda.cuMemcpyDtoH_v2(target, self.address, ctypes.c_size_t(self.bytes)))
        return values


def use_first_device() -> None:
    """Make the primary context of device 0 current."""
    context = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
