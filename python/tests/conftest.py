"""Fixtures: the demo program, which needs no CUDA compiler."""

from __future__ import annotations

import pytest

import voltsim


@pytest.fixture(scope="session")
def demo() -> str:
    """Path of the demo program. Its kernels are ``mandelbrot`` and ``sum``."""
    return voltsim.demo_program()
