"""Learns to draw digits: a variational autoencoder (Kingma and Welling, 2013).

    rushlight run examples/vae.py --out vae               draws vae/samples.png and vae/rebuilt.png
    python examples/vae.py                                the same on PyTorch; draws where torchvision is installed

What is minimized is the negative evidence lower bound: the cross entropy of the rebuilt image, and how far the code's
distribution is from a standard normal one. After 10 epochs it is about 116 nats per test image, and most samples
can be told for a digit.
"""

import argparse
import pathlib

import _digits
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

try:
    from torchvision.utils import save_image
except ImportError:  # PyTorch without torchvision
    save_image = None


class VAE(nn.Module):
    def __init__(self, code=16, hidden=400):
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 2 * code))
        self.decode = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 784))

    def forward(self, images):
        """Logits of the rebuilt images, and the distribution of their codes."""
        mean, log_variance = self.encode(images).chunk(2, dim=1)
        codes = Normal(mean, (0.5 * log_variance).exp())
        return self.decode(codes.rsample()), codes


def negative_elbo(logits, codes, images):
    """Summed over the batch, in nats."""
    rebuilding = F.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
    return rebuilding + kl_divergence(codes, Normal(0.0, 1.0)).sum()


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for (images,) in loader:
        logits, codes = model(images)
        loss = negative_elbo(logits, codes, images)
        optimizer.zero_grad()
        (loss / len(images)).backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, loader):
    model.eval()
    return sum(negative_elbo(*model(images), images).item() for (images,) in loader) / len(loader.dataset)


@torch.no_grad()
def draw(model, images, code, out):
    """Digits that nobody wrote; and twelve test images, each above what the model makes of it."""
    out.mkdir(parents=True, exist_ok=True)
    samples = model.decode(torch.randn(96, code)).sigmoid().view(-1, 1, 28, 28)
    save_image(samples, out / "samples.png", nrow=12)
    mean, _ = model.encode(images).chunk(2, dim=1)
    rebuilt = model.decode(mean).sigmoid().view(-1, 1, 28, 28)
    save_image(torch.cat([images, rebuilt]), out / "rebuilt.png", nrow=len(images))
    print(f"drew samples.png and rebuilt.png in {out}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--code", type=int, default=16, help="numbers that an image is encoded in")
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--limit", type=int, help="learn from the first LIMIT images only")
    parser.add_argument("--data", help="a folder with MNIST's four files")
    parser.add_argument("--out", type=pathlib.Path, help="the folder for pictures; none are drawn without it")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    images, _ = _digits.load(train=True, folder=args.data)
    test_images, _ = _digits.load(train=False, folder=args.data)
    train_loader = DataLoader(TensorDataset(images[: args.limit]), args.batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(test_images), 500)

    model = VAE(args.code)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, train_loader, optimizer)
        test_loss = test(model, test_loader)
        print(f"epoch {epoch}: {loss:.2f} nats per image, {test_loss:.2f} on test images", flush=True)
    if args.out and save_image:
        draw(model, test_images[:12], args.code, args.out)
    print(f"result: nats={test_loss:.3f}")


if __name__ == "__main__":
    main()
