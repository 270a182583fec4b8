"""Parameters as one vector, and back."""

from __future__ import annotations

import rushlight as rl

from ... import Tensor


def parameters_to_vector(parameters):
    """All parameters flattened and joined, a 1-D Tensor (with history).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.utils.parameters_to_vector(rl.nn.Linear(2, 3).parameters()).shape
        torch.Size([9])
    """
    return rl.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters views of pieces of the vector, in order.

    Raises:
        TypeError: ``vec`` is not a Tensor.
        RuntimeError: the vector is too short; no parameter has changed then.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.Linear(2, 1)
        >>> rl.nn.utils.vector_to_parameters(rl.tensor([1., 2., 3.]), layer.parameters())
        >>> layer.bias
        Parameter containing:
        tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    total = sum(parameter.numel() for parameter in parameters)
    if vec.numel() < total:  # before the first of them is changed
        raise RuntimeError(
            f"vector_to_parameters: the vector has {vec.numel()} elements, the parameters have {total}\n"
            "  hint: parameters_to_vector() of the same parameters gives one that fits"
        )
    begin = 0
    for parameter in parameters:
        end = begin + parameter.numel()
        parameter.data = vec[begin:end].view_as(parameter).data
        begin = end
