"""Voltsim's NVRTC has no machine code: a program that requests a cubin gets a loadable image with PTX."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from cuda.bindings import runtime
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

PACKAGES = pathlib.Path(np.__file__).parents[1]
SONAME = "libnvrtc.so.13"
SOURCE = """
template <typename T> __global__ void add(T *sums, const T *terms) {
    sums[blockIdx.x * blockDim.x + threadIdx.x] += terms[blockIdx.x * blockDim.x + threadIdx.x];
}
"""


@pytest.fixture
def stream():
    device = Device(0)
    device.set_current()
    return device.create_stream()


@pytest.mark.parametrize("name", [SONAME, str(PACKAGES / "nvidia/cu13/lib" / SONAME)], ids=["soname", "path"])
def test_a_cubin_loads_whichever_way_the_library_is_opened(name):
    script = pathlib.Path(__file__).with_name("asked_by_name.py")
    run = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str([3 * x for x in range(32)])


@pytest.mark.parametrize("code", ["ptx", "cubin"])
def test_cuda_core_launches_a_template_from_either_code(stream, code):
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(arch="sm_90"))
    compiled = program.compile(code, name_expressions=("add<float>", "add<long long>"))
    assert b".entry _Z3addIfE" in compiled.code
    memory = [stream.device.allocate(4 * 64, stream=stream) for _ in range(2)]
    values = [np.arange(64, dtype=np.float32), np.full(64, 0.5, dtype=np.float32)]
    to_device, to_host = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
    for buffer, array in zip(memory, values):
        assert runtime.cudaMemcpy(int(buffer.handle), array.ctypes.data, array.nbytes, to_device) == (0,)
    launch(stream, LaunchConfig(grid=2, block=32), compiled.get_kernel("add<float>"), *memory)
    stream.sync()
    sums = np.empty(64, dtype=np.float32)
    assert runtime.cudaMemcpy(sums.ctypes.data, int(memory[0].handle), sums.nbytes, to_host) == (0,)
    assert (sums == np.arange(64, dtype=np.float32) + 0.5).all()


def test_an_error_of_the_source_is_told_in_the_log():
    program = Program("__global__ void k() { missing(); }", code_type="c++", options=ProgramOptions(arch="sm_90"))
    with pytest.raises(Exception, match='identifier "missing" is undefined'):
        program.compile("cubin")


def test_the_static_runtime_of_the_bindings_is_ours():
    error, properties = runtime.cudaGetDeviceProperties(0)
    assert error == 0
    assert (properties.major, properties.minor) == (9, 0)
