"""Reads handwritten digits with a small residual network: batch normalization, augmentation, a one-cycle schedule.

    rushlight run examples/image_classification.py
    python examples/image_classification.py               the same on PyTorch

Every batch is rotated, scaled and shifted a little (affine_grid and grid_sample), so that 8,000 images go further.
After 8 epochs 98.5 to 99 % of the test images are read rightly.
"""

import argparse

import _digits
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    """Two convolutions beside a shortcut (He et al., Deep Residual Learning, 2015)."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        out = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(out)) + self.shortcut(x))


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        Block(16, 32, stride=2),
        Block(32, 64, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def augment(images):
    """Each image turned by up to 12 degrees, scaled by up to a tenth and shifted by up to 2 pixels."""
    turn, scale, right, down = torch.rand(4, len(images)) * 2 - 1
    angle, scale = turn * 0.21, 1 + scale * 0.1
    cos, sin = scale * angle.cos(), scale * angle.sin()
    theta = torch.stack([cos, -sin, right / 7, sin, cos, down / 7], dim=1).view(-1, 2, 3).to(images.device)
    return F.grid_sample(images, F.affine_grid(theta, images.shape, align_corners=False), align_corners=False)


def train(model, loader, optimizer, scheduler, device):
    model.train()
    total = 0.0
    for images, labels in loader:
        images, labels = augment(images.to(device)), labels.to(device)
        loss = F.cross_entropy(model(_digits.normalized(images)), labels, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


@torch.no_grad()
def accuracy(model, loader, device):
    model.eval()
    right = 0
    for images, labels in loader:
        right += (model(_digits.normalized(images.to(device))).argmax(1) == labels.to(device)).sum().item()
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.01, help="the highest rate of the schedule")
    parser.add_argument("--limit", type=int, help="learn from the first LIMIT images only")
    parser.add_argument("--double", action="store_true", help="compute in float64")
    parser.add_argument("--data", help="a folder with MNIST's four files")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    if args.double:
        torch.set_default_dtype(torch.float64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    images, labels = _digits.load(train=True, folder=args.data)
    train_set = TensorDataset(images[: args.limit], labels[: args.limit])
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(*_digits.load(train=False, folder=args.data)), 500)

    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(train_loader))
    for epoch in range(1, args.epochs + 1):
        loss = train(model, train_loader, optimizer, scheduler, device)
        right = accuracy(model, test_loader, device)
        print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {right:.2%}", flush=True)
    print(f"result: accuracy={right:.4f}")


if __name__ == "__main__":
    main()
