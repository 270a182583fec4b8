"""Layers made of other operations."""

from __future__ import annotations

from .. import _C
from .._autocast import as_given
from ..overrides import overridable


@overridable
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True):
    """Brings each channel of each sample to mean 0 and variance 1; see ``nn.functional.instance_norm``."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "instance_norm: running_mean and running_var must be given when use_input_stats is False\n"
            "  hint: use_input_stats=True takes each sample's own"
        )
    samples, channels = input.shape[:2]

    def repeated(name, t):
        if t is None:
            return None
        if t.dim() != 1 or t.shape[0] != channels:
            raise RuntimeError(
                f"instance_norm: {name} of shape {tuple(t.shape)} does not fit {channels} channels: it needs one value "
                "for each"
            )
        return t.repeat(samples)

    # Every channel of every sample is a channel of one large sample.
    joined = input.contiguous().view(1, samples * channels, *input.shape[2:])
    mean, var = repeated("running_mean", running_mean), repeated("running_var", running_var)
    weight, bias = repeated("weight", weight), repeated("bias", bias)
    result = _C.batch_norm(joined, weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled)
    if use_input_stats and samples:
        for running, of_samples in ((running_mean, mean), (running_var, var)):
            if running is not None:
                running.detach().copy_(of_samples.view(samples, channels).mean(0))
    return result.view(input.shape)


@overridable
@as_given
def bilinear(input1, input2, weight, bias=None):
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k.

    Args:
        input1: (*, D1).
        input2: (*, D2), of the same leading dimensions.
        weight: (K, D1, D2).
        bias: (K) or None.

    Returns:
        (*, K).

    Raises:
        RuntimeError: shapes do not fit.

    >>> import rushlight as rl
    >>> rl.bilinear(rl.ones(3), rl.ones(4), rl.ones(2, 3, 4))
    tensor([12., 12.])
    """
    if weight.dim() != 3:
        raise RuntimeError(f"bilinear: weight must be (K, D1, D2), got shape {tuple(weight.shape)}")
    many, d1, d2 = weight.shape
    for name, x, wanted in (("input1", input1, d1), ("input2", input2, d2)):
        if x.dim() == 0 or x.shape[-1] != wanted:
            raise RuntimeError(
                f"bilinear: {name} of shape {tuple(x.shape)} does not fit weight of shape {tuple(weight.shape)}: its "
                f"last dimension should be {wanted}"
            )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: all but the last dimension must agree, got {tuple(input1.shape)} and {tuple(input2.shape)}"
        )
    if bias is not None and bias.shape != (many,):
        raise RuntimeError(f"bilinear: bias of shape {tuple(bias.shape)} does not fit {many} results: one for each")
    left, right = input1.reshape(-1, d1), input2.reshape(-1, d2)
    partly = (left @ weight.permute(1, 0, 2).reshape(d1, many * d2)).view(-1, many, d2)
    result = (partly @ right.unsqueeze(-1)).view(*input1.shape[:-1], many)
    return result if bias is None else result + bias


__all__ = ["bilinear", "instance_norm"]
