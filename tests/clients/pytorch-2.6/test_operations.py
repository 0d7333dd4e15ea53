"""Functions of tensors, with gradients if differentiable."""

import pytest
import torch
from torch.nn import functional

from comparing import SINGLE, assert_near, first, on_gpu


def normal(*shape):
    return torch.randn(*shape, requires_grad=True)


def positive(*shape):
    return (torch.rand(*shape) * 0.8 + 0.1).requires_grad_()


def whole(limit, *shape):
    return torch.randint(0, limit, shape)


# Functions with their arguments.
OPERATIONS = {
    "addmm": (torch.addmm, lambda: (normal(30), normal(20, 40), normal(40, 30))),
    "baddbmm": (torch.baddbmm, lambda: (normal(3, 5, 7), normal(3, 5, 6), normal(3, 6, 7))),
    "matrix by vector": (torch.mv, lambda: (normal(30, 20), normal(20))),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->bik", a, b), lambda: (normal(3, 4, 5), normal(3, 6, 5))),
    "product of 512 by 512": (torch.mm, lambda: (torch.randn(512, 512), torch.randn(512, 512))),
    "convolution of channels last": (
        lambda a, b: functional.conv2d(a.to(memory_format=torch.channels_last), b, padding=1),
        lambda: (normal(2, 8, 12, 12), normal(16, 8, 3, 3)),
    ),
    "topk": (lambda a: torch.topk(a, 10), lambda: (normal(5, 2000),)),
    "sort of many": (torch.sort, lambda: (torch.randn(100_000),)),
    "unique": (torch.unique, lambda: (whole(50, 10_000),)),
    "nonzero": (lambda a: (a > 0.3).nonzero(), lambda: (torch.randn(100, 30),)),
    "median": (lambda a: a.median(-1), lambda: (torch.randn(10, 501),)),
    "kthvalue": (lambda a: a.kthvalue(7, -1), lambda: (torch.randn(10, 501),)),
    "histogram": (lambda a: torch.histc(a, 10, -2, 2), lambda: (torch.randn(10_000),)),
    "bincount": (torch.bincount, lambda: (whole(50, 10_000),)),
    "cumprod": (lambda a: a.cumprod(1), lambda: (positive(4, 20),)),
    "logcumsumexp": (lambda a: a.logcumsumexp(1), lambda: (normal(5, 40),)),
    "grid sample": (
        lambda a, b: functional.grid_sample(a, b, align_corners=False),
        lambda: (normal(1, 2, 6, 6), positive(1, 5, 5, 2)),
    ),
    "bicubic": (lambda a: functional.interpolate(a, scale_factor=1.7, mode="bicubic"), lambda: (normal(1, 2, 6, 6),)),
    "pixel shuffle": (lambda a: functional.pixel_shuffle(a, 2), lambda: (normal(1, 8, 3, 3),)),
    "unfold": (lambda a: functional.unfold(a, 3), lambda: (normal(2, 3, 8, 8),)),
    "scatter add": (
        lambda a, places: a.new_zeros(20, 5).scatter_add(0, places, a),
        lambda: (normal(40, 5), whole(20, 40, 5)),
    ),
    "gather": (lambda a, places: a.gather(0, places), lambda: (normal(40, 5), whole(40, 10, 5))),
    "index put": (
        lambda a, places: a.new_zeros(20, 5).index_put((places,), a, accumulate=True),
        lambda: (normal(40, 5), whole(20, 40)),
    ),
    "masked fill": (lambda a: a.masked_fill(a > 0, -1.0), lambda: (normal(40, 5),)),
    "where": (lambda a, b: torch.where(a > b, a, b * 2), lambda: (normal(40, 5), normal(40, 5))),
    "connectionist loss": (
        lambda a, targets: functional.ctc_loss(a.log_softmax(-1), targets, [12, 12], [4, 4]),
        lambda: (normal(12, 2, 6), whole(5, 2, 4) + 1),
    ),
    "cross entropy of images": (functional.cross_entropy, lambda: (normal(2, 10, 4, 4), whole(10, 2, 4, 4))),
    "prelu": (functional.prelu, lambda: (normal(4, 5), normal(5))),
    "glu": (functional.glu, lambda: (normal(4, 10),)),
    "maximum pool in three dimensions": (lambda a: functional.max_pool3d(a, 2), lambda: (normal(1, 2, 6, 6, 6),)),
    "adaptive maximum pool": (lambda a: functional.adaptive_max_pool2d(a, 3), lambda: (normal(1, 2, 7, 8),)),
    "outer": (lambda a, b: torch.outer(a, b).tril(), lambda: (normal(9), normal(8))),
    "roll and flip": (lambda a: a.roll(3, 1).flip(0), lambda: (normal(9, 8),)),
    "division of integers": (lambda a: (a - 50) // 7 + (a - 50) % 5, lambda: (whole(100, 1000),)),
    "bits": (lambda a: (a << 2) ^ (a & 15) | 3, lambda: (whole(100, 1000),)),
    "sum of a million": (torch.sum, lambda: (torch.rand(1_000_000),)),
    "variance along the first dimension": (lambda a: a.var(0), lambda: (normal(1000, 30),)),
    "power": (lambda a: a.pow(1.7), lambda: (positive(100),)),
    "inverse error function": (torch.erfinv, lambda: (positive(100),)),
    "logarithm of gamma": (torch.lgamma, lambda: (positive(100),)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_the_same_on_both(name):
    function, make = OPERATIONS[name]
    check(function, make(), SINGLE)


SHORT = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
SHORT_OPERATIONS = {
    "matrix product": (torch.mm, ((200, 300), (300, 130))),
    "convolution": (lambda a, b: functional.conv2d(a, b, padding=1), ((2, 8, 12, 12), (16, 8, 3, 3))),
    "layer norm": (lambda a: functional.layer_norm(a, (64,)), ((8, 64),)),
    "attention": (functional.scaled_dot_product_attention, ((2, 4, 64, 32),) * 3),
}


@pytest.mark.parametrize("kind", SHORT)
@pytest.mark.parametrize("name", SHORT_OPERATIONS)
def test_short_types_approximate_single_precision(name, kind):
    function, shapes = SHORT_OPERATIONS[name]
    numbers = [torch.randn(shape).to(kind) for shape in shapes]
    expected = [value.float().requires_grad_() for value in numbers]
    found = [value.cuda().requires_grad_() for value in numbers]
    check(function, expected, SHORT[kind], found)


def check(function, arguments, within, gpu_arguments=None):
    """Returns results and gradients."""
    gpu_arguments = gpu_arguments or [on_gpu(value) for value in arguments]
    expected, found = first(function(*arguments)), first(function(*gpu_arguments))
    assert_near(found, expected, within)
    if expected.requires_grad:
        weights = torch.randn(expected.shape)
        (expected * weights).sum().backward()
        (found * weights.cuda()).sum().backward()
        for place, (cpu, gpu) in enumerate(zip(arguments, gpu_arguments)):
            if cpu.requires_grad:
                assert_near(gpu.grad, cpu.grad, within, f"gradient of argument {place}")

