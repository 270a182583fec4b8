"""The older name of a tensor."""

from .._C import Tensor as Variable

__all__ = ["Variable"]
