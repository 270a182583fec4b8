"""Normalization."""

from __future__ import annotations

import rushlight as rl

from ... import _C
from ..._composites import layers as _whole

layer_norm = _C.layer_norm
rms_norm = _C.rms_norm


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Brings each channel to mean 0 and variance 1 (Ioffe and Szegedy 2015).

    Args:
        input: (N, C) or (N, C, ...).
        running_mean, running_var: (C), used outside training and updated in it; may be None in training.
        weight, bias: (C) or None, applied afterwards.
        training: use the batch's own statistics.
        momentum: the share of the new batch in the running statistics.
        eps: added to the variance.

    Raises:
        ValueError: in training, a channel has but one value.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.batch_norm(rl.tensor([[1.], [3.]]), None, None, training=True, eps=0.)
        tensor([[-1.],
                [ 1.]])
    """
    if training:
        _check_more_than_one_value(input)
    return _C.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def _check_more_than_one_value(input):
    shape = input.shape
    count = shape[0]
    for size in shape[2:]:
        count *= size
    if count == 1:
        raise ValueError(
            f"training takes more than one value per channel for its statistics, but the input is {tuple(shape)}\n"
            "  hint: use a larger batch, or call eval() on the model"
        )


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Brings each group of channels of each sample to mean 0 and variance 1 (Wu and He 2018).

    Args:
        input: (N, C) or (N, C, ...).
        num_groups: into how many groups the channels are divided, in their order.
        weight, bias: (C) or None, applied afterwards.
        eps: added to the variance.

    Raises:
        ValueError: a group has but one value.
        RuntimeError: the channels are not divisible into that many groups, or shapes do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.group_norm(rl.tensor([[1., 3., 0., 8.]]), 2)
        tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() >= 2 and num_groups > 0:
        count = input.shape[0] * input.shape[1] // num_groups
        for size in input.shape[2:]:
            count *= size
        if count == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training: {num_groups} groups of input "
                f"{tuple(input.shape)} have one value each, whose variance is 0\n  hint: use fewer groups"
            )
    return _C.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Brings each channel of each sample to mean 0 and variance 1 (Ulyanov et al. 2016).

    Args:
        input: (N, C, ...).
        running_mean, running_var: (C) or None; used where ``use_input_stats`` is False, else updated with the means
            over the batch.
        weight, bias: (C) or None, applied afterwards.
        use_input_stats: take the sample's own statistics.
        momentum: the share of the new batch in the running statistics.
        eps: added to the variance.

    Raises:
        ValueError: a channel of a sample has but one value.
        RuntimeError: shapes do not fit, or there are no running statistics to use.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.instance_norm(rl.tensor([[[1., 3.], [0., 8.]]]))
        tensor([[[-1.0000,  1.0000],
                 [-1.0000,  1.0000]]])
    """
    if use_input_stats:
        count = 1
        for size in input.shape[2:]:
            count *= size
        if count == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {tuple(input.shape)}\n"
                "  hint: the variance of one value is 0; batch_norm takes it over the batch"
            )
    return _whole.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides by (k + alpha * m) ** beta, m the mean square over neighbouring channels (Krizhevsky et al. 2012).

    Args:
        input: (N, C, ...), three dimensions or more.
        size: over how many channels, half of them before and half after; what lies outside counts as 0.

    Raises:
        ValueError: fewer than three dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.local_response_norm(rl.ones(1, 2, 1), 2, alpha=1., beta=1.)
        tensor([[[0.6667],
                 [0.5000]]])
    """
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    if not input.is_floating_point():
        input = input.to(rl.get_default_dtype())
    squares = (input * input).reshape(input.shape[0], 1, input.shape[1], -1)
    if input.dim() > 3 and _C._autocast_enabled() and input.dtype.itemsize == 2:
        squares = squares.float()  # as PyTorch, which averages in three dimensions
    padded = _C.constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = _C.avg_pool2d(padded, (size, 1), 1).reshape(input.shape)
    return input / (mean * alpha + k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the p-norm along a dimension, or by eps where that is larger.

    Args:
        input: Tensor of any shape, floating point.
        p: which norm.
        dim: along which dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.normalize(rl.tensor([[3., 4.]]))
        tensor([[0.6000, 0.8000]])
    """
    # The bound is applied under the root, whose slope at 0 is infinite.
    if p == 2:
        norm = (input * input).sum(dim, keepdim=True).clamp(min=eps * eps).sqrt()
    elif p == float("inf"):
        norm = input.abs().amax(dim, keepdim=True).clamp(min=eps)
    else:
        norm = input.abs().pow(p).sum(dim, keepdim=True).clamp(min=eps**p).pow(1 / p)
    result = input / norm
    return result if out is None else out.copy_(result)


__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]
