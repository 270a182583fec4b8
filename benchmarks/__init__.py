"""Rushlight beside PyTorch: `python -m benchmarks`."""
