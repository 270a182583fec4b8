"""Programs written for PyTorch, run on Rushlight as they are.

``rushlight run script.py`` runs a program in which ``import torch`` gives Rushlight. Inside a process or a
notebook :func:`install` does it, before anything imports torch::

    import rushlight.compat

    rushlight.compat.install()
    import torch                      # torch.__version__ is '2.13.0+rushlight'
    from torch.nn import functional as F

Modules are Rushlight's own (``torch.nn is rushlight.nn``), so classes, pickles and what is patched are the same under
both names. ``torch`` itself differs from ``rushlight`` in its name and version only.
"""

from __future__ import annotations

from ._finder import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
