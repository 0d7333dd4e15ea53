"""LeNet in half precision, compared with single precision on the processor with the same rounded weights and images."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from lenet import digits, distance, network

#: Half precision has 11 bits: rounding the result alone costs 2^-11 = 4.9e-4 of it. Sums over 500 products are kept in
#: single precision by cuBLAS and cuDNN, but each layer works on rounded outputs of the one before.
FORWARD = 2e-3
#: Gradients pass eight roundings; and where rounding changes the sign of a value before `relu`, its gradient comes or goes.
BACKWARD = 5e-3


def one_pass(device, pool):
    net = network(pool=pool).half().float()
    images, labels = (part[:16] for part in digits())
    images = images.half().float()
    if device == "cuda":
        net, images = net.to(device).half(), images.to(device).half()
    outputs = net.layers(images)
    # The factor keeps small gradients in half precision's range.
    (F.cross_entropy(outputs["linear2"].float(), labels.to(device)) * 128).backward()
    return net, outputs


def errors():
    """Of the layers' outputs, and of the gradients of a network whose pools take the mean: which value of a pool is the greatest
    is often left to half precision's rounding, and the gradient goes there."""
    _, expected = one_pass("cpu", F.max_pool2d)
    _, actual = one_pass("cuda", F.max_pool2d)
    forward = {name: distance(output, expected[name]) for name, output in actual.items()}
    expected, _ = one_pass("cpu", F.avg_pool2d)
    actual, _ = one_pass("cuda", F.avg_pool2d)
    pairs = zip(actual.named_parameters(), expected.parameters())
    backward = {name: distance(weights.grad, wanted.grad) for (name, weights), wanted in pairs}
    return forward, backward


@pytest.mark.parametrize("contraction", ["1", "0"], ids=["fused", "rounded"])
def test_layers_and_gradients_are_within_half_precision_bounds(measured, contraction):
    """Contraction of products must not exceed these bounds."""
    command = [sys.executable, "-c", "import json, test_half; print(json.dumps(test_half.errors()))"]
    environment = {**os.environ, "VOLTSIM_FMAD": contraction}
    output = subprocess.run(command, env=environment, cwd=Path(__file__).parent, stdout=subprocess.PIPE, check=True)
    forward, backward = json.loads(output.stdout)
    for name, error in forward.items():
        measured(f"output of {name}", error, FORWARD)
    for name, error in backward.items():
        measured(f"gradient of {name}", error, BACKWARD)


def test_half_precision_training_matches_single_precision(measured):
    images, labels = digits()
    losses = {}
    for device in ("cpu", "cuda"):
        net = network(device)
        net = net.half() if device == "cuda" else net
        losses[device] = []
        for step in range(10):
            chosen = slice(step * 64, (step + 1) * 64)
            x = images[chosen].to(device)
            outputs = net(x.half() if device == "cuda" else x).float()
            loss = F.cross_entropy(outputs, labels[chosen].to(device))
            net.zero_grad()
            loss.backward()
            with torch.no_grad():
                for weights in net.parameters():
                    weights -= 0.1 * weights.grad
            losses[device].append(loss.item())
    assert losses["cuda"][-1] < losses["cuda"][0]
    difference = max(abs(a - b) / b for a, b in zip(losses["cuda"], losses["cpu"]))
    measured("greatest relative difference of the losses of ten steps", difference, 2e-2)
