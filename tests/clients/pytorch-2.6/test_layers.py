"""Results and gradients of each layer match the CPU."""

import pytest
import torch
from torch import nn

from comparing import assert_near, on_gpu, same_on_both


def images(*shape):
    return torch.randn(*shape, requires_grad=True)


LAYERS = {
    "linear": (lambda: nn.Linear(30, 20), (8, 30)),
    "linear without bias": (lambda: nn.Linear(30, 20, bias=False), (8, 30)),
    "linear of a sequence": (lambda: nn.Linear(16, 48), (4, 10, 16)),
    "adaptive pool": (lambda: nn.AdaptiveAvgPool2d(3), (2, 4, 10, 11)),
    "convolution 3x3": (lambda: nn.Conv2d(4, 8, 3, padding=1), (2, 4, 10, 12)),
    "convolution with stride": (lambda: nn.Conv2d(4, 8, 5, stride=2), (2, 4, 13, 13)),
    "convolution in groups": (lambda: nn.Conv2d(4, 8, 3, groups=2), (2, 4, 9, 9)),
    "convolution by depth": (lambda: nn.Conv2d(6, 6, 3, groups=6, padding=1), (2, 6, 9, 9)),
    "convolution with dilation": (lambda: nn.Conv2d(3, 5, 3, dilation=2), (2, 3, 12, 12)),
    "convolution in one dimension": (lambda: nn.Conv1d(4, 6, 3), (2, 4, 20)),
    "convolution in three dimensions": (lambda: nn.Conv3d(2, 3, 3), (1, 2, 6, 6, 6)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(4, 3, 3, stride=2), (2, 4, 6, 6)),
    "maximum pool": (lambda: nn.MaxPool2d(2), (2, 3, 10, 10)),
    "average pool": (lambda: nn.AvgPool2d(3, stride=2, padding=1), (2, 3, 11, 11)),
    "batch norm of images": (lambda: nn.BatchNorm2d(5), (4, 5, 6, 7)),
    "batch norm of vectors": (lambda: nn.BatchNorm1d(5), (16, 5)),
    "batch norm in evaluation": (lambda: nn.BatchNorm2d(5).eval(), (4, 5, 6, 7)),
    "layer norm": (lambda: nn.LayerNorm(40), (6, 10, 40)),
    "group norm": (lambda: nn.GroupNorm(2, 6), (3, 6, 5, 5)),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), (3, 4, 8, 8)),
    "gelu": (nn.GELU, (50, 30)),
    "gelu by tanh": (lambda: nn.GELU(approximate="tanh"), (50, 30)),
    "relu": (nn.ReLU, (50, 30)),
    "silu": (nn.SiLU, (50, 30)),
    "softplus": (nn.Softplus, (50, 30)),
    "leaky relu": (nn.LeakyReLU, (50, 30)),
    "softmax of short rows": (lambda: nn.Softmax(dim=-1), (20, 30)),
    "softmax of long rows": (lambda: nn.Softmax(dim=-1), (3, 3000)),
    "softmax along the first dimension": (lambda: nn.Softmax(dim=0), (20, 30)),
    "logarithm of softmax": (lambda: nn.LogSoftmax(dim=-1), (20, 30)),
    "upsampling": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 5, 6)),
    "recurrent": (lambda: nn.RNN(10, 12, batch_first=True), (3, 5, 10)),
    "long short-term memory": (lambda: nn.LSTM(10, 12, batch_first=True), (3, 5, 10)),
    "gated recurrent": (lambda: nn.GRU(10, 12, batch_first=True), (3, 5, 10)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_the_same_on_both(name):
    make, shape = LAYERS[name]
    same_on_both(make(), images(*shape))


def test_batch_norm_keeps_the_statistics_of_the_cpu():
    norm = nn.BatchNorm2d(5)
    gpu_norm, batch = on_gpu(norm), torch.randn(4, 5, 6, 7)
    norm(batch), gpu_norm(batch.cuda())
    assert_near(gpu_norm.running_mean, norm.running_mean)
    assert_near(gpu_norm.running_var, norm.running_var)


def test_an_embedding_and_its_gradient_are_the_same_on_both():
    same_on_both(nn.Embedding(40, 12), torch.randint(0, 40, (6, 20)))


def test_an_embedding_bag_is_the_same_on_both():
    same_on_both(nn.EmbeddingBag(40, 12, mode="mean"), torch.randint(0, 40, (6, 20)))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_several_heads_is_the_same_on_both(causal):
    attention = nn.MultiheadAttention(32, 4, batch_first=True)
    words = images(2, 10, 32)
    mask = torch.triu(torch.ones(10, 10, dtype=torch.bool), diagonal=1) if causal else None
    gpu_attention, gpu_words = on_gpu(attention), on_gpu(words)
    expected, weights = attention(words, words, words, attn_mask=mask)
    found, gpu_weights = gpu_attention(gpu_words, gpu_words, gpu_words, attn_mask=mask.cuda() if causal else None)
    assert_near(found, expected)
    assert_near(gpu_weights, weights, name="weights")
    expected.square().sum().backward()
    found.square().sum().backward()
    assert_near(gpu_words.grad, words.grad, name="gradient of words")
    for (name, cpu), gpu in zip(attention.named_parameters(), gpu_attention.parameters()):
        assert_near(gpu.grad, cpu.grad, name=f"gradient of {name}")


@pytest.mark.parametrize("causal", [False, True])
def test_scaled_dot_product_attention_is_the_same_on_both(causal):
    cpu = [images(2, 4, 16, 8) for _ in range(3)]
    gpu = [on_gpu(value) for value in cpu]
    expected = nn.functional.scaled_dot_product_attention(*cpu, is_causal=causal)
    found = nn.functional.scaled_dot_product_attention(*gpu, is_causal=causal)
    assert_near(found, expected)
    expected.square().sum().backward()
    found.square().sum().backward()
    for name, a, b in zip("qkv", gpu, cpu):
        assert_near(a.grad, b.grad, name=f"gradient of {name}")


def test_dropout_drops_its_share_and_scales_the_rest():
    kept = nn.Dropout(0.25)(torch.ones(20_000, device="cuda"))
    assert set(kept.unique().tolist()) == {0.0, torch.tensor(4 / 3).item()}
    assert abs((kept == 0).float().mean().item() - 0.25) < 0.02


LOSSES = {
    "cross entropy": (nn.CrossEntropyLoss(), lambda: torch.randint(0, 10, (16,))),
    "cross entropy with smoothing": (nn.CrossEntropyLoss(label_smoothing=0.1), lambda: torch.randint(0, 10, (16,))),
    "mean square": (nn.MSELoss(), lambda: torch.randn(16, 10)),
    "absolute": (nn.L1Loss(), lambda: torch.randn(16, 10)),
    "smooth absolute": (nn.SmoothL1Loss(), lambda: torch.randn(16, 10)),
    "binary cross entropy": (nn.BCEWithLogitsLoss(), lambda: torch.rand(16, 10)),
    "divergence": (nn.KLDivLoss(reduction="batchmean"), lambda: torch.softmax(torch.randn(16, 10), 1)),
    "margins": (nn.MultiMarginLoss(), lambda: torch.randint(0, 10, (16,))),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_and_its_gradient_are_the_same_on_both(name):
    loss, make_targets = LOSSES[name]
    scores, targets = images(16, 10), make_targets()
    gpu_scores = on_gpu(scores)
    expected, found = loss(scores, targets), loss(gpu_scores, targets.cuda())
    assert_near(found, expected)
    expected.backward()
    found.backward()
    assert_near(gpu_scores.grad, scores.grad, name="gradient")


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "sgd with momentum": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-3),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "fused adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01, fused=True),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_five_steps_of_an_optimizer_lead_to_the_same_weights(name):
    model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 3))
    gpu_model, batch = on_gpu(model), torch.randn(32, 12)
    for which, data in ((model, batch), (gpu_model, batch.cuda())):
        optimizer = OPTIMIZERS[name](which.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            which(data).square().mean().backward()
            optimizer.step()
    for (name, cpu), gpu in zip(model.named_parameters(), gpu_model.parameters()):
        assert_near(gpu, cpu, within=1e-4, name=name)


def test_clipping_of_gradients_is_the_same_on_both():
    model = nn.Linear(12, 16)
    gpu_model, batch = on_gpu(model), torch.randn(32, 12)
    (model(batch) * 10).square().sum().backward()
    (gpu_model(batch.cuda()) * 10).square().sum().backward()
    expected = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert_near(nn.utils.clip_grad_norm_(gpu_model.parameters(), 1.0), expected)
    assert_near(gpu_model.weight.grad, model.weight.grad)
