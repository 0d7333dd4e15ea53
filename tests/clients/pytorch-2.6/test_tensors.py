"""Copies of tensors, and arithmetic that matches the CPU."""

import pytest
import torch

from comparing import assert_near


def test_a_tensor_of_zeros_has_zeros():
    assert torch.zeros(4, device="cuda").tolist() == [0, 0, 0, 0]


def test_a_tensor_comes_back_as_it_went():
    numbers = torch.randn(1000, 7)
    assert torch.equal(numbers.cuda().cpu(), numbers)


def test_a_strided_copy_keeps_every_element():
    numbers = torch.arange(24.0).reshape(2, 3, 4)
    assert torch.equal(numbers.cuda().permute(2, 0, 1).contiguous().cpu(), numbers.permute(2, 0, 1))


@pytest.mark.parametrize("kind", [torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64])
def test_addition_is_exact_in_every_type(kind):
    numbers = torch.arange(100).to(kind)
    assert torch.equal((numbers.cuda() + numbers.cuda()).cpu(), numbers + numbers)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "sqrt", "erf", "sigmoid", "rsqrt", "atan"])
def test_functions_of_one_number_are_near_those_of_the_cpu(name):
    numbers = torch.rand(10_000) * 4 + 0.01
    assert_near(getattr(torch, name)(numbers.cuda()), getattr(torch, name)(numbers), within=1e-6)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "norm", "amax", "argmax", "logsumexp", "cumsum"])
def test_reductions_along_a_dimension_are_near_those_of_the_cpu(name):
    numbers = torch.randn(33, 1000)
    arguments = {"dim": 1} if name != "norm" else {"dim": 1, "p": 2}
    assert_near(getattr(torch, name)(numbers.cuda(), **arguments), getattr(torch, name)(numbers, **arguments))


def test_sorting_gives_the_order_of_the_cpu():
    numbers = torch.randperm(5000)
    values, places = numbers.cuda().sort()
    assert torch.equal(values.cpu(), torch.arange(5000))
    assert torch.equal(numbers[places.cpu()], torch.arange(5000))


def test_indexing_gathers_and_scatters_the_elements_of_the_cpu():
    numbers, places = torch.randn(50, 8), torch.randint(0, 50, (200,))
    assert torch.equal(numbers.cuda()[places.cuda()].cpu(), numbers[places])
    added = torch.zeros(50, 8).index_add(0, places, torch.ones(200, 8))
    assert torch.equal(torch.zeros(50, 8).cuda().index_add(0, places.cuda(), torch.ones(200, 8).cuda()).cpu(), added)
    assert torch.equal(numbers.cuda()[numbers.cuda() > 0].cpu(), numbers[numbers > 0])


@pytest.mark.parametrize("kind, within", [(torch.float32, 1e-5), (torch.float64, 1e-14), (torch.float16, 2e-3), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (64, 64, 64), (100, 33, 200)])
def test_a_product_of_matrices_is_near_that_in_double_precision(kind, within, shape):
    rows, depth, columns = shape
    left, right = torch.randn(rows, depth).to(kind), torch.randn(depth, columns).to(kind)
    assert_near(left.cuda() @ right.cuda(), left.double() @ right.double(), within)


def test_batches_of_matrices_are_multiplied_one_by_one():
    left, right = torch.randn(6, 20, 30), torch.randn(6, 30, 10)
    assert_near(torch.bmm(left.cuda(), right.cuda()), torch.bmm(left, right))


def test_random_numbers_have_the_distribution_that_was_asked_for():
    numbers = torch.randn(20_000, device="cuda")
    assert abs(numbers.mean().item()) < 0.03
    assert abs(numbers.std().item() - 1) < 0.03
    uniform = torch.rand(20_000, device="cuda")
    assert 0 <= uniform.min().item() and uniform.max().item() < 1
    assert abs(uniform.mean().item() - 0.5) < 0.01


def test_a_seed_gives_the_same_random_numbers_again():
    torch.cuda.manual_seed(7)
    numbers = torch.rand(100, device="cuda")
    torch.cuda.manual_seed(7)
    assert torch.equal(torch.rand(100, device="cuda"), numbers)
