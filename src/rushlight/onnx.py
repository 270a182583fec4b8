"""Export to ONNX, which Rushlight does not have."""

from __future__ import annotations

from ._lazy import only
from ._settings import unavailable

__path__: list[str] = []  # a package in PyTorch: a module below it is missing, and is said to be
_WHY = "models are not exported to ONNX"

export = unavailable("torch.onnx.export", _WHY)
dynamo_export = unavailable("torch.onnx.dynamo_export", _WHY)
register_custom_op_symbolic = unavailable("torch.onnx.register_custom_op_symbolic", _WHY)


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


__getattr__ = only(__name__, _WHY)
