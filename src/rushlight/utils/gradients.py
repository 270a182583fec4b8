"""What modules and optimizers both do with gradients."""

from __future__ import annotations

from collections.abc import Iterable

from .. import Tensor


def zero_gradients(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Forgets the gradients, or takes them out of their graph and fills them with zeros."""
    for parameter in parameters:
        if set_to_none:
            parameter.grad = None
        elif (gradient := parameter.grad) is not None:
            if gradient.grad_fn is not None:
                gradient.detach_()
            else:
                gradient.requires_grad_(False)
            gradient.zero_()
