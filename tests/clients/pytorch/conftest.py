"""PyTorch on the simulator beside PyTorch on the processor.

Each number that a test claims goes through `measured`, which compares it with its bound and, if MEASURED names a file, adds
a line to it: the test, what was measured, the value, the bound.
"""

import os

import pytest


@pytest.fixture
def measured(request):
    def measure(what, value, bound):
        path = os.environ.get("MEASURED")
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{request.node.name}\t{what}\t{value:.2g}\t{bound:g}\n")
        assert value <= bound, f"{what}: {value:.3g} is more than {bound:g}"

    return measure


@pytest.fixture(params=["cudnn", "no-cudnn"])
def cudnn(request):
    """The test runs with cuDNN, and with PyTorch's own convolutions over cuBLAS."""
    import torch

    torch.backends.cudnn.enabled = request.param == "cudnn"
    yield request.param == "cudnn"
    torch.backends.cudnn.enabled = True
