"""Training, evaluation and checkpoints of the demo.

A checkpoint holds all that the rest of the run depends on: model, optimizer, scheduler, the generator's state, and
how far into an epoch training had come. A resumed run shuffles as the epoch did when it began, passes over the
batches already learned from, restores the generator, and so ends with the numbers of a run that was never stopped.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import pickle
import signal
import sys
import time
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.optim import Adam
from rushlight.optim.lr_scheduler import StepLR
from rushlight.utils.data import DataLoader

WORKERS = 2  # they read and normalize images while the network trains
STATISTICS = {"digits": (0.1307, 0.3081), "mnist": (0.1307, 0.3081), "fashion": (0.2860, 0.3530)}


class DemoError(Exception):
    """What the user can mend; shown without a traceback."""


@dataclass
class Config:
    """The options that decide the result; kept in the checkpoint."""

    epochs: int = 10
    batch_size: int = 64
    seed: int = 0
    data: str = "digits"


@dataclass
class Progress:
    """How far training has come, and what it has seen on the way."""

    epoch: int = 0  # epochs completed
    batch: int = 0  # batches of the next epoch already learned from
    images: int = 0  # of those batches: images, sum of losses, images read rightly
    loss: float = 0.0
    correct: int = 0
    seconds: float = 0.0
    step_losses: list[float] = field(default_factory=list)
    epochs: list[dict[str, float]] = field(default_factory=list)


def network() -> nn.Module:
    """28x28 images in, a score for each of ten classes out."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(1600, 10),
    )


def run(args: argparse.Namespace) -> int:
    """The command; gives the exit status."""
    try:
        _require_extras(args.safetensors)
        out = pathlib.Path(args.out)
        saved = _load(out / "checkpoint.pt") if args.resume else None
        config = _config(args, saved)
        if out.exists() and not out.is_dir():
            raise DemoError(f"--out {out} is a file, not a folder\n  hint: name a folder; it is made if need be")
        out.mkdir(parents=True, exist_ok=True)
        demo = Demo(config, args, out, saved)
        with _Interrupt() as interrupt:
            return demo.train(interrupt)
    except (DemoError, OSError) as error:
        print(f"rushlight demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nrushlight demo: stopped at once; what was last saved is kept", file=sys.stderr)
        return 130


