"""The demo's two pictures, drawn by matplotlib without a display."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

INK, MUTED, RED = "#2b2b2b", "#8a8a8a", "#d62828"
TRAIN, TEST = "#e08e1b", "#1f5f8b"
COLUMNS = 15


def curves(path: pathlib.Path, step_losses: list[float], epochs: list[dict[str, float]], data: str) -> None:
    """Loss of every step and of every epoch; accuracy on training and test images."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    per_epoch = len(step_losses) / len(epochs)
    ends = [i + 1 for i in range(len(epochs))]

    steps = [(i + 1) / per_epoch for i in range(len(step_losses))]
    left.plot(steps, step_losses, color=TRAIN, alpha=0.3, linewidth=0.7, label="each step")
    middles = [end - 0.5 for end in ends]
    bold = {"linewidth": 2.2, "marker": "o", "markersize": 4}
    left.plot(middles, [e["loss"] for e in epochs], color=TRAIN, label="mean of the epoch", **bold)
    left.set(title="Loss on training images", xlabel="epoch", yscale="log")
    right.plot(middles, [e["accuracy"] for e in epochs], color=TRAIN, label="training images, while learning", **bold)
    last = f"test images, {epochs[-1]['test_accuracy']:.1%} at the end"
    right.plot(ends, [e["test_accuracy"] for e in epochs], color=TEST, label=last, **bold)
    right.set(title="Accuracy", xlabel="epoch")
    right.yaxis.set_major_formatter(PercentFormatter(1.0))
    for axes in (left, right):
        axes.set_xlim(0, len(epochs) + 0.2)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    figure.suptitle(f"rushlight demo, {data}", color=MUTED, fontsize=10)
    _save(figure, path)


def predictions(path: pathlib.Path, images: Any, targets: list[int], read: list[int], classes: list[str]) -> None:
    """The first test images as they come, then the first ones misread; mistakes in red."""
    wrong = [i for i, (target, guess) in enumerate(zip(targets, read, strict=True)) if target != guess]
    plain, misread = list(range(min(6 * COLUMNS, len(targets)))), wrong[: 3 * COLUMNS]
    heights = [max(1, -(-len(chosen) // COLUMNS)) for chosen in (plain, misread)]
    figure = Figure(figsize=(COLUMNS * 0.82, sum(heights) * 1.05 + 0.9), layout="constrained")
    (upper,), (lower,) = figure.subfigures(2, 1, squeeze=False, height_ratios=heights)
    _grid(upper, f"The first {len(plain)} test images and what the network read", plain, images, targets, read, classes)
    shown = f"The first {len(misread)} of" if len(misread) < len(wrong) else "All"
    title = f"{shown} {len(wrong)} mistakes among {len(targets):,} test images" if wrong else "No mistakes"
    _grid(lower, title, misread, images, targets, read, classes)
    _save(figure, path)


def _grid(
    figure: Any, title: str, chosen: list[int], images: Any, targets: list[int], read: list[int], classes: list[str]
) -> None:
    figure.suptitle(title, color=INK, fontsize=11)
    short = max(len(name) for name in classes) <= 2
    axes = figure.subplots(max(1, -(-len(chosen) // COLUMNS)), COLUMNS, squeeze=False).ravel()
    for cell in axes:
        cell.set(xticks=[], yticks=[])
        cell.spines[:].set_visible(False)
    for cell, i in zip(axes, chosen, strict=False):
        right = targets[i] == read[i]
        cell.imshow(images[i], cmap="gray_r", interpolation="nearest")
        label = classes[read[i]] if right else f"{classes[read[i]]}, is {classes[targets[i]]}"
        if not short:
            label = label.replace(", is ", ",\nis ")
        weight = "normal" if right else "bold"
        cell.set_title(label, color=INK if right else RED, fontsize=11 if short else 6, fontweight=weight, pad=2)
        cell.spines[:].set(visible=True, color="#dddddd" if right else RED, linewidth=0.6 if right else 2.0)


def _save(figure: Figure, path: pathlib.Path) -> None:
    FigureCanvasAgg(figure)
    part = path.with_name(f".{path.name}.part")
    figure.savefig(part, dpi=130, format="png", facecolor="white")
    os.replace(part, path)
