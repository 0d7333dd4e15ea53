"""Run times."""

import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from lenet import digits, network


def seconds(program):
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parent, check=True)
    return time.monotonic() - start


def test_a_program_classifies_three_images_within_ten_seconds(measured):
    program = "import torch; from lenet import LeNet; print(LeNet().cuda()(torch.rand(3, 1, 28, 28).cuda()).sum().item())"
    measured("seconds", seconds(program), 10)


def test_a_training_step_of_64_images_takes_less_than_a_minute(measured):
    images, labels = (part[:64] for part in digits())
    net = network("cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    times = []
    for _ in range(2):
        start = time.monotonic()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.monotonic() - start)
    measured("seconds of the first step", times[0], 60)
    measured("seconds of the second step", times[1], 60)