class Demo:
    """One run: its data, network, optimizer and progress."""

    def __init__(self, config: Config, args: argparse.Namespace, out: pathlib.Path, saved: dict[str, Any] | None):
        self.config, self.out, self.color = config, out, sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.safetensors = args.safetensors
        rl.manual_seed(config.seed)
        self.device = _device(args.device)
        try:
            self.train_set, self.test_set = datasets(config.data, args.data_dir)
        except RuntimeError as error:  # no network, a damaged file
            raise DemoError(error) from None
        self.classes = [name.split(" - ")[0] for name in self.train_set.classes]  # "0 - zero"
        self.model = network().to(self.device)
        self.optimizer = Adam(self.model.parameters(), lr=0.001)
        self.scheduler = StepLR(self.optimizer, step_size=5, gamma=0.1)
        self.progress = Progress()
        self.epoch_rng = self.resume_rng = None
        if saved:
            self.model.load_state_dict(saved["model"])
            self.optimizer.load_state_dict(saved["optimizer"])
            self.scheduler.load_state_dict(saved["scheduler"])
            self.progress = Progress(**saved["progress"])
            self.epoch_rng, self.resume_rng = saved["epoch_rng"], saved["rng"]

    def train(self, interrupt: _Interrupt) -> int:
        config, progress = self.config, self.progress
        print(
            f"{config.data}: {len(self.train_set):,} images to learn from, {len(self.test_set):,} to be tested on; "
            f"network of {sum(p.numel() for p in self.model.parameters()):,} parameters on {self.device}"
        )
        loader = DataLoader(self.train_set, config.batch_size, shuffle=True, num_workers=WORKERS)
        if progress.epoch >= config.epochs:
            print(f"nothing left to learn: all {progress.epoch} epochs are done; for more, add --epochs N")
        while progress.epoch < config.epochs:
            if not self._train_epoch(loader, interrupt):
                again = "" if str(self.out) == "rushlight-demo" else f" --out {self.out}"
                print(f"\nstopped and saved {self.out / 'checkpoint.pt'}; to carry on: rushlight demo --resume{again}")
                return 130
        self._report()
        return 0

    def _train_epoch(self, loader: DataLoader, interrupt: _Interrupt) -> bool:
        """Trains to the end of the epoch and true, or to an interrupt and false; saves either way."""
        from tqdm import tqdm

        config, progress = self.config, self.progress
        self.model.train()
        if self.epoch_rng is not None and progress.batch:
            rl.set_rng_state(self.epoch_rng)  # shuffle as this epoch did
        elif self.resume_rng is not None:
            rl.set_rng_state(self.resume_rng)
        self.epoch_rng = rl.get_rng_state()
        batches = iter(loader)
        if progress.batch and self.resume_rng is not None:
            for _ in islice(batches, progress.batch):
                pass
            rl.set_rng_state(self.resume_rng)
        self.resume_rng = None

        title = f"epoch {progress.epoch + 1:2}/{config.epochs}"
        bar = tqdm(
            total=len(self.train_set), initial=progress.images, desc=title, unit=" images", leave=False,
            disable=not sys.stderr.isatty(), dynamic_ncols=True,
        )  # fmt: skip
        start, before = time.perf_counter(), progress.images
        for images, targets in batches:
            images, targets = images.to(self.device), targets.to(self.device)
            scores = self.model(images)
            loss = F.cross_entropy(scores, targets)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()

            progress.batch += 1
            progress.images += len(targets)
            progress.step_losses.append(loss.item())
            progress.loss += progress.step_losses[-1] * len(targets)
            progress.correct += int((scores.argmax(1) == targets).sum())
            bar.update(len(targets))
            bar.set_postfix_str(
                f"loss {progress.loss / progress.images:.4f}, accuracy {progress.correct / progress.images:.2%}",
                refresh=False,
            )
            if interrupt.asked and progress.images < len(self.train_set):
                bar.close()
                progress.seconds += time.perf_counter() - start
                self._save()
                return False
        bar.close()
        elapsed = time.perf_counter() - start
        self.scheduler.step()
        _, test_right = self._test()
        row = {
            "loss": progress.loss / progress.images,
            "accuracy": progress.correct / progress.images,
            "test_accuracy": test_right / len(self.test_set),
        }
        speed = (progress.images - before) / elapsed
        print(
            f"{title}  loss {row['loss']:.4f}  accuracy {row['accuracy']:7.2%}  "
            f"on test images {row['test_accuracy']:7.2%}  {speed:7,.0f} images/s",
            flush=True,
        )
        progress.epochs.append(row)
        progress.epoch += 1
        progress.batch = progress.images = progress.correct = 0
        progress.loss = 0.0
        progress.seconds += time.perf_counter() - start
        self._save()
        return not interrupt.asked or progress.epoch == config.epochs

    def _test(self) -> tuple[list[int], int]:
        """What the network reads in every test image, and how many of these are right."""
        self.model.eval()
        read: list[int] = []
        right = 0
        with rl.no_grad():
            for images, targets in DataLoader(self.test_set, 500):
                guesses = self.model(images.to(self.device)).argmax(1).cpu()
                right += int((guesses == targets).sum())
                read += guesses.tolist()
        return read, right

    def _report(self) -> None:
        """Test accuracy, confusions and pictures."""
        from . import pictures

        read, right = self._test()
        targets = [int(t) for t in self.test_set.targets.tolist()]
        accuracy = right / len(targets)
        print(
            f"\ntest accuracy {self._bold(f'{accuracy:.2%}')}: {right:,} of {len(targets):,} images; "
            f"trained in {self.progress.seconds:.1f} s"
        )
        print(confusion(targets, read, self.classes))
        pictures.curves(self.out / "curves.png", self.progress.step_losses, self.progress.epochs, self.config.data)
        pictures.predictions(self.out / "predictions.png", self.test_set.data.numpy(), targets, read, self.classes)
        written = ["checkpoint.pt", "curves.png", "predictions.png"]
        if self.safetensors:
            written.insert(1, "model.safetensors")
            export(self.model, self.config.data, self.out / written[1])
        print(f"\nwrote {', '.join(written[:-1])} and {written[-1]} to {self.out}{os.sep}")

    def _save(self) -> None:
        checkpoint = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "progress": asdict(self.progress),
            "config": asdict(self.config),
            "epoch_rng": self.epoch_rng,
            "rng": rl.get_rng_state(),
        }
        rl.save(checkpoint, self.out / "checkpoint.pt")

    def _bold(self, text: str) -> str:
        return f"\033[1m{text}\033[0m" if self.color else text


