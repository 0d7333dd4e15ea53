"""cuDNN's convolutions through ctypes: the part of the API for running one algorithm on one convolution."""

import ctypes
from ctypes import byref, c_float, c_double, c_int, c_size_t, c_uint64, c_void_p

import numpy as np

# cudnnStatus_t.
SUCCESS, NOT_INITIALIZED, ALLOC_FAILED, BAD_PARAM, INTERNAL_ERROR = range(5)
INVALID_VALUE, ARCH_MISMATCH, MAPPING_ERROR, EXECUTION_FAILED, NOT_SUPPORTED = range(5, 10)

# cudnnDataType_t, and the types of alpha and beta that go with them.
DATA_TYPES = {"float": 0, "double": 1, "half": 2}
NUMPY_TYPES = {"float": np.float32, "double": np.float64, "half": np.float16}
# cudnnMathType_t.
MATHS = {"default": 0, "tensor": 1}
NCHW = 0
# cudnnConvolutionMode_t.
CONVOLUTION, CROSS_CORRELATION = 0, 1

# The algorithms of each direction, in the order of their enumerations.
ALGORITHMS = {
    "forward": [
        "implicit_gemm",
        "implicit_precomp_gemm",
        "gemm",
        "direct",
        "fft",
        "fft_tiling",
        "winograd",
        "winograd_nonfused",
    ],
    "backward_data": ["algo_0", "algo_1", "fft", "fft_tiling", "winograd", "winograd_nonfused"],
    "backward_filter": ["algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"],
}


class Fault(Exception):
    """The device has failed and is unusable in this process."""


def check(status):
    if status != SUCCESS:
        raise RuntimeError(f"cuDNN answered {status}")


class Memory:
    """Device memory with automatic release."""

    def __init__(self, driver, size):
        self.driver, self.size, self.address = driver, size, c_uint64()
        self.check(driver.cuMemAlloc_v2(byref(self.address), c_size_t(max(size, 1))))

    def __del__(self):
        self.driver.cuMemFree_v2(self.address)

    @staticmethod
    def check(code):
        if code != 0:
            raise Fault(f"CUDA error {code}")

    @classmethod
    def of(cls, driver, array):
        memory = cls(driver, array.nbytes)
        source = np.ascontiguousarray(array)
        cls.check(driver.cuMemcpyHtoD_v2(memory.address, source.ctypes.data_as(c_void_p), c_size_t(source.nbytes)))
        return memory

    def read(self, shape, dtype):
        array = np.empty(shape, dtype)
        target = array.ctypes.data_as(c_void_p)
        self.check(self.driver.cuMemcpyDtoH_v2(target, self.address, c_size_t(array.nbytes)))
        return array


class Cudnn:
    """Library, handle and driver."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.handle = c_void_p()
        check(self.library.cudnnCreate(byref(self.handle)))

    def _descriptor(self, kind):
        descriptor = c_void_p()
        check(getattr(self.library, f"cudnnCreate{kind}Descriptor")(byref(descriptor)))
        return descriptor

    def _tensor(self, data_type, shape):
        descriptor = self._descriptor("Tensor")
        check(self.library.cudnnSetTensor4dDescriptor(descriptor, NCHW, DATA_TYPES[data_type], *shape))
        return descriptor

    def _filter(self, data_type, shape):
        descriptor = self._descriptor("Filter")
        check(self.library.cudnnSetFilter4dDescriptor(descriptor, DATA_TYPES[data_type], NCHW, *shape))
        return descriptor

    def _convolution(self, shape, compute_type, math):
        descriptor = self._descriptor("Convolution")
        mode = CONVOLUTION if shape.flipped else CROSS_CORRELATION
        places = [*shape.padding, *shape.stride, *shape.dilation]
        check(
            self.library.cudnnSetConvolution2dDescriptor(descriptor, *places, mode, DATA_TYPES[compute_type])
        )
        check(self.library.cudnnSetConvolutionGroupCount(descriptor, shape.groups))
        check(self.library.cudnnSetConvolutionMathType(descriptor, MATHS[math]))
        return descriptor

    def convolve(self, direction, number, shape, types, math, operands, result):
        """`shape.alpha` times the convolution of the two operands, plus `shape.beta` times `result`: what cuDNN answers when
        it is asked for the size of the workspace, what it answers for the convolution, and the result.

        `types` are those of the data and of the computation. Operands: forward (x, w), backward_data (w, dy),
        backward_filter (x, dy), as cuDNN takes them.
        """
        data_type, compute_type = types
        x = self._tensor(data_type, shape.image)
        w = self._filter(data_type, shape.filter)
        y = self._tensor(data_type, shape.output)
        convolution = self._convolution(shape, compute_type, math)
        (name, first, second, target) = {
            "forward": ("Forward", x, w, y),
            "backward_data": ("BackwardData", w, y, x),
            "backward_filter": ("BackwardFilter", x, y, w),
        }[direction]

        size = c_size_t()
        ask = getattr(self.library, f"cudnnGetConvolution{name}WorkspaceSize")
        query = ask(self.handle, first, second, convolution, target, number, byref(size))
        if query == SUCCESS:
            workspace = Memory(self.driver, size.value)
        else:
            workspace, size = Memory(self.driver, 0), c_size_t(0)

        scalar = c_double if data_type == "double" else c_float
        buffers = [Memory.of(self.driver, array.astype(NUMPY_TYPES[data_type])) for array in operands]
        output = Memory.of(self.driver, result.astype(NUMPY_TYPES[data_type]))
        status = getattr(self.library, f"cudnnConvolution{name}")(
            self.handle,
            byref(scalar(shape.alpha)),
            first,
            buffers[0].address,
            second,
            buffers[1].address,
            convolution,
            c_int(number),
            workspace.address,
            size,
            byref(scalar(shape.beta)),
            target,
            output.address,
        )
        Memory.check(self.driver.cuCtxSynchronize())
        for kind, descriptor in [("Tensor", x), ("Filter", w), ("Tensor", y), ("Convolution", convolution)]:
            check(getattr(self.library, f"cudnnDestroy{kind}Descriptor")(descriptor))
        return query, status, output.read(result.shape, NUMPY_TYPES[data_type])
