"""Streams, events and memory of CuPy."""

import cupy as cp
import numpy as np
import pytest


def test_a_device_has_the_properties_of_its_profile():
    assert cp.cuda.runtime.runtimeGetVersion() == 10020
    assert cp.cuda.Device().compute_capability == "91"
    assert cp.cuda.runtime.getDeviceProperties(0)["name"] == b"NVIDIA TITAN V"


def test_work_of_a_stream_is_done_in_order():
    with cp.cuda.Stream(non_blocking=True) as stream:
        values = cp.arange(1_000)
        for _ in range(20):
            values = values * 3 % 1_009
    stream.synchronize()
    expected = np.arange(1_000)
    for _ in range(20):
        expected = expected * 3 % 1_009
    assert stream.done
    np.testing.assert_array_equal(values.get(), expected)


def test_a_stream_waits_for_an_event_of_another():
    first, second = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    event = cp.cuda.Event()
    with first:
        values = cp.ones(100_000).cumsum()
        event.record()
    second.wait_event(event)
    with second:
        last = values[-1:] * 2
    second.synchronize()
    assert event.done and last.get()[0] == 200_000


def test_events_measure_time():
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    cp.ones(10_000).sum()
    end.record()
    end.synchronize()
    assert cp.cuda.get_elapsed_time(start, end) > 0


def test_host_functions_are_called_in_order():
    called = []
    stream = cp.cuda.Stream()
    for number in range(3):
        stream.launch_host_func(called.append, number)
    stream.synchronize()
    assert called == [0, 1, 2]


def test_the_pool_keeps_freed_memory():
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        array = cp.zeros(1 << 20, np.uint8)
        address = array.data.ptr
        assert pool.used_bytes() == 1 << 20
        del array
        assert (pool.used_bytes(), pool.total_bytes()) == (0, 1 << 20)
        assert cp.zeros(1 << 20, np.uint8).data.ptr == address
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_a_pool_has_a_limit():
    pool = cp.cuda.MemoryPool()
    pool.set_limit(size=1 << 20)
    with cp.cuda.using_allocator(pool.malloc), pytest.raises(cp.cuda.memory.OutOfMemoryError):
        cp.zeros(2 << 20, np.uint8)


def test_managed_memory_is_written_by_host_and_device():
    memory = cp.cuda.malloc_managed(4_000)
    array = cp.ndarray(1_000, np.float32, memory)
    array[...] = 2
    cp.cuda.Device().synchronize()
    host = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * 1_000).from_address(memory.ptr))
    host += 1
    assert array.sum() == 3_000


def test_pinned_memory_is_copied_asynchronously():
    host = np.frombuffer(cp.cuda.alloc_pinned_memory(4_000), np.float32, 1_000)
    host[...] = np.arange(1_000)
    with cp.cuda.Stream(non_blocking=True) as stream:
        device = cp.empty(1_000, np.float32)
        device.set(host, stream)
        device *= 2
        back = device.get(stream)
    stream.synchronize()
    np.testing.assert_array_equal(back, 2 * host)


def test_a_captured_stream_becomes_a_graph():
    add = cp.RawKernel('extern "C" __global__ void add(double *x) { x[threadIdx.x] += threadIdx.x; }', "add")
    add.compile()
    values = cp.zeros(10)
    with cp.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        add((1,), (10,), (values,))
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(values.get(), 3 * np.arange(10))
