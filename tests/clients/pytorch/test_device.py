"""PyTorch's information about the device, memory, streams and events."""

import torch


def test_the_device_is_a_volta_that_reports_capability_8_0():
    assert torch.cuda.get_device_name() == "NVIDIA TITAN V"
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.backends.cudnn.version() == 7605


def test_memory_statistics_follow_what_is_allocated():
    before = torch.cuda.memory_allocated()
    block = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - before == 1 << 20
    del block
    assert torch.cuda.memory_allocated() == before
    torch.cuda.empty_cache()


def test_out_of_memory_is_an_exception():
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
        raise AssertionError("a terabyte was allocated")
    except RuntimeError as error:
        assert "out of memory" in str(error)


def test_work_in_two_streams_is_ordered_by_an_event():
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.zeros(1 << 16, device="cuda")
    torch.cuda.synchronize()
    done = torch.cuda.Event(enable_timing=True)
    start = torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(first):
        start.record()
        for _ in range(50):
            x += 1
        done.record()
    with torch.cuda.stream(second):
        second.wait_event(done)
        x *= 2
    second.synchronize()
    assert x.eq(100).all().item()
    assert start.elapsed_time(done) > 0


def test_pinned_memory_is_copied_without_waiting():
    host = torch.arange(1 << 16, dtype=torch.int32).pin_memory()
    assert host.is_pinned()
    assert torch.equal(host.to("cuda", non_blocking=True).cpu(), host)


def test_random_numbers_have_the_moments_of_their_distributions(measured):
    torch.manual_seed(5)
    uniform = torch.rand(1 << 20, device="cuda")
    normal = torch.randn(1 << 20, device="cuda")
    # Five standard deviations of the estimates.
    measured("uniform: mean, off by", abs(uniform.mean().item() - 0.5), 5 * 12**-0.5 / 1024)
    measured("normal: mean, off by", abs(normal.mean().item()), 5 / 1024)
    measured("normal: variance, off by", abs(normal.var().item() - 1), 5 * 2**0.5 / 1024)


def test_an_index_out_of_range_is_an_exception():
    """Runs in another process, because the kernel's assertion makes the device unusable."""
    import subprocess
    import sys

    program = "import torch; torch.zeros(4, device='cuda')[torch.tensor([9], device='cuda')].cpu()"
    output = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, universal_newlines=True)
    assert output.returncode == 1
    assert "device-side assert" in output.stderr
