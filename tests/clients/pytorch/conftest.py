"""PyTorch on the simulator compared with PyTorch on the processor.

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


@pytest.fixture(params=["cudnn", "deterministic", "no-cudnn"])
def convolutions(request):
    """The test runs with the algorithms that cuDNN chooses, with those that PyTorch asks it for when results are to be the same
    in each run, and with PyTorch's own convolutions over cuBLAS."""
    import torch

    torch.backends.cudnn.enabled = request.param != "no-cudnn"
    torch.backends.cudnn.deterministic = request.param == "deterministic"
    yield request.param
    torch.backends.cudnn.enabled = True
    torch.backends.cudnn.deterministic = False
