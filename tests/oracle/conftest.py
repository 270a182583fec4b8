"""Comparisons with PyTorch, where it is installed."""

import importlib.util

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]

    def pytest_terminal_summary(terminalreporter):
        terminalreporter.write_line("tests/oracle is left out: it compares with PyTorch, which is not installed")

else:
    import torch

    torch.set_num_threads(1)  # samples are small, and threads would only get in each other's way
