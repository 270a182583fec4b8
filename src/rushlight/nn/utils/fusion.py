"""Folding batch normalization into the layer before it, for inference."""

from __future__ import annotations

from copy import deepcopy

from ... import Tensor
from ..modules.batchnorm import _BatchNorm
from ..modules.module import Module
from ..parameter import Parameter


def fuse_conv_bn_eval(conv: Module, bn: _BatchNorm, transpose: bool = False) -> Module:
    """A convolution that does what a convolution and the batch normalization after it do in evaluation.

    Raises:
        AssertionError: one of them is in training mode.
        RuntimeError: the normalization keeps no running statistics.

    Example:
        >>> import rushlight as rl
        >>> conv, bn = rl.nn.Conv2d(3, 4, 3).eval(), rl.nn.BatchNorm2d(4).eval()
        >>> fused = rl.nn.utils.fuse_conv_bn_eval(conv, bn)
        >>> x = rl.randn(1, 3, 5, 5)
        >>> rl.allclose(fused(x), bn(conv(x)), atol=1e-5)
        True
    """
    mean, variance = _statistics(conv, bn)
    fused = deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of ``fuse_conv_bn_eval``.

    Args:
        conv_w, conv_b: those of the convolution.
        bn_rm, bn_rv, bn_eps: running mean, running variance and eps of the normalization.
        bn_w, bn_b: its own weight and bias.
        transpose: the convolution is a transposed one.
    """
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, output_dim=1 if transpose else 0)


def fuse_linear_bn_eval(linear: Module, bn: _BatchNorm) -> Module:
    """A linear layer that does what one and the batch normalization after it do in evaluation.

    Raises:
        AssertionError: one of them is in training mode, or they have different numbers of features.
        RuntimeError: the normalization keeps no running statistics.
    """
    mean, variance = _statistics(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            f"the layer has {linear.out_features} outputs, the normalization {bn.num_features} features"
        )
    fused = deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, mean, variance, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of ``fuse_linear_bn_eval``; see ``fuse_conv_bn_weights``."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, output_dim=0)


def _statistics(layer, bn):
    if layer.training or bn.training:
        raise AssertionError(
            "layers are fused for evaluation, but one is in training mode\n  hint: call eval() on both"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise RuntimeError("the normalization keeps no running statistics to fold\n  hint: track_running_stats=True")
    return bn.running_mean, bn.running_var


def _folded(w, b, mean, variance, eps, scale, shift, output_dim):
    factor = (variance + eps).rsqrt()
    if scale is not None:
        factor = factor * scale
    bias = (-mean if b is None else b - mean) * factor
    if shift is not None:
        bias = bias + shift
    shape = [1] * w.dim()
    shape[output_dim] = -1
    weight = (w * factor.view(shape)).to(w.dtype)
    trained = w.requires_grad if b is None else b.requires_grad
    return Parameter(weight.detach(), w.requires_grad), Parameter(bias.detach().to(w.dtype), trained)
