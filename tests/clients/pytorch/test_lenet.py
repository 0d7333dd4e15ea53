"""LeNet in single precision: each tensor matches the processor."""

import pytest
import torch
import torch.nn.functional as F
from lenet import digits, distance, network

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.02, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
}


def one_pass(device, images, labels):
    """Returns the network after a forward and backward pass, its layers' outputs, and the loss."""
    net = network(device)
    outputs = net.layers(images.to(device))
    for output in outputs.values():
        output.retain_grad()
    loss = F.cross_entropy(outputs["linear2"], labels.to(device))
    loss.backward()
    return net, outputs, loss


@pytest.mark.parametrize("count", [3, 64])
def test_each_layer_and_each_gradient_is_that_of_the_processor(convolutions, measured, count):
    images, labels = (part[:count] for part in digits())
    _, expected_outputs, expected_loss = expected = one_pass("cpu", images, labels)
    _, outputs, loss = actual = one_pass("cuda", images, labels)
    measured("loss", distance(loss, expected_loss), 1e-5)
    for name, output in outputs.items():
        measured(f"output of {name}", distance(output, expected_outputs[name]), 1e-5)
        measured(f"gradient of {name}'s output", distance(output.grad, expected_outputs[name].grad), 1e-5)
    for (name, weights), expected_weights in zip(actual[0].named_parameters(), expected[0].parameters()):
        measured(f"gradient of {name}", distance(weights.grad, expected_weights.grad), 1e-5)


def train(device, optimizer, steps, batch):
    """Returns the network after some steps, and the losses."""
    images, labels = digits()
    net = network(device)
    optimizer = OPTIMIZERS[optimizer](net.parameters())
    losses = []
    for step in range(steps):
        chosen = slice(step * batch, (step + 1) * batch)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images[chosen].to(device)), labels[chosen].to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, torch.tensor(losses)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_weights_after_one_step_are_those_of_the_processor(convolutions, measured, optimizer):
    expected, _ = train("cpu", optimizer, steps=1, batch=64)
    actual, _ = train("cuda", optimizer, steps=1, batch=64)
    for (name, weights), expected_weights in zip(actual.named_parameters(), expected.parameters()):
        # Adam's first step has the length of its rate wherever the gradient is not zero; where that is rounding alone, so is
        # the step's direction.
        clear = expected_weights.grad.abs() > 1e-4 * expected_weights.grad.abs().max()
        assert clear.float().mean() > 0.5
        measured(name, distance(weights.cpu()[clear], expected_weights[clear]), 1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_losses_of_twenty_steps_are_those_of_the_processor(convolutions, measured, optimizer):
    _, expected = train("cpu", optimizer, steps=20, batch=64)
    _, losses = train("cuda", optimizer, steps=20, batch=64)
    assert expected[-1] < 0.85 * expected[0], "the network does not learn"
    measured("greatest relative difference", ((losses - expected).abs() / expected.abs()).max().item(), 1e-4)
