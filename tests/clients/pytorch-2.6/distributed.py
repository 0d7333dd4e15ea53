"""Trains a network with one rank a device, and compares with training on the processor. Calls every collective operation.

torchrun starts this program; `test_distributed.py` runs it.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 32


def network():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def train(rank, ranks):
    torch.manual_seed(0)
    reference = network()
    device = network().cuda()
    device.load_state_dict(reference.state_dict())
    parallel = DistributedDataParallel(device, device_ids=[rank])
    inputs = torch.randn(BATCH * ranks, 8)
    targets = inputs.sum(1, keepdim=True)
    own = slice(rank * BATCH, (rank + 1) * BATCH)
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.05) for model in (parallel, reference)]
    for _ in range(5):
        pairs = [(parallel, inputs[own].cuda(), targets[own].cuda()), (reference, inputs, targets)]
        for (model, x, y), optimizer in zip(pairs, optimizers):
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
    for mine, wanted in zip(device.parameters(), reference.parameters()):
        assert (mine.cpu() - wanted).abs().max() < 1e-5


def operations(rank, ranks):
    def full(value, kind=torch.float):
        return torch.full((4,), float(value), device="cuda", dtype=kind)

    gathered = [full(-1) for _ in range(ranks)]
    dist.all_gather(gathered, full(rank))
    assert [part[0].item() for part in gathered] == list(range(ranks))
    part = full(-1)
    dist.reduce_scatter(part, [full(rank + other) for other in range(ranks)])
    assert part[0].item() == sum(rank + other for other in range(ranks))
    sent = full(rank)
    dist.broadcast(sent, ranks - 1)
    assert sent[0].item() == ranks - 1
    if rank == 0:
        dist.send(full(7), 1)
    if rank == 1:
        received = full(-1)
        dist.recv(received, 0)
        assert received[3].item() == 7
    exchanged = torch.empty(ranks, device="cuda")
    dist.all_to_all_single(exchanged, torch.arange(ranks, device="cuda", dtype=torch.float) + 10 * rank)
    assert exchanged.tolist() == [10.0 * other + rank for other in range(ranks)]
    for kind in (torch.half, torch.bfloat16, torch.double, torch.int32):
        total = full(1, kind)
        dist.all_reduce(total)
        assert total[0].item() == ranks
    mean = full(rank)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    assert mean[0].item() == (ranks - 1) / 2
    alone = dist.new_group([0])
    if rank == 0:
        kept = full(3)
        dist.all_reduce(kept, group=alone)
        assert kept[0].item() == 3
    dist.barrier()


def main():
    dist.init_process_group("nccl")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    train(rank, ranks)
    operations(rank, ranks)
    print(f"rank {rank} of {ranks} is done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
