"""Plug-in for pytest: ``pytest --voltsim tests/`` runs the tests on the simulated GPU.

With ``--voltsim`` pytest starts itself again under ``voltsim run``, so that the tests load
Voltsim's libraries in place of CUDA's. Tests with a marker run in a process of their own::

    @pytest.mark.voltsim(device="a100", check="memory,races")
    def test_kernel(): ...

``--voltsim-check`` runs every test in a process of its own, and findings fail the test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from voltsim.command import find_command
from voltsim.errors import VoltsimError

#: Set in a pytest that runs under ``voltsim run``; the value is the device's name.
UNDER_VOLTSIM = "VOLTSIM_PYTEST_DEVICE"
#: File to which the pytest of one test writes its reports.
REPORTS = "VOLTSIM_PYTEST_REPORTS"

CHECK_FOUND = 86
REFUSED = 88


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("voltsim", "run tests on a simulated GPU")
    group.addoption("--voltsim", action="store_true", help="run the tests under Voltsim")
    group.addoption("--voltsim-device", metavar="NAME", help="GPU that the tests are told about")
    group.addoption(
        "--voltsim-check",
        metavar="KINDS",
        help="run each test in its own process with `voltsim run --check KINDS`; findings fail it",
    )
    group.addoption(
        "--voltsim-artifacts",
        metavar="FOLDER",
        help="run a failed test again under `voltsim capture`, and keep the folder here",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "voltsim(device=None, check=None): run the test in a process of its own, on this device "
        "and with these checks",
    )


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Replace this process by the same pytest under ``voltsim run``."""
    if not config.getoption("--voltsim") or UNDER_VOLTSIM in os.environ:
        return None
    if config.option.help or config.option.version:
        return None
    command = _command(config.getoption("--voltsim-device"), None, None)
    manager = config.pluginmanager.getplugin("capturemanager")
    if manager is not None:
        manager.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    words = [*command, sys.executable, "-m", "pytest", *config.invocation_params.args]
    os.chdir(config.invocation_params.dir)
    os.execve(words[0], words, {**os.environ, UNDER_VOLTSIM: _device(config)})


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the device in pytest's header."""
    device = os.environ.get(UNDER_VOLTSIM)
    return f"voltsim: device {device}" if device else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test in a process of its own where its marker or an option asks so."""
    if not item.config.getoption("--voltsim") or REPORTS in os.environ:
        return None
    marker = item.get_closest_marker("voltsim")
    wanted: dict[str, Any] = dict(marker.kwargs) if marker else {}
    check = wanted.get("check") or item.config.getoption("--voltsim-check")
    device = wanted.get("device") or item.config.getoption("--voltsim-device")
    if marker is None and check is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run_alone(item, device, check):
        report.user_properties.append(("voltsim.device", device or _device(item.config)))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Add the device to JUnit's properties, and capture a failed test."""
    outcome = yield
    report = outcome.get_result()
    device = os.environ.get(UNDER_VOLTSIM)
    if device is None:
        return
    if report.when == "setup":
        item.user_properties.append(("voltsim.device", device))
    folder = item.config.getoption("--voltsim-artifacts")
    if (
        report.failed
        and report.when == "call"
        and folder
        and "VOLTSIM_PYTEST_AGAIN" not in os.environ
    ):
        target = _capture(item, folder)
        report.sections.append(("voltsim", f"capture folder: {target}"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Hand the reports of a test in its own process to the pytest that started it."""
    file = os.environ.get(REPORTS)
    if file is None or _CONFIG is None:
        return
    data = _CONFIG.hook.pytest_report_to_serializable(config=_CONFIG, report=report)
    with open(file, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(data) + "\n")


_CONFIG: pytest.Config | None = None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember the configuration, which reports are written with."""
    global _CONFIG
    _CONFIG = session.config


def _device(config: pytest.Config) -> str:
    return config.getoption("--voltsim-device") or "titan-v"


def _command(device: str | None, check: str | None, findings: Path | None) -> list[str]:
    """Return ``voltsim run OPTIONS --``."""
    try:
        command = [find_command(), "run"]
    except VoltsimError as error:
        raise pytest.UsageError(str(error)) from error
    if device:
        command += ["--device", device]
    if check:
        command += ["--check", check]
    if findings:
        command += ["--check-report", str(findings)]
    return [*command, "--"]


def _pytest(item: pytest.Item) -> list[str]:
    """Return the command line of a pytest that runs this test alone."""
    words = [sys.executable, "-m", "pytest", "-q", "--voltsim", "-p", "no:cacheprovider"]
    words += ["--rootdir", str(item.config.rootpath)]
    if item.config.inipath is not None:
        words += ["-c", str(item.config.inipath)]
    # The entry point loads the plug-in under the name `voltsim`; otherwise `-p` named the module.
    name = item.config.pluginmanager.get_name(sys.modules[__name__])
    if name != "voltsim":
        words += ["-p", __name__]
    return [*words, str(item.config.rootpath / item.nodeid)]


def _run_alone(item: pytest.Item, device: str | None, check: str | None) -> list[pytest.TestReport]:
    """Run one test under its own ``voltsim run`` and return its reports."""
    with tempfile.TemporaryDirectory(prefix="voltsim-pytest-") as folder:
        reports, findings = Path(folder, "reports"), Path(folder, "findings.jsonl")
        command = [*_command(device, check, findings if check else None), *_pytest(item)]
        environment = {
            **os.environ,
            UNDER_VOLTSIM: device or _device(item.config),
            REPORTS: str(reports),
        }
        # This process runs under Voltsim as well; its options do not hold for the child.
        environment.pop("VOLTSIM_RUN", None)
        child = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        lines = reports.read_text(encoding="utf-8").splitlines() if reports.exists() else []
        found = findings.read_text(encoding="utf-8").strip() if findings.exists() else ""
    made = [
        item.config.hook.pytest_report_from_serializable(config=item.config, data=json.loads(line))
        for line in lines
    ]
    reason = None
    if child.returncode == CHECK_FOUND or found:
        reason = f"voltsim --check {check} found mistakes:\n{found or child.stderr}"
    elif child.returncode == REFUSED:
        reason = child.stderr
    elif not any(report.when == "teardown" for report in made):
        reason = f"the test's process ended with status {child.returncode}:\n{child.stderr}"
    if reason is not None:
        made = [report for report in made if report.when != "call"]
        made.append(
            pytest.TestReport(
                nodeid=item.nodeid,
                location=item.location,
                keywords={},
                outcome="failed",
                longrepr=reason,
                when="call",
            )
        )
    return made


def _capture(item: pytest.Item, folder: str) -> Path:
    """Run a failed test again under ``voltsim capture`` and return the capture's folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", item.nodeid).strip("_")
    target = Path(folder).absolute() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [find_command(), "capture", "-o", str(target), "--", *_pytest(item)]
    environment = {**os.environ, "VOLTSIM_PYTEST_AGAIN": "1", UNDER_VOLTSIM: _device(item.config)}
    environment.pop("VOLTSIM_RUN", None)
    environment.pop(REPORTS, None)
    subprocess.run(command, env=environment, capture_output=True, check=False)
    return target
