"""SparseAdam, which needs sparse tensors."""

from __future__ import annotations

from typing import Any

from .optimizer import Optimizer


class SparseAdam(Optimizer):
    """Not there: Adam for sparse gradients needs sparse tensors, which Rushlight does not have.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "optim.SparseAdam is not supported: there are no sparse gradients, see docs/differences.md\n"
            "  hint: use optim.Adam; gradients of embeddings are dense"
        )
