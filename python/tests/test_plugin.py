"""The plug-in for pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import voltsim

#: Loads the driver library and returns the device's name.
DRIVER = """
import ctypes

def name():
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    text = ctypes.create_string_buffer(64)
    assert cuda.cuDeviceGetName(text, 64, 0) == 0
    return text.value.decode()
"""


def _pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command += ["-p", "voltsim.pytest_plugin", *options]
    # A checkout's package is found by its folder, since the tests run in another one.
    package = str(Path(voltsim.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": package}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "driver.py").write_text(DRIVER)
    (tmp_path / "conftest.py").write_text("")
    return tmp_path


def test_tests_see_the_simulated_device(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import driver\ndef test_name(): assert 'TITAN V' in driver.name()\n"
    )
    done = _pytest(project, "--voltsim")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "voltsim: device titan-v" in done.stdout


def test_option_chooses_the_device(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import driver\ndef test_name(): assert 'A100' in driver.name()\n"
    )
    assert _pytest(project, "--voltsim", "--voltsim-device", "a100").returncode == 0
    assert _pytest(project, "--voltsim").returncode == 1


def test_marker_gives_a_test_its_own_device(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import driver, pytest\n"
        "@pytest.mark.voltsim(device='a100')\n"
        "def test_marked(): assert 'A100' in driver.name()\n"
        "def test_plain(): assert 'TITAN V' in driver.name()\n"
    )
    done = _pytest(project, "--voltsim")
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_failure_in_an_own_process_is_a_failure(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import pytest\n@pytest.mark.voltsim(device='a100')\ndef test_marked(): assert 1 == 2\n"
    )
    done = _pytest(project, "--voltsim")
    assert "1 failed" in done.stdout and "assert 1 == 2" in done.stdout, done.stdout


def test_process_that_dies_fails_its_test_alone(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.voltsim(device='a100')\ndef test_dies(): os.abort()\n"
        "def test_plain(): pass\n"
    )
    done = _pytest(project, "--voltsim")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr


def test_junit_names_the_device(project: Path) -> None:
    (project / "test_it.py").write_text("def test_plain(): pass\n")
    assert _pytest(project, "--voltsim", "--junitxml", "junit.xml").returncode == 0
    assert 'name="voltsim.device" value="titan-v"' in (project / "junit.xml").read_text()


def test_without_the_option_nothing_is_changed(project: Path) -> None:
    (project / "test_it.py").write_text(
        "import os\ndef test_plain(): assert 'VOLTSIM_PYTEST_DEVICE' not in os.environ\n"
    )
    assert _pytest(project).returncode == 0


#: Loads a kernel that writes behind its buffer, and launches it.
WILD = '''
import ctypes, pytest

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wild(.param .u64 p) {
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2+128], 7;
    ret;
}
"""

def test_wild():
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"wild") == 0
    buffer = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(buffer), 128) == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
    cuda.cuCtxSynchronize()

def test_plain():
    pass
'''


def test_findings_fail_the_test_that_has_them(project: Path) -> None:
    (project / "test_it.py").write_text(WILD)
    assert _pytest(project, "--voltsim").returncode == 0
    done = _pytest(project, "--voltsim", "--voltsim-check", "memory")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "found mistakes" in done.stdout and "wild" in done.stdout


def test_failed_test_leaves_a_capture(project: Path) -> None:
    (project / "test_it.py").write_text(
        WILD.replace("def test_plain():\n    pass", "") + "    assert 0\n"
    )
    done = _pytest(project, "--voltsim", "--voltsim-artifacts", "artefacts")
    assert done.returncode == 1
    captured = list((project / "artefacts").rglob("*.ptx"))
    assert captured, done.stdout + done.stderr
