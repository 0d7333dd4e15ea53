"""A transformer of two layers learns as on the CPU."""

import torch

from comparing import assert_near, on_gpu
from models import Transformer, losses


def test_transformer_losses_of_ten_steps_match_the_cpu():
    model, words = Transformer(), torch.randint(0, 32, (4, 17))
    gpu_model, inputs, targets = on_gpu(model), words[:, :-1], words[:, 1:]

    def adam(parameters):
        return torch.optim.Adam(parameters, lr=1e-3)

    expected = losses(model, adam, inputs, targets, steps=10)
    found = losses(gpu_model, adam, inputs.cuda(), targets.cuda(), steps=10)
    assert_near(found, expected, within=1e-4)
    assert expected[-1] < expected[0]


def test_transformer_scores_match_the_cpu():
    model, words = Transformer().eval(), torch.randint(0, 32, (4, 16))
    with torch.no_grad():
        assert_near(on_gpu(model)(words.cuda()), model(words))
