"""Trained networks."""

import torch
from torch import nn
from torch.nn import functional


class LeNet(nn.Module):
    """Two convolutions of 5x5, each with a pool, and two linear layers; 28x28 pixels, ten classes."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.linear1 = nn.Linear(800, 500)
        self.linear2 = nn.Linear(500, 10)

    def layers(self, images):
        """Returns the result of each layer by name."""
        results = {}
        results["conv1"] = self.conv1(images)
        results["pool1"] = functional.max_pool2d(results["conv1"], 2)
        results["conv2"] = self.conv2(results["pool1"])
        results["pool2"] = functional.max_pool2d(results["conv2"], 2)
        results["linear1"] = functional.relu(self.linear1(results["pool2"].flatten(1)))
        results["linear2"] = self.linear2(results["linear1"])
        return results

    def forward(self, images):
        return self.layers(images)["linear2"]


class Transformer(nn.Module):
    """Two encoder layers over 32 words, which predict the next word."""

    def __init__(self, words=32, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2)
        self.next = nn.Linear(width, words)

    def forward(self, words):
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1], device=words.device)
        return self.next(self.layers(self.words(words), mask=mask, is_causal=True))


def losses(model, make_optimizer, inputs, targets, steps):
    """Trains on one batch. Returns the loss before each step."""
    optimizer, curve = make_optimizer(model.parameters()), []
    for _ in range(steps):
        optimizer.zero_grad()
        scores = model(inputs)
        loss = functional.cross_entropy(scores.flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return torch.tensor(curve)