def export(model: nn.Module, data: str, path: pathlib.Path) -> None:
    """Writes the weights, by the names of the state_dict, and what images of that data are normalized by."""
    from safetensors.numpy import save_file

    mean, std = STATISTICS[data]
    weights = {name: value.cpu().numpy() for name, value in model.state_dict().items()}
    beside = path.with_suffix(".part")
    save_file(weights, beside, {"format": "pt", "mean": str(mean), "std": str(std)})
    os.replace(beside, path)  # as save does: the old or the new file, never half of one


def datasets(name: str, data_dir: str | None) -> tuple[Any, Any]:
    """The training and the test set called `name`, as normalized tensors."""
    from rushlight.vision import datasets, transforms

    mean, std = STATISTICS[name]
    transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((mean,), (std,))])
    if name == "digits":
        return datasets.Digits(train=True, transform=transform), datasets.Digits(train=False, transform=transform)
    kind = datasets.MNIST if name == "mnist" else datasets.FashionMNIST
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    root = data_dir or os.path.join(cache, "rushlight")
    train, test = (kind(root, train=train, transform=transform, download=True) for train in (True, False))
    return train, test


def confusion(targets: list[int], read: list[int], classes: list[str]) -> str:
    """A table of what each class was read as, and the pairs mistaken most often, as text."""
    count = len(classes)
    table = [[0] * count for _ in range(count)]
    for target, guess in zip(targets, read, strict=True):
        table[target][guess] += 1
    width = max(len(str(max(map(max, table)))), max(len(name) for name in classes)) + 1
    if width > 8:  # long names head rows only
        heads, width = [str(i) for i in range(count)], 6
    else:
        heads = classes
    label = max(len(name) for name in classes) + 2
    lines = [f"{'':{label}}" + "".join(f"{head:>{width}}" for head in heads) + "   <- read as"]
    for name, row in zip(classes, table, strict=True):
        lines.append(f"{name:>{label}}" + "".join(f"{n or '.':>{width}}" for n in row))
    pairs = sorted(((n, i, j) for i, row in enumerate(table) for j, n in enumerate(row) if n and i != j), reverse=True)
    if pairs:
        often = ", ".join(f"{classes[i]} read as {classes[j]} ({n})" for n, i, j in pairs[:4])
        lines.append(f"most often mistaken: {often}")
    return "\n".join(lines)


class _Interrupt:
    """Notes Ctrl-C, so that training can save at the next batch; a second one stops at once."""

    def __enter__(self) -> _Interrupt:
        self.asked = False
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *_: Any) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)

    def __exit__(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, self._before)


def _config(args: argparse.Namespace, saved: dict[str, Any] | None) -> Config:
    """The options given, over those of the checkpoint, over the defaults."""
    if saved is None:
        given = {name: getattr(args, name) for name in ("epochs", "batch_size", "seed", "data")}
        return Config(**{name: value for name, value in given.items() if value is not None})
    config = Config(**saved["config"])
    for name in ("batch_size", "seed", "data"):
        wish, had = getattr(args, name), getattr(config, name)
        if wish is not None and wish != had:
            option = "--" + name.replace("_", "-")
            raise DemoError(
                f"{option} is {wish}, but the checkpoint was trained with {had}\n"
                f"  hint: leave {option} out to carry on, or --resume out to start afresh"
            )
    config.epochs = args.epochs or config.epochs
    return config


def _device(name: str) -> rl.device:
    try:
        device = rl.device(name)
        rl.empty(1, device=device).fill_(0).item()
    except RuntimeError as error:
        raise DemoError(f"cannot train on --device {name}: {error}") from None
    return device


def _load(path: pathlib.Path) -> dict[str, Any]:
    if not path.exists():
        raise DemoError(
            f"there is no checkpoint at {path}\n  hint: start without --resume, or say where with --out DIR"
        )
    try:
        saved = rl.load(path)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise DemoError(f"cannot resume: {error}") from None
    if not isinstance(saved, dict) or not {"model", "optimizer", "scheduler", "progress", "config"} <= saved.keys():
        raise DemoError(f"{path} is not a checkpoint of the demo\n  hint: leave --resume out to start afresh")
    return saved


def _require_extras(safetensors: bool) -> None:
    missing = [name for name in ("PIL", "matplotlib", "tqdm") if importlib.util.find_spec(name) is None]
    if missing:
        names = ", ".join("pillow" if name == "PIL" else name for name in missing)
        raise DemoError(f"the demo needs {names}, not installed here\n  hint: pip install 'rushlight[demo]'")
    if safetensors and importlib.util.find_spec("safetensors") is None:
        raise DemoError(
            "--safetensors needs safetensors, not installed here\n  hint: pip install 'rushlight[safetensors]'"
        )
