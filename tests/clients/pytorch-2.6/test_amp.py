"""torch.cuda.amp: autocast to half precision, and scaled gradients."""

import pytest
import torch
from torch import nn

from comparing import assert_near, on_gpu
from models import LeNet


@pytest.mark.parametrize("kind, within", [(torch.float16, 5e-3), (torch.bfloat16, 4e-2)])
def test_autocast_linear_layers_use_the_short_type(kind, within):
    layer, batch = nn.Linear(64, 32), torch.randn(16, 64)
    with torch.autocast("cuda", dtype=kind):
        found = on_gpu(layer)(batch.cuda())
    assert found.dtype == kind
    assert_near(found, layer(batch), within)


@pytest.mark.parametrize("kind, within", [(torch.float16, 1e-2), (torch.bfloat16, 8e-2)])
def test_lenet_under_autocast_approximates_single_precision(kind, within):
    model, images = LeNet(), torch.randn(2, 1, 28, 28)
    with torch.autocast("cuda", dtype=kind):
        found = on_gpu(model)(images.cuda())
    assert_near(found, model(images), within)


def test_reductions_under_autocast_stay_in_single_precision():
    with torch.autocast("cuda"):
        assert torch.randn(4, 10, device="cuda").half().softmax(-1).dtype == torch.float32


def test_scaled_gradients_approximate_the_weights_of_the_cpu():
    model, batch = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)), torch.randn(16, 32)
    gpu_model = on_gpu(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    gpu_optimizer = torch.optim.SGD(gpu_model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(5):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        gpu_optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = gpu_model(batch.cuda()).square().mean()
        scaler.scale(loss).backward()
        scaler.step(gpu_optimizer)
        scaler.update()
    for (name, cpu), gpu in zip(model.named_parameters(), gpu_model.parameters()):
        assert_near(gpu, cpu, within=5e-3, name=name)


def test_infinite_gradients_skip_the_step_and_halve_the_scale():
    weight = torch.ones(4, device="cuda", requires_grad=True)
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), torch.amp.GradScaler("cuda", init_scale=1024.0)
    scaler.scale(weight.sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [1.0] * 4
    assert scaler.get_scale() == 512.0
