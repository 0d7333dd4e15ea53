"""`torch.compile` by Inductor and Triton, where Triton is installed in the environment."""

import copy

import pytest
import torch
from torch import nn

pytest.importorskip("triton")


def test_compiled_model_has_the_gradients_of_the_cpu():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 16), nn.GELU(), nn.LayerNorm(16))
    inputs = torch.randn(8, 20)
    gradients = []
    for device in ("cpu", "cuda"):
        placed = copy.deepcopy(model).to(device)
        function = torch.compile(placed) if device == "cuda" else placed
        own = inputs.clone().to(device).requires_grad_()
        (function(own) ** 2).sum().backward()
        gradients.append(own.grad.cpu())
    assert (gradients[0] - gradients[1]).abs().max() < 1e-4
