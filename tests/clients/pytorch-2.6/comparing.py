"""The same module on the CPU and on the simulated GPU, and how far their numbers are apart."""

import copy
import os

import torch

# Of single precision, in units of the tensor's largest value: sums of a few thousand products in another order.
SINGLE = 1e-5


def apart(found, expected):
    """The largest difference of two tensors, as a part of the largest value that was expected."""
    found, expected = found.detach().double().cpu(), expected.detach().double().cpu()
    assert found.shape == expected.shape
    assert torch.isfinite(found).all()
    largest = expected.abs().max().item()
    return (found - expected).abs().max().item() / (largest if largest > 0 else 1.0)


def assert_near(found, expected, within=SINGLE, name="result"):
    measured(f"{name} apart by", apart(found, expected), within)


def measured(what, value, within):
    """Compares a figure with its bound; if MEASURED names a file, adds a line to it: the test, what, the value, the bound."""
    path = os.environ.get("MEASURED")
    if path:
        test = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].removesuffix(" (call)")
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{test}\t{what}\t{value:.2g}\t{within:g}\n")
    assert value <= within, f"{what} {value:.3g}, allowed are {within:g}"


def on_gpu(value):
    """A copy of a tensor or module on the GPU; a tensor that wants a gradient still does."""
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).cuda()
    return value.detach().cuda().requires_grad_(value.requires_grad)


def same_on_both(module, *inputs, within=SINGLE):
    """Results, gradients of inputs and gradients of parameters are those of the CPU."""
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
    """Recurrent layers and attention give tuples."""
    return result[0] if isinstance(result, tuple) else result
