"""Layers that differ between training and evaluation."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from lenet import digits, distance, network


def test_dropout_drops_its_share_and_masks_gradients_alike(measured):
    torch.manual_seed(3)
    x = torch.rand(200, 500, device="cuda") + 1
    x.requires_grad_()
    y = F.dropout(x, 0.3)
    y.sum().backward()
    kept = y != 0
    # Of 100,000 values; five standard deviations.
    measured("share that is kept, off by", abs(kept.float().mean().item() - 0.7), 0.0073)
    measured("values that are kept", distance(y[kept], x[kept] / 0.7), 1e-6)
    measured("gradients", distance(x.grad, kept.float() / 0.7), 1e-6)


def test_dropout_depends_on_the_seed():
    x = torch.ones(1000, device="cuda")

    def dropped(seed):
        torch.manual_seed(seed)
        return F.dropout(x, 0.5)

    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))


def normalized(device, images):
    """Returns a network after a training pass without dropout, with its layers' outputs in training and evaluation."""
    net = network(device, normalized=True)
    net.dropout.p = 0
    outputs = net.layers(images.to(device))
    outputs["linear2"].pow(2).mean().backward()
    net.eval()
    with torch.no_grad():
        return net, outputs, net.layers(images.to(device))


def test_batch_normalization_matches_the_processor(convolutions, measured):
    images = digits()[0][:64]
    expected, expected_trained, expected_evaluated = normalized("cpu", images)
    actual, trained, evaluated = normalized("cuda", images)
    for name in trained:
        measured(f"output of {name} in training", distance(trained[name], expected_trained[name]), 1e-5)
        measured(f"output of {name} in evaluation", distance(evaluated[name], expected_evaluated[name]), 1e-5)
    measured("running mean", distance(actual.norm.running_mean, expected.norm.running_mean), 1e-5)
    measured("running variance", distance(actual.norm.running_var, expected.norm.running_var), 1e-5)
    for (name, weights), expected_weights in zip(actual.named_parameters(), expected.parameters()):
        # Normalisation removes common offsets, whose gradients are only rounding errors.
        if name not in ("conv1.bias", "conv2.bias"):
            measured(f"gradient of {name}", distance(weights.grad, expected_weights.grad), 2e-5)


def test_other_losses_and_activations_are_those_of_the_processor(measured):
    torch.manual_seed(4)
    x, target = torch.randn(64, 100), torch.rand(64, 100)
    functions = {
        "mse": lambda x, y: F.mse_loss(x, y),
        "l1": lambda x, y: F.l1_loss(x, y),
        "binary cross entropy": lambda x, y: F.binary_cross_entropy_with_logits(x, y),
        "kl divergence": lambda x, y: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean"),
        "gelu": lambda x, y: F.gelu(x).mul(y).sum(),
        "elu": lambda x, y: F.elu(x).mul(y).sum(),
        "tanh": lambda x, y: torch.tanh(x).mul(y).sum(),
        "sigmoid": lambda x, y: torch.sigmoid(x).mul(y).sum(),
        "layer norm": lambda x, y: nn.LayerNorm(100).to(x.device)(x).mul(y).sum(),
    }
    for name, function in functions.items():
        losses, gradients = [], []
        for device in ("cpu", "cuda"):
            leaf = x.detach().to(device).requires_grad_()
            loss = function(leaf, target.to(device))
            loss.backward()
            losses.append(loss)
            gradients.append(leaf.grad)
        measured(f"{name}: loss", distance(losses[1], losses[0]), 1e-5)
        measured(f"{name}: gradient", distance(gradients[1], gradients[0]), 1e-5)
