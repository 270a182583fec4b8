"""What the processor can do."""

from __future__ import annotations

from .. import _C


def get_cpu_capability() -> str:
    """The widest vector instructions that kernels use here: "AVX512", "AVX2" or "DEFAULT"."""
    name = _C._instruction_set()
    return "DEFAULT" if name == "portable" else name.upper()
