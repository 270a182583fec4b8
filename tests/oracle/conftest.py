"""Comparisons with PyTorch, where it is installed."""

import importlib.util

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    torch.set_num_threads(1)  # samples are small, and threads would only get in each other's way
