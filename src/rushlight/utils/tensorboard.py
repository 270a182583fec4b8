"""What PyTorch has here, writing for TensorBoard, is missing: its names raise an error that says so."""

from __future__ import annotations

from .._lazy import only

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
__getattr__ = only(__name__, "SummaryWriter is not there; the package tensorboardX has one that needs no PyTorch")
