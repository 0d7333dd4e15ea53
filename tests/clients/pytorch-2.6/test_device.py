"""torch.cuda: memory, streams, events, graphs, pinned memory."""

import pytest
import torch

from comparing import assert_near
from models import LeNet

MEGABYTE = 1 << 20


def test_the_device_reports_its_capability():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == (12, 0)


def test_memory_statistics_count_what_is_allocated():
    before = torch.cuda.memory_allocated()
    block = torch.empty(8 * MEGABYTE, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() == before + 8 * MEGABYTE
    assert torch.cuda.max_memory_allocated() >= before + 8 * MEGABYTE
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    del block
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.memory_stats()["num_alloc_retries"] == 0
    assert "Allocated memory" in torch.cuda.memory_summary()


def test_emptying_the_cache_releases_device_memory():
    block = torch.empty(64 * MEGABYTE, dtype=torch.uint8, device="cuda")
    free, _ = torch.cuda.mem_get_info()
    del block
    torch.cuda.empty_cache()
    assert torch.cuda.mem_get_info()[0] >= free + 64 * MEGABYTE


def test_too_much_memory_is_an_error_that_can_be_caught():
    _, total = torch.cuda.mem_get_info()
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_a_stream_that_waits_for_another_sees_its_work():
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    numbers = torch.zeros(100_000, device="cuda")
    first.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(first):
        for _ in range(10):
            numbers += 1
    second.wait_stream(first)
    with torch.cuda.stream(second):
        doubled = numbers * 2
    second.synchronize()
    assert doubled.unique().tolist() == [20.0]


def test_events_are_complete_after_a_wait_and_have_times():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.ones(100_000, device="cuda").exp().sum()
    end.record()
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) > 0


def test_pinned_memory_is_copied_without_waiting():
    pinned = torch.arange(10_000).pin_memory()
    assert pinned.is_pinned()
    on_device = pinned.to("cuda", non_blocking=True)
    back = torch.empty(10_000, dtype=torch.int64, pin_memory=True)
    back.copy_(on_device, non_blocking=True)
    torch.cuda.synchronize()
    assert torch.equal(back, torch.arange(10_000))


def test_graphs_recompute_from_their_inputs():
    numbers = torch.zeros(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    warm_up(lambda: (numbers * 3 + 1).sum())
    with torch.cuda.graph(graph):
        total = (numbers * 3 + 1).sum()
    for value in (1.0, 5.0):
        numbers.fill_(value)
        graph.replay()
        assert total.item() == 1000 * (3 * value + 1)


def test_training_steps_in_graphs_equal_eager_steps():
    images, classes = torch.randn(4, 1, 28, 28, device="cuda"), torch.randint(0, 10, (4,), device="cuda")
    eager, captured = LeNet().cuda(), LeNet().cuda()
    captured.load_state_dict(eager.state_dict())

    def step(model, optimizer):
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss

    optimizers = [torch.optim.SGD(model.parameters(), lr=0.01) for model in (eager, captured)]
    warm_up(lambda: step(captured, optimizers[1]))
    step(eager, optimizers[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(captured, optimizers[1])
    for _ in range(3):
        graph.replay()
        assert_near(loss, step(eager, optimizers[0]))


def warm_up(work):
    """Runs work on a side stream, which torch requires before a capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)


def test_an_index_outside_of_a_table_is_an_error(tmp_path):
    """A separate process, because the failed device assertion makes the device unusable."""
    import subprocess
    import sys

    script = "import torch; torch.nn.Embedding(4, 2).cuda()(torch.tensor([9]).cuda()); torch.cuda.synchronize()"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode != 0
    assert "device-side assert triggered" in run.stderr
    assert "index out of bounds" in run.stdout + run.stderr or "srcIndex < srcSelectDimSize" in run.stdout + run.stderr
