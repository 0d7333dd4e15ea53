"""LeNet, scikit-learn's handwritten digits in MNIST's size, and the distance of two tensors."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class LeNet(nn.Module):
    """Two convolutions and two linear layers, as in Caffe's version."""

    def __init__(self, normalized=False, pool=F.max_pool2d):
        super().__init__()
        self.pool = pool
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.linear1 = nn.Linear(800, 500)
        self.linear2 = nn.Linear(500, 10)
        self.norm = nn.BatchNorm2d(50) if normalized else None
        self.dropout = nn.Dropout(0.3) if normalized else None

    def layers(self, images):
        """Returns the output of each layer by name."""
        outputs = {}

        def keep(name, output):
            outputs[name] = output
            return output

        x = keep("conv1", self.conv1(images))
        x = keep("pool1", self.pool(x, 2))
        x = keep("conv2", self.conv2(x))
        if self.norm:
            x = keep("norm", self.norm(x))
        x = keep("pool2", self.pool(x, 2))
        x = keep("linear1", self.linear1(x.view(-1, 800)))
        x = keep("relu", F.relu(x))
        if self.dropout:
            x = keep("dropout", self.dropout(x))
        keep("linear2", self.linear2(x))
        return outputs

    def forward(self, images):
        return self.layers(images)["linear2"]


def digits():
    """1,797 images of 28 by 28 pixels between 0 and 1, and their digits.

    Some noise keeps pixels from being equal: where the greatest value of a pool stands twice, which of them the gradient goes
    to is left to rounding.
    """
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16
    images = F.interpolate(images, size=(28, 28), mode="bilinear", align_corners=False)
    noise = torch.rand(images.shape, generator=torch.Generator().manual_seed(2))
    return 0.98 * images + 0.02 * noise, torch.tensor(labels)


def network(device="cpu", **options):
    """Returns equal networks on all devices."""
    torch.manual_seed(1)
    return LeNet(**options).to(device)


def distance(actual, expected):
    """Returns the greatest difference, relative to the greatest value."""
    actual, expected = actual.detach().cpu().double(), expected.detach().cpu().double()
    return ((actual - expected).abs().max() / expected.abs().max()).item()
