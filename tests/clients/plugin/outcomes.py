"""pytest plugin that writes each test's outcome, seconds and name as a line of the file OUTCOMES.

A line is written as soon as its test has ended, so the lines before a crash of the whole run are kept.
"""

import os

import pytest

ROOT = None
SECONDS = {}
OUTCOMES = {}


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """Substitute for a fixture from a file that numba-cuda's package omits."""
    request.cls._dump_failed_filechecks = False


def pytest_configure(config):
    global ROOT
    ROOT = f"{config.rootpath}/"


def pytest_runtest_logreport(report):
    # pytest-xdist also passes the reports of its workers to the parent process.
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    # Parameters may be files of the suite.
    name = report.nodeid.replace(ROOT, "")
    SECONDS[name] = SECONDS.get(name, 0) + report.duration
    if report.failed:
        OUTCOMES[name] = "failed"
    elif report.skipped:
        OUTCOMES.setdefault(name, "xfailed" if hasattr(report, "wasxfail") else "skipped")
    # A test that crashed its worker has only this report.
    if report.when in ("teardown", "???"):
        with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(f"{OUTCOMES.get(name, 'passed')}\t{SECONDS[name]:.2f}\t{name}\n")
