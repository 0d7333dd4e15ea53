"""Taichi's kernels compared with numpy: reductions, atomics, structs, matrices, sparse fields, gradients."""

import numpy as np
import pytest
import taichi as ti

NUMBERS = np.random.default_rng(5)


@pytest.fixture(scope="module", autouse=True)
def device():
    ti.init(arch=ti.cuda, default_fp=ti.f32, random_seed=3, device_memory_GB=0.1)
    assert ti.lang.impl.current_cfg().arch == ti.cuda


@pytest.mark.parametrize("kind, tolerance", [(ti.i32, 0), (ti.i64, 0), (ti.f32, 1e-5), (ti.f64, 1e-12)])
def test_reductions(kind, tolerance):
    @ti.kernel
    def total(values: ti.types.ndarray()) -> kind:
        result = ti.cast(0, kind)
        for i in values:
            result += values[i]
        return result

    @ti.kernel
    def largest(values: ti.types.ndarray()) -> kind:
        result = ti.cast(-1000, kind)
        for i in values:
            ti.atomic_max(result, values[i])
        return result

    values = NUMBERS.integers(-100, 100, 5_000).astype(ti.lang.util.to_numpy_type(kind))
    assert abs(total(values) - values.sum()) <= tolerance * np.abs(values).sum()
    assert largest(values) == values.max()


def test_atomics_count_every_element():
    counts = ti.field(ti.i32, 16)

    @ti.kernel
    def count(values: ti.types.ndarray()):
        for i in values:
            ti.atomic_add(counts[values[i]], 1)

    values = NUMBERS.integers(0, 16, 5_000).astype(np.int32)
    count(values)
    np.testing.assert_array_equal(counts.to_numpy(), np.bincount(values, minlength=16))


def test_atomics_give_the_value_before():
    cursor, places = ti.field(ti.i32, ()), ti.field(ti.i32, 1_000)

    @ti.kernel
    def take():
        for i in places:
            places[i] = ti.atomic_add(cursor[None], 1)

    take()
    np.testing.assert_array_equal(np.sort(places.to_numpy()), np.arange(1_000))


def test_structs():
    particle = ti.types.struct(place=ti.math.vec3, mass=ti.f32)
    particles = particle.field(shape=100)

    @ti.kernel
    def move():
        for i in particles:
            particles[i].mass = i * 0.5
            particles[i].place = ti.math.vec3(i, 2 * i, 3 * i) * particles[i].mass

    move()
    fields, i = particles.to_numpy(), np.arange(100)
    np.testing.assert_array_equal(fields["mass"], i * 0.5)
    np.testing.assert_array_equal(fields["place"], np.stack([i, 2 * i, 3 * i], 1) * (i * 0.5)[:, None])


def test_matrices():
    matrices, inverses, products = (ti.Matrix.field(3, 3, ti.f64, shape=64) for _ in range(3))
    determinants = ti.field(ti.f64, 64)

    @ti.kernel
    def compute():
        for i in matrices:
            inverses[i] = matrices[i].inverse()
            products[i] = matrices[i] @ matrices[i].transpose()
            determinants[i] = matrices[i].determinant()

    values = NUMBERS.random((64, 3, 3)) + 3 * np.eye(3)
    matrices.from_numpy(values)
    compute()
    np.testing.assert_allclose(inverses.to_numpy(), np.linalg.inv(values), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(products.to_numpy(), values @ values.transpose(0, 2, 1), rtol=1e-13)
    np.testing.assert_allclose(determinants.to_numpy(), np.linalg.det(values), rtol=1e-12)


def test_singular_values():
    matrices, left, middle, right = (ti.Matrix.field(3, 3, ti.f32, shape=32) for _ in range(4))

    @ti.kernel
    def decompose():
        for i in matrices:
            left[i], middle[i], right[i] = ti.svd(matrices[i])

    values = NUMBERS.random((32, 3, 3)).astype(np.float32)
    matrices.from_numpy(values)
    decompose()
    product = left.to_numpy() @ middle.to_numpy() @ right.to_numpy().transpose(0, 2, 1)
    np.testing.assert_allclose(product, values, atol=1e-5)
    singular = np.sort(np.abs(np.diagonal(middle.to_numpy(), axis1=1, axis2=2)))[:, ::-1]
    np.testing.assert_allclose(singular, np.linalg.svd(values, compute_uv=False), atol=1e-5)


@pytest.mark.parametrize("kind, tolerance", [(ti.f32, 1e-5), (ti.f64, 1e-13)])
def test_functions(kind, tolerance):
    values, results = ti.field(kind, 500), ti.field(kind, (500, 6))

    @ti.kernel
    def compute():
        for i in values:
            x = values[i]
            results[i, 0] = ti.sin(x)
            results[i, 1] = ti.exp(x / 4)
            results[i, 2] = ti.sqrt(x)
            results[i, 3] = ti.log(x + 1)
            results[i, 4] = ti.tanh(x)
            results[i, 5] = ti.atan2(x, 2)

    x = np.linspace(0.1, 9, 500).astype(ti.lang.util.to_numpy_type(kind))
    values.from_numpy(x)
    compute()
    expected = np.stack([np.sin(x), np.exp(x / 4), np.sqrt(x), np.log(x + 1), np.tanh(x), np.arctan2(x, 2)], 1)
    np.testing.assert_allclose(results.to_numpy(), expected, rtol=tolerance, atol=tolerance)


def test_a_sparse_field_visits_active_cells_only():
    cells = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(cells)

    @ti.kernel
    def fill():
        cells[3] = 1
        cells[20] = 2

    @ti.kernel
    def visited() -> ti.i32:
        count = 0
        for _ in cells:
            count += 1
        return count

    fill()
    assert visited() == 16
    expected = np.zeros(64)
    expected[[3, 20]] = 1, 2
    np.testing.assert_array_equal(cells.to_numpy(), expected)


def test_gradients():
    x = ti.field(ti.f32, 8, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def compute():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[i]

    values = NUMBERS.random(8).astype(np.float32)
    x.from_numpy(values)
    with ti.ad.Tape(loss):
        compute()
    np.testing.assert_allclose(x.grad.to_numpy(), np.cos(values) * values + np.sin(values), rtol=1e-5)


def test_random_numbers():
    uniform, normal = ti.field(ti.f32, 10_000), ti.field(ti.f32, 10_000)

    @ti.kernel
    def fill():
        for i in uniform:
            uniform[i] = ti.random()
            normal[i] = ti.randn()

    fill()
    assert abs(uniform.to_numpy().mean() - 0.5) < 0.02 and abs(uniform.to_numpy().std() - 12**-0.5) < 0.01
    assert abs(normal.to_numpy().mean()) < 0.05 and abs(normal.to_numpy().std() - 1) < 0.05


def test_kernels_print(capfd):
    @ti.kernel
    def tell():
        for i in range(2):
            print("number", i, 1.5)

    tell()
    ti.sync()
    assert sorted(capfd.readouterr().out.splitlines()) == ["number 0 1.500000", "number 1 1.500000"]
