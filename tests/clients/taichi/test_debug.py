"""Errors that Taichi detects on the device in debug mode."""

import pytest
import taichi as ti


@pytest.fixture(autouse=True)
def device():
    ti.init(arch=ti.cuda, debug=True, device_memory_GB=0.1)


def test_an_index_outside_of_a_field_is_an_exception():
    field = ti.field(ti.i32, 16)

    @ti.kernel
    def fill(count: ti.i32):
        for i in range(count):
            field[i] = i

    fill(16)
    with pytest.raises(ti.TaichiAssertionError, match="size \\(16\\) with indices \\(16\\)"):
        fill(17)
        ti.sync()


def test_a_failed_assertion_is_an_exception_with_its_words():
    @ti.kernel
    def check(number: ti.i32):
        assert number < 10, "too large"

    check(9)
    with pytest.raises(ti.TaichiAssertionError, match="too large"):
        check(10)
        ti.sync()
