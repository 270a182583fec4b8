"""Hogwild (Niu et al., 2011): several processes train one model at once, and none waits for another.

The parameters lie in shared memory. Each process shuffles the data its own way, and adds its steps to the parameters
whenever it is done with them, over what the others have written meanwhile.

    rushlight run examples/hogwild.py --processes 2

The data are points on three spirals that wind around one another. One process tells 98 % of new points apart, several
99 %. The order of the steps is up to the machine, so that no two runs are quite the same, unless `--processes 1`.
"""

import argparse
import math

import torch
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(count, arms=3, noise=0.1):
    """Points (count, 2) and the arm (count,) that each is on."""
    labels = torch.arange(count) % arms
    distance = torch.rand(count).sqrt()
    angle = 2 * math.pi * (distance + labels / arms) + noise * torch.randn(count)
    return distance.unsqueeze(1) * torch.stack([angle.cos(), angle.sin()], dim=1), labels


def train(rank, model, points, labels, args):
    torch.manual_seed(args.seed + rank)
    torch.set_num_threads(1)  # the processes share the machine
    loader = DataLoader(TensorDataset(points, labels), batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
    for epoch in range(1, args.epochs + 1):
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"process {rank}, epoch {epoch:2}: loss {total / len(loader):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--points", type=int, default=3000)
    parser.add_argument("--batch-size", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    points, labels = spirals(args.points)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    model.share_memory()
    mp.spawn(train, args=(model, points, labels, args), nprocs=args.processes)

    points, labels = spirals(1000)
    with torch.no_grad():
        accuracy = (model(points).argmax(1) == labels).float().mean().item()
    print(f"result: accuracy={accuracy:.4f}")


if __name__ == "__main__":
    main()
