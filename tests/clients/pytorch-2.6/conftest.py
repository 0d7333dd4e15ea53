import pytest
import torch


@pytest.fixture(autouse=True)
def same_numbers_in_every_run():
    torch.manual_seed(1)
