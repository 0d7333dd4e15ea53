"""DataLoader with worker processes, and models shared between processes."""

import subprocess
import sys

import pytest
import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, place):
        return torch.full((3,), float(place)), place * place


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_data_loader_workers_return_data_in_order(start):
    torch.ones(1, device="cuda")
    loader = DataLoader(Squares(), batch_size=8, num_workers=2, multiprocessing_context=start, pin_memory=True)
    squares = []
    for numbers, found in loader:
        assert numbers.is_pinned()
        assert torch.equal((numbers.cuda()[:, 0] ** 2).cpu().long(), found)
        squares += found.tolist()
    assert squares == [place * place for place in range(40)]


def on_the_gpu(results, number):
    results.put((torch.ones(10, device="cuda") * number).sum().item())


def test_spawned_processes_use_the_gpu():
    torch.ones(1, device="cuda")
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    process = context.Process(target=on_the_gpu, args=(results, 3))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert results.get() == 30


def test_forked_processes_are_told_to_spawn():
    torch.ones(1, device="cuda")
    context = torch.multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def child():
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            send.send(str(error))

    process = context.Process(target=child)
    process.start()
    process.join()
    assert receive.poll() and "spawn" in receive.recv()


def test_programs_of_the_host_run_as_children():
    assert subprocess.run(["/bin/echo", "here"], capture_output=True, text=True, check=True).stdout == "here\n"
    version = subprocess.run([sys.executable, "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("Python 3.13")
