"""What scripts ask of the libraries that PyTorch computes with, and tell them. Switches do nothing."""

from __future__ import annotations

from .._lazy import lazily

_MODULES = ("cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")

__getattr__, __dir__ = lazily(__name__, globals(), {name: name for name in _MODULES})
