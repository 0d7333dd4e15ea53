"""LeNet: every layer, gradient and step matches the CPU."""

import pytest
import torch
from torch.nn import functional

from comparing import assert_near, on_gpu
from models import LeNet, losses


@pytest.fixture
def batch():
    return torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))


def test_every_layer_of_three_images_is_near_that_of_the_cpu():
    model, images = LeNet(), torch.randn(3, 1, 28, 28)
    expected, found = model.layers(images), on_gpu(model).layers(images.cuda())
    for name in expected:
        assert_near(found[name], expected[name], name=name)


def test_every_gradient_is_near_that_of_the_cpu(batch):
    model, (images, classes) = LeNet(), batch
    gpu_model = on_gpu(model)
    functional.cross_entropy(model(images), classes).backward()
    functional.cross_entropy(gpu_model(images.cuda()), classes.cuda()).backward()
    for (name, cpu), gpu in zip(model.named_parameters(), gpu_model.parameters()):
        assert_near(gpu.grad, cpu.grad, name=name)


OPTIMIZERS = {
    "sgd with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_losses_of_twenty_steps_are_those_of_the_cpu(name, batch):
    model, (images, classes) = LeNet(), batch
    gpu_model = on_gpu(model)
    expected = losses(model, OPTIMIZERS[name], images, classes, steps=20)
    found = losses(gpu_model, OPTIMIZERS[name], images.cuda(), classes.cuda(), steps=20)
    assert_near(found, expected, within=1e-4)
    assert expected[-1] < expected[0] / 2


def test_a_model_that_was_saved_on_the_gpu_is_read_on_the_cpu(tmp_path, batch):
    model = LeNet().cuda()
    torch.save(model.state_dict(), tmp_path / "lenet.pt")
    copy = LeNet()
    copy.load_state_dict(torch.load(tmp_path / "lenet.pt", map_location="cpu"))
    assert_near(model(batch[0].cuda()), copy(batch[0]))
