"""Comparison of a module on the CPU and on the simulated GPU."""

import copy
import os

import torch

# Tolerance of single precision, relative to the tensor's largest value: reordered sums of a few thousand products.
SINGLE = 1e-5


def apart(found, expected):
    """Returns the largest difference of two tensors, relative to the largest expected value."""
    found, expected = found.detach().double().cpu(), expected.detach().double().cpu()
    assert found.shape == expected.shape
    assert torch.isfinite(found).all()
    largest = expected.abs().max().item()
    return (found - expected).abs().max().item() / (largest if largest > 0 else 1.0)


def assert_near(found, expected, within=SINGLE, name="result"):
    measured(f"{name} apart by", apart(found, expected), within)


def measured(what, value, within):
    """Compares a figure with its bound. Appends test, quantity, value and bound to the file MEASURED, if set."""
    path = os.environ.get("MEASURED")
    if path:
        test = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].removesuffix(" (call)")
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{test}\t{what}\t{value:.2g}\t{within:g}\n")
    assert value <= within, f"{what} {value:.3g}, allowed are {within:g}"


def on_gpu(value):
    """Copies a tensor or module to the GPU, and keeps requires_grad."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).cuda()
    return value.detach().cuda().requires_grad_(value.requires_grad)


def same_on_both(module, *inputs, within=SINGLE):
    """Checks that results and gradients of inputs and parameters match the CPU."""
    gpu_module, gpu_inputs = on_gpu(module), [on_gpu(value) for value in inputs]
    expected, found = first(module(*inputs)), first(gpu_module(*gpu_inputs))
    assert found.is_cuda
    assert_near(found, expected, within)
    if not expected.requires_grad:
        return
    weights = torch.randn(expected.shape, dtype=expected.dtype)
    (expected * weights).sum().backward()
    (found * weights.cuda()).sum().backward()
    for place, (cpu, gpu) in enumerate(zip(inputs, gpu_inputs)):
        if cpu.requires_grad:
            assert_near(gpu.grad, cpu.grad, within, f"gradient of input {place}")
    for (name, cpu), gpu in zip(module.named_parameters(), gpu_module.parameters()):
        assert_near(gpu.grad, cpu.grad, within, f"gradient of {name}")


def first(result):
    """Recurrent layers and attention return tuples."""
    return result[0] if isinstance(result, tuple) else result
