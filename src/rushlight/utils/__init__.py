"""Helpers around the framework: data loading, and where C++ programs find the library."""

import os

cmake_prefix_path = os.path.join(os.path.dirname(os.path.dirname(__file__)), "share", "cmake")


def __getattr__(name: str):
    if name == "data":  # loaded when first asked for, to keep `import rushlight` short
        import importlib

        return importlib.import_module(__name__ + ".data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
