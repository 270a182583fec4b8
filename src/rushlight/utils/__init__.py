"""Helpers around the framework: data loading, and where C++ programs find the library."""

import os

from .._lazy import lazily

cmake_prefix_path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "share", "cmake")

_MODULES = (
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
)
__getattr__, __dir__ = lazily(__name__, globals(), {name: name for name in _MODULES})
