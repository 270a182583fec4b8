"""What becomes of training when `optimizer.zero_grad()` is forgotten: both ways, side by side, over several seeds.

    rushlight run examples/forgetting_zero_grad.py
    rushlight run examples/forgetting_zero_grad.py --seeds 1 --epochs 1 --picture ""

Every backward() adds to `.grad`, so without zero_grad() each step follows the sum of all gradients so far. A network
with one hidden layer learns the bundled digits, by plain SGD and by Adam. Prints the accuracy on the test digits after
each epoch and a table of the last, and draws the curves (with matplotlib).
"""

import argparse
import statistics

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.datasets import Digits

OPTIMIZERS = {
    "SGD, lr 0.1": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "Adam, lr 0.001": lambda parameters: torch.optim.Adam(parameters, lr=0.001),
}


def load(train):
    digits = Digits(train=train)
    return (digits.data.float().div(255).flatten(1) - 0.1307) / 0.3081, digits.targets


def accuracy(model, images, targets):
    with torch.no_grad():
        return (model(images).argmax(1) == targets).float().mean().item()


def learn(make_optimizer, forget, seed, epochs, train, test):
    """The accuracy on the test digits after each epoch."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = make_optimizer(model.parameters())
    images, targets = train
    reached = []
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            if not forget:
                optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), targets[batch]).backward()
            optimizer.step()
        reached.append(accuracy(model, *test))
    return reached


def draw(path, curves, epochs, seeds):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), dpi=80, layout="constrained")
    for axes, (name, ways) in zip(figure.subplots(1, len(curves), sharey=True), curves.items(), strict=True):
        for way, color in (("cleared", "#1f5f8b"), ("forgotten", "#d62828")):
            for run, reached in enumerate(ways[way]):
                label = f"gradients {way}" if run == 0 else None
                axes.plot(range(1, epochs + 1), reached, color=color, alpha=0.7, linewidth=1.3, label=label)
        axes.axhline(0.1, color="#8a8a8a", linewidth=0.8, linestyle=":")
        axes.set(title=name, xlabel="epoch", ylim=(0, 1), xticks=range(1, epochs + 1))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel(f"accuracy on test digits, {seeds} seeds")
    figure.axes[0].legend(frameon=False, loc="center right")
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--picture", default="forgetting_zero_grad.png", help="where to draw; empty for nowhere")
    args = parser.parse_args()

    train, test = load(True), load(False)
    curves = {name: {"cleared": [], "forgotten": []} for name in OPTIMIZERS}
    for name, make_optimizer in OPTIMIZERS.items():
        for seed in range(args.seeds):
            for way in ("cleared", "forgotten"):
                reached = learn(make_optimizer, way == "forgotten", seed, args.epochs, train, test)
                curves[name][way].append(reached)
                print(f"{name}, seed {seed}, {way:>9}: " + " ".join(f"{100 * a:.1f}" for a in reached), flush=True)

    print("\n| % of test digits read | gradients cleared | forgotten | lost |\n|---|---|---|---|")
    for name, ways in curves.items():
        last = {way: [100 * reached[-1] for reached in runs] for way, runs in ways.items()}
        right, wrong = (statistics.mean(last[way]) for way in ("cleared", "forgotten"))
        spread = {way: f"({min(a):.1f} to {max(a):.1f})" for way, a in last.items()}
        print(f"| {name} | {right:.1f} {spread['cleared']} | {wrong:.1f} {spread['forgotten']} | {right - wrong:.1f} |")
    if args.picture:
        draw(args.picture, curves, args.epochs, args.seeds)


if __name__ == "__main__":
    main()
