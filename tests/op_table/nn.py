"""Operations of neural networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special

from .core import Const, Dtype, E, Error, Gen, N, Op, S, Sample


def pair(value: Any) -> tuple[int, int]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values * 2 if len(values) == 1 else values  # type: ignore[return-value]


def windows(x: np.ndarray, size: tuple, stride: tuple, dilation: tuple) -> np.ndarray:
    """(..., H, W) to (..., out H, out W, size H, size W)."""
    extent = [d * (s - 1) + 1 for s, d in zip(size, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, extent, axis=(-2, -1))
    return view[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def conv2d_ref(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if x.ndim == 3:
        return conv2d_ref(x[None], weight, bias, stride, padding, dilation, groups)[0]
    stride, dilation = pair(stride), pair(dilation)
    size = weight.shape[2:]
    if padding == "valid":
        padding = 0
    if padding == "same":
        total = [d * (s - 1) for s, d in zip(size, dilation, strict=True)]
        pads = [(t // 2, t - t // 2) for t in total]
    else:
        pads = [(p, p) for p in pair(padding)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    n, channels = x.shape[:2]
    patches = windows(x, size, stride, dilation)
    patches = patches.reshape(n, groups, channels // groups, *patches.shape[2:])
    weight = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    y = np.einsum("ngchwij,gocij->ngohw", patches, weight)
    y = y.reshape(n, y.shape[1] * y.shape[2], *y.shape[3:])
    return y if bias is None else y + bias[:, None, None]


def conv2d_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 2, 3, 3), g(2, 2, 2, 2))
    yield S(g(2, 1, 3, 3), g(2, 1, 3, 2), g(2))
    yield S(g(1, 1, 5, 5), g(2, 1, 3, 3), g(2), 2)
    yield S(g(1, 1, 2, 2), g(2, 1, 3, 3), g(2), padding=1)
    yield S(g(1, 1, 4, 3), g(1, 1, 2, 2), None, (2, 1), (0, 1))
    yield S(g(1, 1, 4, 3), g(1, 1, 2, 2), dilation=2)
    yield S(g(1, 4, 2, 2), g(2, 2, 2, 2), g(2), groups=2)
    yield S(g(1, 2, 3, 3), g(2, 1, 2, 2), groups=2)
    yield S(g(2, 2, 3), g(3, 2, 1, 1), g(3))
    yield S(g(1, 1, 3, 3), g(1, 1, 3, 3), padding="same")
    yield N(g(1, 2, 4, 4), g(3, 2, 3, 3))
    yield N(g(2, 1, 4, 5), g(2, 1, 3, 2), g(2))
    yield N(g(1, 2, 5, 5), g(2, 2, 3, 3), g(2), 2)
    yield N(g(1, 1, 4, 4), g(1, 1, 2, 2), None, (2, 1), (0, 1))
    yield N(g(1, 4, 3, 3), g(4, 2, 2, 2), g(4), groups=2)
    yield N(g(1, 1, 4, 4), g(1, 1, 2, 3), padding="same")
    yield N(g(1, 1, 4, 4), g(1, 1, 3, 3), padding="valid")
    yield N(g(0, 2, 4, 4), g(3, 2, 3, 3), g(3))
    yield N(g(3, 1, 28, 28), g(8, 1, 3, 3), g(8))
    yield N(g(2, 8, 13, 11), g(16, 8, 3, 3), g(16), padding=1)
    yield N(g(2, 16, 9, 9), g(32, 16, 1, 1), g(32), stride=2)
    yield N(g(2, 8, 12, 12), g(8, 1, 5, 5), g(8), padding=2, groups=8)
    yield N(g(1, 4, 17, 17), g(6, 2, 3, 3), g(6), 2, 2, 2, 2)
    yield N(g(1, 3, 32, 32), g(4, 3, 7, 7), None, 2, 3)


def conv2d_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 1, 3, 3))
    yield E(RuntimeError, g(1, 2, 2, 2), g(3, 2, 3, 3))
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 2, 3, 3), g(2))
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 2, 3, 3), stride=0)
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 2, 3, 3), padding=-1)
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 2, 3, 3), groups=3)
    yield E(RuntimeError, g(1, 2, 4, 4), g(3, 2, 3, 3), stride=2, padding="same")
    yield E(RuntimeError, g(4, 4), g(3, 2, 3, 3))
    yield E(TypeError, g(1, 2, 4, 4), "text")


def pool_pads(extent: int, size: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> tuple[int, int]:
    """Output length, and the padding after the end that it needs."""
    reach = dilation * (size - 1) + 1
    room = extent + 2 * padding - reach
    out = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (out - 1) * stride >= extent + padding:
        out -= 1  # the last window must start inside the input or its left padding
    return out, max(0, (out - 1) * stride + reach - extent - padding)


def max_pool2d_ref(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    size = pair(kernel_size)
    stride = size if stride in (None, ()) else pair(stride)
    padding, dilation = pair(padding), pair(dilation)
    outs, ends = zip(
        *(pool_pads(x.shape[-2 + i], size[i], stride[i], padding[i], dilation[i], ceil_mode) for i in (0, 1)),
        strict=True,
    )
    pads = [(0, 0)] * (x.ndim - 2) + [(padding[i], ends[i]) for i in (0, 1)]
    height, width = x.shape[-2:]
    places = np.arange(height * width).reshape(height, width)
    patches = windows(np.pad(x, pads, constant_values=-np.inf), size, stride, dilation)
    places = windows(np.pad(places, pads[-2:], constant_values=-1), size, stride, dilation)
    patches = patches[..., : outs[0], : outs[1], :, :].reshape(*x.shape[:-2], *outs, size[0] * size[1])
    places = np.broadcast_to(places[: outs[0], : outs[1]].reshape(*outs, -1), patches.shape)
    best = patches.argmax(-1)[..., None]
    values = np.take_along_axis(patches, best, -1)[..., 0]
    if not return_indices:
        return values
    return values, np.take_along_axis(places, best, -1)[..., 0]


def max_pool2d_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.distinct(1, 1, 4, 4), 2)
    yield S(g.distinct(1, 2, 4, 5), (2, 3), 1)
    yield S(g.distinct(1, 1, 5, 5), 3, 2, 1)
    yield S(g.distinct(1, 1, 5, 5), 2, stride=2, ceil_mode=True)
    yield S(g.distinct(1, 1, 5, 5), 2, 1, 0, 2)
    yield S(g.distinct(2, 4, 4), 2, (2, 1))
    yield N(g.distinct(1, 1, 5, 5), 2, return_indices=True)
    yield N(g.distinct(1, 1, 5, 5), 3, 2, 1, return_indices=True, ceil_mode=True)
    yield N(g.distinct(0, 2, 4, 4), 2)
    yield N(g.distinct(2, 3, 13, 17), 2)
    yield N(g.distinct(2, 3, 13, 17), 3, 2, 1)


def max_pool2d_result(sample: Sample, dtype: str) -> Any:
    return (dtype, "int64") if sample.kwargs.get("return_indices") else dtype


def pool_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(1, 1, 4, 4), 0)
    yield E(RuntimeError, g(1, 1, 4, 4), 5)
    yield E(RuntimeError, g(1, 1, 4, 4), 2, 0)
    yield E(RuntimeError, g(1, 1, 4, 4), 2, 1, 2)
    yield E((RuntimeError, IndexError), g(4, 4), 2)
    yield E(TypeError, g(1, 1, 4, 4), "text")


def avg_pool2d_ref(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    size = pair(kernel_size)
    stride = size if stride in (None, ()) else pair(stride)
    padding = pair(padding)
    outs, ends = zip(
        *(pool_pads(x.shape[-2 + i], size[i], stride[i], padding[i], 1, ceil_mode) for i in (0, 1)), strict=True
    )
    ones = np.ones(x.shape[-2:])
    if count_include_pad:  # the given padding counts, what ceil_mode adds beyond it does not
        ones = np.pad(ones, [(p, p) for p in padding], constant_values=1)
        beyond = [(0, max(0, ends[i] - padding[i])) for i in (0, 1)]
    else:
        beyond = [(padding[i], ends[i]) for i in (0, 1)]
    count = windows(np.pad(ones, beyond), size, stride, (1, 1))[: outs[0], : outs[1]].sum((-1, -2))
    pads = [(0, 0)] * (x.ndim - 2) + [(padding[i], ends[i]) for i in (0, 1)]
    total = windows(np.pad(x, pads), size, stride, (1, 1))[..., : outs[0], : outs[1], :, :].sum((-1, -2))
    return total / (divisor_override or count)


def avg_pool2d_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 1, 4, 4), 2)
    yield S(g(1, 2, 4, 5), (2, 3), 1)
    yield S(g(1, 1, 5, 5), 3, 2, 1)
    yield S(g(1, 1, 5, 5), 3, 2, 1, count_include_pad=False)
    yield S(g(1, 1, 5, 5), 2, ceil_mode=True)
    yield S(g(1, 1, 5, 5), 3, 2, 1, True, False)
    yield S(g(2, 4, 4), 2, divisor_override=3)
    yield N(g(0, 2, 4, 4), 2)
    yield N(g(2, 3, 13, 17), 3, 2, 1)


def batch_norm_ref(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if training or running_mean is None:
        axes = (0, *range(2, x.ndim))
        mean, var = x.mean(axes), x.var(axes)
    else:
        mean, var = running_mean, running_var
    y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def batch_norm_samples(g: Gen) -> Iterator[Sample]:
    def running() -> tuple[Const, Const]:
        return Const(g(2)), Const(g(2, low=0.5, high=2))

    yield S(g(3, 2), *running(), g(2), g(2))
    yield S(g(3, 2), *running(), g(2), g(2), True)
    yield S(g(2, 2, 3), *running(), training=True)
    yield S(g(1, 2, 2, 2), None, None, g(2), g(2), training=True)
    yield S(g(2, 2, 1, 2), *running(), g(2), g(2), training=True, momentum=0.3, eps=1e-3)
    yield S(g(2, 2, 1, 2), *running(), g(2), None)
    yield N(g(8, 2, 9, 9), *running(), g(2), g(2), training=True)
    yield N(g(64, 2, low=1000, high=1001), None, None, training=True)


def batch_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(3, 2), g(3), g(2))
    yield E(RuntimeError, g(3, 2), g(2), g(2), g(3))
    yield E(ValueError, g(1, 2), g(2), g(2), None, None, True)
    yield E((RuntimeError, TypeError), g(3, 2), None, None)


def layer_norm_ref(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def layer_norm_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 4), (4,))
    yield S(g(2, 4), (4,), g(4), g(4))
    yield S(g(2, 2, 3), [2, 3], g(2, 3), g(2, 3), 1e-3)
    yield S(g(2, 4), (4,), g(4))
    yield S(g(2, 4), (4,), None, g(4))
    yield N(g(0, 4), (4,), g(4), g(4))
    yield N(g(5, 67), (67,), g(67), g(67))


def layer_norm_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2, 4), (3,))
    yield E(RuntimeError, g(2, 4), (4,), g(3))
    yield E(RuntimeError, g(2, 4), ())
    yield E(TypeError, g(2, 4))


def embedding_ref(index, weight, padding_idx=None):
    return weight[index]


def embedding_samples(g: Gen) -> Iterator[Sample]:
    yield S(g.index(3, n=5), g(5, 2))
    yield S(g.index(2, 3, n=5), g(5, 2))
    yield S(g.index(n=5), g(5, 2))
    yield S(np.asarray([1, 1, 4, 1]), g(5, 2))
    yield S(g.index(3, n=5).astype(np.int32), g(5, 2))
    yield N(np.asarray([1, 2, 0]), g(5, 2), padding_idx=2)
    yield N(np.asarray([1, 2, 0]), g(5, 2), -3)
    yield N(g.index(0, n=5), g(5, 2))


def embedding_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, np.asarray([5]), g(5, 2))
    yield E(IndexError, np.asarray([-1]), g(5, 2))
    yield E(RuntimeError, np.asarray([0.5], np.float32), g(5, 2))
    yield E(RuntimeError, np.asarray([1]), g(5))


def softmax_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(4), 0)
    yield S(g(2, 3), 1)
    yield S(g(2, 3), 0)
    yield S(g(2, 3, 2), -2)
    yield S(g(), 0)
    yield N(g(0), 0)
    yield N(g(2, 0), 1)
    yield N(g(5, 67), 1)
    yield N(g(67, 5), 0)
    yield N(g(3, 4, low=-1000, high=1000), 1)
    yield N(np.asarray([[-np.inf, 0], [-np.inf, -np.inf], [np.nan, 1]], g.np_dtype), 1)
    yield N(g(2, 3), 1, dtype=Dtype("float64"))


def softmax_ref(x, dim, dtype=None):
    return scipy.special.softmax(x, axis=dim) if x.size else x


def log_softmax_ref(x, dim, dtype=None):
    if x.size == 0:
        return x
    highest = x.max(axis=dim, keepdims=True)
    return x - highest - np.log(np.exp(x - highest).sum(axis=dim, keepdims=True))


def softmax_result(sample: Sample, dtype: str) -> str:
    return str(sample.kwargs.get("dtype") or dtype)


def dim_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(2, 3), 2)
    yield E(IndexError, g(2, 3), -3)
    yield E(TypeError, g(2, 3), "text")


def reduced(losses: np.ndarray, reduction: str, total: Any = None) -> np.ndarray:
    if reduction == "none":
        return losses
    return losses.sum() / (1 if reduction == "sum" else losses.size if total is None else total)


def nll_loss_ref(x, target, weight=None, *, ignore_index=-100, reduction="mean"):
    if x.ndim == 1:
        x, target, single = x[None], np.reshape(target, 1), True
    else:
        single = False
    x = np.moveaxis(x, 1, -1)
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    scale = (np.ones(x.shape[-1]) if weight is None else weight)[safe] * kept
    losses = -np.take_along_axis(x, safe[..., None], -1)[..., 0] * scale
    losses = np.where(kept, losses, 0)
    return reduced(losses[0] if single else losses, reduction, scale.sum())


def nll_loss_samples(g: Gen) -> Iterator[Sample]:
    weight = Const(g(3, low=0.5, high=2))
    yield S(g(4, 3), g.index(4, n=3))
    yield S(g(4, 3), g.index(4, n=3), reduction="sum")
    yield S(g(4, 3), g.index(4, n=3), reduction="none")
    yield S(g(4, 3), g.index(4, n=3), weight)
    yield S(g(4, 3), np.asarray([0, 2, 1, 2]), weight, ignore_index=2)
    yield S(g(3), g.index(n=3))
    yield S(g(2, 3, 2, 2), g.index(2, 2, 2, n=3), weight, reduction="mean")
    yield S(g(2, 3, 2), g.index(2, 2, n=3), reduction="none")
    yield N(g(2, 3), np.asarray([-100, -100]))


def nll_loss_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(2, 3), np.asarray([0, 3]))
    yield E(IndexError, g(2, 3), np.asarray([0, -1]))
    yield E(ValueError, g(2, 3), np.asarray([0]))
    yield E(RuntimeError, g(2, 3), np.asarray([0, 1]), g(2))
    yield E(ValueError, g(2, 3), np.asarray([0, 1]), reduction="text")
    yield E(RuntimeError, g(2, 3), np.asarray([0.0, 1.0], np.float32))


def cross_entropy_ref(x, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = 0 if x.ndim == 1 else 1
    logs = log_softmax_ref(x, axis)
    classes = x.shape[axis]
    if target.dtype.kind == "f":
        target = target * (1 - label_smoothing) + label_smoothing / classes
        scale = np.ones(classes) if weight is None else weight
        losses = -(np.moveaxis(logs * target, axis, -1) * scale).sum(-1)
        return reduced(losses, reduction, max(1, losses.size))
    hard = nll_loss_ref(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if not label_smoothing:
        return hard
    kept = target != ignore_index
    scale = np.ones(classes) if weight is None else weight
    smooth = np.where(kept, -(np.moveaxis(logs, axis, -1) * scale).sum(-1), 0)
    total = (scale[np.where(kept, target, 0)] * kept).sum()
    return (1 - label_smoothing) * hard + label_smoothing / classes * reduced(smooth, reduction, total)


def cross_entropy_samples(g: Gen) -> Iterator[Sample]:
    yield from (s for s in nll_loss_samples(g) if s.grad)
    weight = Const(g(3, low=0.5, high=2))
    yield S(g(4, 3), g.index(4, n=3), label_smoothing=0.1)
    yield S(g(4, 3), np.asarray([0, 2, 1, 2]), weight, label_smoothing=0.2, ignore_index=2)
    yield S(g(4, 3), g.index(4, n=3), weight, label_smoothing=0.2, reduction="none")
    yield S(g(4, 3), g(4, 3, low=0, high=1))
    yield S(g(4, 3), g(4, 3, low=0, high=1), weight, reduction="sum", label_smoothing=0.1)
    yield S(g(2, 3, 2), g(2, 3, 2, low=0, high=1), reduction="none")
    yield N(g(4, 3, low=-1000, high=1000), g.index(4, n=3))
    yield N(g(64, 10), g.index(64, n=10))


def cross_entropy_errors(g: Gen) -> Iterator[Error]:
    yield E(IndexError, g(2, 3), np.asarray([0, 3]))
    yield E(ValueError, g(2, 3), np.asarray([0]))
    yield E(RuntimeError, g(2, 3), np.asarray([0, 1]), label_smoothing=1.5)
    yield E(ValueError, g(2, 3), np.asarray([0, 1]), reduction="text")


def mse_loss_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 3), g(2, 3))
    yield S(g(2, 3), g(2, 3), reduction="sum")
    yield S(g(2, 3), g(2, 3), reduction="none")
    yield S(g(), g())
    yield N(g(0), g(0), reduction="sum")
    yield N(g(67), g(67))


def mse_loss_errors(g: Gen) -> Iterator[Error]:
    yield E(RuntimeError, g(2), g(3))
    yield E(ValueError, g(2), g(2), reduction="text")
    yield E((TypeError, AttributeError), g(2), "text")


def dropout_samples(g: Gen) -> Iterator[Sample]:
    yield N(g(3, 4), 0.25)
    yield N(g(3, 4), p=0.5, training=True)
    yield N(g(100), 0.9)
    yield N(g(), 0.5)
    yield N(g(0), 0.5)
    yield S(g(3, 4), 0.0)
    yield S(g(3, 4), 0.5, training=False)
    yield N(g(3), 1.0)


def dropout_errors(g: Gen) -> Iterator[Error]:
    yield E(ValueError, g(2), 1.5)
    yield E(ValueError, g(2), -0.1)


SOFTMAX = {"result": softmax_result, "grad": True, "method": True, "out": True, "errors": dim_errors}
PIXELS = {"grad": True, "layouts": ("transposed", "step", "offset")}

NN = [
    Op(
        "nn.functional.conv2d",
        conv2d_samples,
        conv2d_ref,
        grad=True,
        errors=conv2d_errors,
        atol=1e-4,
        registered=("conv2d", "convolution"),
    ),
    Op(
        "nn.functional.max_pool2d",
        max_pool2d_samples,
        max_pool2d_ref,
        result=max_pool2d_result,
        errors=pool_errors,
        registered=("max_pool2d", "max_pool2d_with_indices"),
        **PIXELS,
    ),
    Op("nn.functional.avg_pool2d", avg_pool2d_samples, avg_pool2d_ref, errors=pool_errors, **PIXELS),
    Op(
        "nn.functional.batch_norm",
        batch_norm_samples,
        batch_norm_ref,
        grad=True,
        errors=batch_norm_errors,
        layouts=("transposed", "step", "offset"),
        grad_atol=1e-4,
    ),
    Op("nn.functional.layer_norm", layer_norm_samples, layer_norm_ref, grad=True, errors=layer_norm_errors).but(
        layouts=("transposed", "step", "offset")
    ),
    Op(
        "nn.functional.embedding",
        embedding_samples,
        embedding_ref,
        result=lambda s, d: d,
        grad=True,
        errors=embedding_errors,
    ),
    Op("softmax", softmax_samples, softmax_ref, registered=("softmax", "_softmax"), **SOFTMAX),
    Op("log_softmax", softmax_samples, log_softmax_ref, registered=("log_softmax", "_log_softmax"), **SOFTMAX),
    Op("nn.functional.softmax", softmax_samples, softmax_ref, result=softmax_result, errors=dim_errors),
    Op("nn.functional.log_softmax", softmax_samples, log_softmax_ref, result=softmax_result, errors=dim_errors),
    Op("nn.functional.nll_loss", nll_loss_samples, nll_loss_ref, grad=True, errors=nll_loss_errors),
    Op("nn.functional.cross_entropy", cross_entropy_samples, cross_entropy_ref, grad=True).but(
        errors=cross_entropy_errors, registered=("cross_entropy", "cross_entropy_loss")
    ),
    Op(
        "nn.functional.mse_loss",
        mse_loss_samples,
        lambda a, b, *, reduction="mean": reduced((a - b) ** 2, reduction),
        grad=True,
        errors=mse_loss_errors,
    ),
    Op(
        "nn.functional.dropout",
        dropout_samples,
        None,
        grad=True,
        errors=dropout_errors,
        random=True,
        view=None,
        registered=("dropout", "native_dropout"),
    ),
]
