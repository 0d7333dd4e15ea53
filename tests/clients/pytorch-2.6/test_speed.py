"""Run times. The bounds are those documented for two cores."""

import os
import subprocess
import sys
import time

import pytest
import torch

from comparing import measured
from models import LeNet, Transformer, losses


def seconds(script):
    """Returns the run time of a new process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True, cwd=os.path.dirname(__file__))
    return time.perf_counter() - start


def test_python_creates_a_tensor_within_fifteen_seconds():
    measured("seconds", seconds("import torch; torch.zeros(4, device='cuda').tolist()"), within=15)


def test_python_classifies_three_images_within_ten_seconds():
    script = "import torch, models; models.LeNet().cuda()(torch.randn(3, 1, 28, 28).cuda()).tolist()"
    measured("seconds", seconds(script), within=10)


@pytest.fixture
def sgd():
    return lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def test_a_training_step_of_64_images_takes_less_than_a_minute(sgd):
    model = LeNet().cuda()
    images, classes = torch.randn(64, 1, 28, 28, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    losses(model, sgd, images, classes, steps=1)
    start = time.perf_counter()
    losses(model, sgd, images, classes, steps=1)
    measured("seconds", time.perf_counter() - start, within=60)


def test_ten_steps_of_a_transformer_take_less_than_a_minute(sgd):
    model, words = Transformer().cuda(), torch.randint(0, 32, (4, 17), device="cuda")
    start = time.perf_counter()
    losses(model, sgd, words[:, :-1], words[:, 1:], steps=10)
    measured("seconds", time.perf_counter() - start, within=60)


def test_python_with_pytorch_takes_less_than_a_gigabyte():
    # Peak of this process only: getrusage's value starts from the parent's.
    script = (
        "import re, torch; torch.zeros(4, device='cuda').tolist();"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    measured("megabytes", int(run.stdout) / 1024, within=1024)
