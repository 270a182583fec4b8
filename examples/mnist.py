"""Learns to read handwritten digits: what `rushlight demo` does, as you would write it.

python examples/mnist.py
python examples/mnist.py --data mnist --epochs 3
"""

import argparse

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.optim import Adam
from rushlight.optim.lr_scheduler import StepLR
from rushlight.utils.data import DataLoader
from rushlight.vision import datasets, transforms


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout = nn.Dropout(0.25)
        self.fc = nn.Linear(1600, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.dropout(x.flatten(1)))


def train(model, device, loader, optimizer):
    model.train()
    total = 0.0
    for images, targets in loader:
        images, targets = images.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, device, loader):
    model.eval()
    right = 0
    for images, targets in loader:
        guesses = model(images.to(device)).argmax(dim=1)
        right += (guesses == targets.to(device)).sum().item()
    return right / len(loader.dataset)


def load(name, root):
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    if name == "digits":
        return (datasets.Digits(train=train, transform=transform) for train in (True, False))
    return (datasets.MNIST(root, train=train, transform=transform, download=True) for train in (True, False))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", choices=("digits", "mnist"), default="digits")
    parser.add_argument("--root", default="data", help="where MNIST is kept")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", metavar="FILE", help="write the trained weights there")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load(args.data, args.root)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=2)
    test_loader = DataLoader(test_set, batch_size=500)

    model = Net().to(args.device)
    optimizer = Adam(model.parameters(), lr=0.001)
    scheduler = StepLR(optimizer, step_size=5, gamma=0.1)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, args.device, train_loader, optimizer)
        print(f"epoch {epoch:2}: loss {loss:.4f}, {test(model, args.device, test_loader):.2%} of the test digits read")
        scheduler.step()
    if args.save:
        torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
