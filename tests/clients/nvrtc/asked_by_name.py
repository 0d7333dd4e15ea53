"""Opens the NVRTC named by the argument, compiles a cubin, loads and runs it, and prints the result."""

import ctypes
import sys

SOURCE = b'extern "C" __global__ void times_three(int *x) { x[threadIdx.x] *= 3; }'
COUNT = 32


def succeed(result):
    assert result == 0, result


def cubin(nvrtc):
    program = ctypes.c_void_p()
    succeed(nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"k.cu", 0, None, None))
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90")
    succeed(nvrtc.nvrtcCompileProgram(program, 1, options))
    size = ctypes.c_size_t()
    succeed(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    image = ctypes.create_string_buffer(size.value)
    succeed(nvrtc.nvrtcGetCUBIN(program, image))
    succeed(nvrtc.nvrtcDestroyProgram(ctypes.byref(program)))
    return image


def run(image):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, memory = (ctypes.c_void_p() for _ in range(4))
    succeed(cuda.cuInit(0))
    succeed(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    succeed(cuda.cuCtxSetCurrent(context))
    succeed(cuda.cuModuleLoadData(ctypes.byref(module), image))
    succeed(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"times_three"))
    values = (ctypes.c_int * COUNT)(*range(COUNT))
    succeed(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(values))))
    succeed(cuda.cuMemcpyHtoD_v2(memory, values, ctypes.c_size_t(ctypes.sizeof(values))))
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    succeed(cuda.cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, None, arguments, None))
    succeed(cuda.cuMemcpyDtoH_v2(values, memory, ctypes.c_size_t(ctypes.sizeof(values))))
    return list(values)


print(run(cubin(ctypes.CDLL(sys.argv[1]))))
