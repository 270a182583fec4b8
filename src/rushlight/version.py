"""The version of PyTorch whose API is followed, and what was built in. Rushlight's own is ``rushlight.__version__``.

>>> import rushlight as rl
>>> print(rl.version.cuda)
None
"""

from __future__ import annotations

from .torch_version import TorchVersion

torch = TorchVersion("2.13.0+rushlight")  # what `torch.__version__` is where Rushlight stands in its place
torchvision = TorchVersion("0.28.0+rushlight")

__version__ = torch
debug = False
cuda = hip = xpu = rocm = git_version = None
