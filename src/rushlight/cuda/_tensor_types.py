"""The classes ``cuda.FloatTensor`` and so on: no tensor is an instance, and none can be made."""

from __future__ import annotations

from .._tensor_types import CUDA_TYPES

globals().update(CUDA_TYPES)
