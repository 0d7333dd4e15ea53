"""A real training run: the network recognises unseen handwritten digits."""

import pytest
import torch
import torch.nn.functional as F
from lenet import digits, network
from sklearn.model_selection import train_test_split


@pytest.mark.timeout(1800)
def test_a_trained_network_recognises_unseen_digits(measured):
    images, labels = digits()
    seen, unseen = (torch.tensor(part) for part in train_test_split(range(len(labels)), test_size=0.2, random_state=0))
    net = network("cuda", normalized=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        net.train()
        for chosen in seen[torch.randperm(len(seen))].split(64):
            optimizer.zero_grad()
            F.cross_entropy(net(images[chosen].cuda()), labels[chosen].cuda()).backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        answers = torch.cat([net(images[chosen].cuda()).argmax(1).cpu() for chosen in unseen.split(120)])
    measured("share of wrong answers", (answers != labels[unseen]).float().mean().item(), 0.1)
