"""Reads handwritten digits row by row: 28 steps of 28 pixels through a recurrent network.

    rushlight run examples/rnn_rows.py --model LSTM       or GRU, or RNN
    python examples/rnn_rows.py --model LSTM              the same on PyTorch

The state after the last row is all that the classifier sees. After 6 epochs an LSTM or a GRU reads about 96 % of the
test images rightly, a plain RNN some 89 %.
"""

import argparse

import _digits
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class RowReader(nn.Module):
    def __init__(self, kind, hidden):
        super().__init__()
        self.rnn = getattr(nn, kind)(input_size=28, hidden_size=hidden, batch_first=True)
        self.classify = nn.Linear(hidden, 10)

    def forward(self, images):
        outputs, _ = self.rnn(images.squeeze(1))  # (batch, row, hidden)
        return self.classify(outputs[:, -1])


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(images)
    return total / len(loader.dataset)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader) / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["LSTM", "GRU", "RNN"], default="LSTM")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--limit", type=int, help="learn from the first LIMIT images only")
    parser.add_argument("--data", help="a folder with MNIST's four files")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    sets = []
    for is_train in True, False:
        images, labels = _digits.load(is_train, args.data)
        sets.append((_digits.normalized(images), labels))
    (images, labels), test_set = sets
    train_set = TensorDataset(images[: args.limit], labels[: args.limit])
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True)
    test_loader = DataLoader(TensorDataset(*test_set), 500)

    model = RowReader(args.model, args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, train_loader, optimizer)
        right = accuracy(model, test_loader)
        print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {right:.2%}", flush=True)
    print(f"result: accuracy={right:.4f}")


if __name__ == "__main__":
    main()
