"""cuRAND on the device compared with cuRAND's host generators: equal seeds and orders give equal numbers."""

import ctypes
from pathlib import Path

import nvidia
import numpy as np
import pytest

CUDART = ctypes.CDLL("libcudart.so.13")
(CURAND,) = (
    ctypes.CDLL(str(folder))
    for path in nvidia.__path__
    for folder in Path(path).glob("cu13/lib/libcurand.so.10")
)

XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX = 101, 121, 141, 142, 161
SOBOL32, SCRAMBLED_SOBOL32, SOBOL64, SCRAMBLED_SOBOL64 = 201, 202, 203, 204
PSEUDO = [XORWOW, MRG32K3A, MTGP32, PHILOX]
QUASI = [SOBOL32, SCRAMBLED_SOBOL32]
QUASI64 = [SOBOL64, SCRAMBLED_SOBOL64]
ORDERING_LEGACY, ORDERING_SEEDED = 103, 102
STATUS_TYPE_ERROR = 103


def check(code):
    assert code == 0, f"status {code}"


class Generator:
    """Generator on the device or the host."""

    def __init__(self, kind, on_device, seed=1234, offset=0, dimensions=1, ordering=None):
        self.on_device = on_device
        self.handle = ctypes.c_void_p()
        create = CURAND.curandCreateGenerator if on_device else CURAND.curandCreateGeneratorHost
        check(create(ctypes.byref(self.handle), kind))
        if kind in PSEUDO or kind == MT19937:
            check(CURAND.curandSetPseudoRandomGeneratorSeed(self.handle, ctypes.c_ulonglong(seed)))
        else:
            check(CURAND.curandSetQuasiRandomGeneratorDimensions(self.handle, dimensions))
        if offset:
            check(CURAND.curandSetGeneratorOffset(self.handle, ctypes.c_ulonglong(offset)))
        if ordering is not None:
            check(CURAND.curandSetGeneratorOrdering(self.handle, ordering))

    def __del__(self):
        check(CURAND.curandDestroyGenerator(self.handle))

    def numbers(self, function, count, dtype, *arguments):
        """Returns the numbers that a generating function stores in an array of `count` elements."""
        values = np.zeros(count, dtype)
        host = values.ctypes.data_as(ctypes.c_void_p)
        if not self.on_device:
            check(function(self.handle, host, ctypes.c_size_t(count), *arguments))
            return values
        device = ctypes.c_void_p()
        check(CUDART.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(values.nbytes)))
        check(function(self.handle, device, ctypes.c_size_t(count), *arguments))
        check(CUDART.cudaMemcpy(host, device, ctypes.c_size_t(values.nbytes), 2))
        check(CUDART.cudaFree(device))
        return values


def pair(function, count, dtype, *arguments, **options):
    """Returns the device's and the host's numbers."""
    return [Generator(on_device=where, **options).numbers(function, count, dtype, *arguments) for where in (True, False)]


@pytest.mark.parametrize("kind", PSEUDO + QUASI)
def test_integers_are_equal(kind):
    device, host = pair(CURAND.curandGenerate, 20_000, np.uint32, kind=kind)
    assert np.unique(host).size > 19_000
    np.testing.assert_array_equal(device, host)


@pytest.mark.parametrize("kind", QUASI64)
def test_long_integers_are_equal(kind):
    device, host = pair(CURAND.curandGenerateLongLong, 20_000, np.uint64, kind=kind)
    np.testing.assert_array_equal(device, host)


@pytest.mark.parametrize("kind", PSEUDO + QUASI + QUASI64)
def test_uniform_floats_are_equal(kind):
    device, host = pair(CURAND.curandGenerateUniform, 10_000, np.float32, kind=kind)
    np.testing.assert_array_equal(device, host)
    assert 0 < host.min() and host.max() <= 1


@pytest.mark.parametrize("kind", PSEUDO + QUASI + QUASI64)
def test_uniform_doubles_are_equal(kind):
    device, host = pair(CURAND.curandGenerateUniformDouble, 10_000, np.float64, kind=kind)
    np.testing.assert_array_equal(device, host)


@pytest.mark.parametrize("kind", PSEUDO + QUASI)
def test_normal_floats_agree(kind):
    arguments = (ctypes.c_float(2.0), ctypes.c_float(3.0))
    device, host = pair(CURAND.curandGenerateNormal, 10_000, np.float32, *arguments, kind=kind)
    np.testing.assert_allclose(device, host, rtol=1e-4, atol=1e-4)
    assert abs(device.mean() - 2) < 0.2 and abs(device.std() - 3) < 0.2


@pytest.mark.parametrize("kind", [XORWOW, MRG32K3A, PHILOX, SOBOL32])
def test_normal_and_log_normal_doubles_agree(kind):
    arguments = (ctypes.c_double(0.0), ctypes.c_double(1.0))
    for function in (CURAND.curandGenerateNormalDouble, CURAND.curandGenerateLogNormalDouble):
        device, host = pair(function, 4_000, np.float64, *arguments, kind=kind)
        np.testing.assert_allclose(device, host, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [XORWOW, MRG32K3A, PHILOX])
def test_poisson_numbers_are_equal(kind):
    for rate in (3.5, 700.0):
        device, host = pair(CURAND.curandGeneratePoisson, 2_000, np.uint32, ctypes.c_double(rate), kind=kind)
        np.testing.assert_array_equal(device, host)
        assert abs(device.mean() - rate) < 0.05 * rate


@pytest.mark.parametrize("kind", [XORWOW, MRG32K3A, PHILOX])
def test_an_offset_skips_numbers(kind):
    whole = Generator(kind, True).numbers(CURAND.curandGenerate, 5_000, np.uint32)
    rest = Generator(kind, True, offset=1_000).numbers(CURAND.curandGenerate, 4_000, np.uint32)
    np.testing.assert_array_equal(whole[1_000:], rest)


@pytest.mark.parametrize("on_device", [True, False])
def test_mtgp32_cannot_skip_numbers(on_device):
    generator = Generator(MTGP32, on_device)
    status = CURAND.curandSetGeneratorOffset(generator.handle, ctypes.c_ulonglong(1_000))
    assert status == STATUS_TYPE_ERROR


@pytest.mark.parametrize("kind", [MRG32K3A, MTGP32])
def test_calls_of_different_lengths_go_on_like_those_of_the_host(kind):
    generators = [Generator(kind, where) for where in (True, False)]
    for count in (3_000, 20_000, 1, 16_384):
        device, host = (each.numbers(CURAND.curandGenerate, count, np.uint32) for each in generators)
        np.testing.assert_array_equal(device, host)


def test_orders_of_xorwow_are_those_of_the_host():
    for ordering in (ORDERING_LEGACY, ORDERING_SEEDED):
        device, host = pair(CURAND.curandGenerate, 20_000, np.uint32, kind=XORWOW, ordering=ordering)
        np.testing.assert_array_equal(device, host)


def test_sobol_numbers_of_several_dimensions_are_equal():
    device, host = pair(CURAND.curandGenerateUniform, 8 * 1_000, np.float32, kind=SOBOL32, dimensions=8)
    np.testing.assert_array_equal(device, host)


def test_a_second_call_goes_on_where_the_first_ended():
    for kind in (XORWOW, PHILOX, SOBOL32):
        generators = [Generator(kind, where) for where in (True, False)]
        for _ in range(2):
            device, host = (each.numbers(CURAND.curandGenerate, 3_000, np.uint32) for each in generators)
            np.testing.assert_array_equal(device, host)
