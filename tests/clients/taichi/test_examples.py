"""Examples of Taichi's package, with a substitute window that ends them."""

import importlib

import numpy as np
import pytest
import taichi as ti

NBODY_FRAMES = 2


class Screen:
    """Substitute for Taichi's window: stores the frames, and closes after some."""

    ESCAPE = EXIT = SPACE = PRESS = None
    frames = 0
    shown = []

    def __init__(self, *_arguments, **_options):
        Screen.shown = []

    @property
    def running(self):
        return len(self.shown) < self.frames

    def get_event(self, *_keys):
        return not self.running

    def get_events(self, _kind):
        return []

    def set_image(self, image):
        self.picture = image.to_numpy()

    def circles(self, places, **_options):
        self.picture = places

    def show(self):
        self.shown.append(self.picture)


@pytest.fixture
def pictures(monkeypatch):
    """Runs an example for some frames. Returns its module and the frames."""

    def run(name, frames):
        monkeypatch.setattr(ti, "GUI", Screen)
        Screen.frames = frames
        example = importlib.import_module(f"taichi.examples.{name}")
        example.main()
        assert ti.lang.impl.current_cfg().arch == ti.cuda
        return example, Screen.shown

    return run


def julia(constant, width, height):
    """Returns the picture of the fractal example: the escape time of each point."""
    i, j = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
    z = ((i / height - 1) + 1j * (j / height - 0.5)) * 2
    steps = np.zeros((width, height))
    for _ in range(50):
        inside = np.abs(z) < 20
        z = np.where(inside, z * z + constant, z)
        steps += inside
    return 1 - steps * 0.02


def test_fractal(pictures):
    example, (first, second) = pictures("simulation.fractal", 2)
    for frame, time in ((first, 0.0), (second, 0.03)):
        expected = julia(complex(-0.8, np.cos(time) * 0.2), 2 * example.n, example.n)
        # The neighbourhood of a point is chaotic if a rounding changes its path.
        assert np.mean(np.abs(frame - expected) > 0.03) < 0.01
    assert (first != second).any()


def forces(places):
    """Returns the n-body example's force on each body."""
    differences = places[:, None] - places
    distances = np.sqrt((differences**2).sum(2) + 1e-5)
    return -(differences / distances[..., None] ** 3).sum(1)


def test_nbody(pictures):
    example, (*_, last) = pictures("simulation.nbody", NBODY_FRAMES)
    places, velocities = example.pos.to_numpy(), example.vel.to_numpy()
    np.testing.assert_array_equal(places, last)
    example.compute_force()
    expected = forces(places.astype(np.float64))
    np.testing.assert_allclose(example.force.to_numpy(), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    example.update()
    step = example.h / example.substepping
    moved = velocities + step * example.force.to_numpy()
    np.testing.assert_allclose(example.vel.to_numpy(), moved, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(example.pos.to_numpy(), places + step * moved, rtol=1e-5, atol=1e-6)
