"""Five training steps of a two-layer network, as a program to save and resume."""

import torch
import torch.nn.functional as F

torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)).cuda()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
images, labels = torch.rand(16, 64).cuda(), torch.randint(10, (16,)).cuda()
for step in range(5):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
