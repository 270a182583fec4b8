"""Pooling."""

from __future__ import annotations

import math

import rushlight as rl

from ... import _C
from .._sizes import several

__all__ = [
    *(f"{kind}_pool{n}d" for kind in ("max", "avg", "lp", "adaptive_avg", "adaptive_max") for n in (1, 2, 3)),
    *(f"max_unpool{n}d" for n in (1, 2, 3)),
    *(f"fractional_max_pool{n}d" for n in (2, 3)),
]


def _output_size(input, size, spatial):
    """A size with the input's own where it has None, for each of the spatial dimensions."""
    if isinstance(size, (tuple, list)):
        if input.dim() < len(size) + 1:
            raise ValueError(
                f"output_size {tuple(size)} has more dimensions than input {tuple(input.shape)} after its channels"
            )
        return tuple(n if s is None else s for s, n in zip(size, input.shape[-len(size) :], strict=True))
    if size is None:
        return tuple(input.shape[-spatial:])
    return size


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """``max_pool2d`` of sequences (N, C, L) or (C, L).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.max_pool1d(rl.tensor([[1., 3., 2., 0., 5.]]), 3, stride=2)
        tensor([[3., 5.]])
    """
    if not return_indices:
        return _C.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _C.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest value in each window.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size, stride, padding, dilation: a number, or one for each of the two dimensions; the stride is the
            kernel's size unless given.
        ceil_mode: round the output's size up instead of down.
        return_indices: also give where in its (H, W) plane each maximum was, int64.

    Raises:
        RuntimeError: the padding is over half the kernel, or the output would be empty.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.max_pool2d(rl.arange(4.).view(1, 1, 2, 2), 2)
        tensor([[[[3.]]]])
    """
    stride = kernel_size if stride is None else stride
    values, indices = _C.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return (values, indices) if return_indices else values


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """``max_pool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.max_pool3d(rl.arange(8.).view(1, 2, 2, 2), 2)
        tensor([[[[7.]]]])
    """
    pool = _C.max_pool3d_with_indices if return_indices else _C.max_pool3d
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


def _unpooled_size(input, kernel_size, stride, padding, output_size, spatial):
    """The size that pooling made the input from: the least one, or one within a stride of it that is asked for."""
    size, padding = several(kernel_size, spatial), several(padding, spatial)
    stride = size if stride is None or stride == () else several(stride, spatial)
    if input.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"max_unpool{spatial}d: input must have {spatial + 1} or {spatial + 2} dimensions, "
            f"got shape {tuple(input.shape)}"
        )
    default = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-spatial:], stride, size, padding, strict=True)
    ]
    if output_size is None:
        return default
    wanted = list(output_size)
    if len(wanted) == spatial + 2:
        wanted = wanted[2:]
    if len(wanted) != spatial:
        raise ValueError(f"output_size must have {spatial} or {spatial + 2} elements, got {tuple(output_size)}")
    for n, d, s in zip(wanted, default, stride, strict=True):
        if not d - s < n < d + s:
            raise ValueError(
                f"invalid output_size {tuple(output_size)}: with this kernel and stride, "
                f"{n} must be between {d - s} and {d + s}"
            )
    return wanted


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """``max_unpool2d`` of sequences (N, C, L) or (C, L).

    Example:
        >>> import rushlight as rl
        >>> F = rl.nn.functional
        >>> F.max_unpool1d(*F.max_pool1d(rl.tensor([[1., 3., 2., 0.]]), 2, return_indices=True), 2)
        tensor([[0., 3., 2., 0.]])
    """
    size = _unpooled_size(input, kernel_size, stride, padding, output_size, 1)
    return _C.max_unpool2d(input.unsqueeze(-2), indices.unsqueeze(-2), (1, *size)).squeeze(-2)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Puts the values that ``max_pool2d`` kept back where they were, among zeros.

    Args:
        input: (N, C, H, W) or (C, H, W).
        indices: int64, of input's shape, from ``max_pool2d(..., return_indices=True)``.
        kernel_size, stride, padding: those of the pooling.
        output_size: the size before pooling, where it is not the least one that is possible.

    Raises:
        ValueError: a size that pooling cannot have made the input from.
        RuntimeError: an index outside of the output.

    Example:
        >>> import rushlight as rl
        >>> F = rl.nn.functional
        >>> F.max_unpool2d(*F.max_pool2d(rl.arange(16.).view(1, 4, 4), 2, return_indices=True), 2)
        tensor([[[ 0.,  0.,  0.,  0.],
                 [ 0.,  5.,  0.,  7.],
                 [ 0.,  0.,  0.,  0.],
                 [ 0., 13.,  0., 15.]]])
    """
    return _C.max_unpool2d(input, indices, _unpooled_size(input, kernel_size, stride, padding, output_size, 2))


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """``max_unpool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> F = rl.nn.functional
        >>> F.max_unpool3d(*F.max_pool3d(rl.arange(8.).view(1, 2, 2, 2), 2, return_indices=True), 2)
        tensor([[[[0., 0.],
                  [0., 0.]],
        <BLANKLINE>
                 [[0., 0.],
                  [0., 7.]]]])
    """
    return _C.max_unpool3d(input, indices, _unpooled_size(input, kernel_size, stride, padding, output_size, 3))


avg_pool1d = _C.avg_pool1d
avg_pool2d = _C.avg_pool2d
avg_pool3d = _C.avg_pool3d


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``lp_pool2d`` of sequences (N, C, L) or (C, L).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.lp_pool1d(rl.tensor([[3., 4., 6., 8.]]), 2, 2)
        tensor([[ 5., 10.]])
    """
    return _lp_pool(_C.avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The norm of each window: (sum of x ** p) ** (1 / p).

    Args:
        input: (N, C, H, W) or (C, H, W).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in ``max_pool2d``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.lp_pool2d(rl.tensor([[[1., 1.], [1., 1.]]]), 2, 2)
        tensor([[[2.]]])
    """
    return _lp_pool(_C.avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``lp_pool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.lp_pool3d(rl.ones(1, 1, 2, 4), 2, (1, 2, 2))
        tensor([[[[2., 2.]]]])
    """
    return _lp_pool(_C.avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)


def _lp_pool(average, input, norm_type, kernel_size, stride, ceil_mode, spatial):
    if norm_type == 0:
        raise ValueError(f"lp_pool{spatial}d: norm_type must not be 0: no root is taken of it")
    root = 1.0 / norm_type
    count = math.prod(several(kernel_size, spatial))
    means = average(input.pow(norm_type), kernel_size, kernel_size if stride is None else stride, 0, ceil_mode)
    return means.mul(count).pow(root)


adaptive_avg_pool1d = _C.adaptive_avg_pool1d


def adaptive_avg_pool2d(input, output_size):
    """The mean of each of as many windows as asked for: window i of n covers i / n to (i + 1) / n of the image.

    Args:
        input: (N, C, H, W) or (C, H, W).
        output_size: (H', W'), or one number for both; None keeps the input's.

    Raises:
        RuntimeError: a negative size, or an image without pixels.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.adaptive_avg_pool2d(rl.arange(16.).view(1, 4, 4), (2, None))
        tensor([[[ 2.,  3.,  4.,  5.],
                 [10., 11., 12., 13.]]])
    """
    return _C.adaptive_avg_pool2d(input, _output_size(input, output_size, 2))


def adaptive_avg_pool3d(input, output_size):
    """``adaptive_avg_pool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.adaptive_avg_pool3d(rl.ones(1, 2, 8, 9, 10), (5, 7, None)).shape
        torch.Size([1, 2, 5, 7, 10])
    """
    return _C.adaptive_avg_pool3d(input, _output_size(input, output_size, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest value of each of as many windows as asked for.

    Args:
        input: (N, C, L) or (C, L).
        output_size: a number.
        return_indices: also give where each maximum was, int64.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.adaptive_max_pool1d(rl.arange(5.).view(1, 5), 2, return_indices=True)
        (tensor([[2., 4.]]), tensor([[2, 4]]))
    """
    values, indices = _C.adaptive_max_pool1d(input, output_size)
    return (values, indices) if return_indices else values


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest value of each of as many windows as asked for; windows are those of ``adaptive_avg_pool2d``.

    Args:
        input: (N, C, H, W) or (C, H, W).
        output_size: (H', W'), or one number for both; None keeps the input's.
        return_indices: also give where in its (H, W) plane each maximum was, int64.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.adaptive_max_pool2d(rl.arange(16.).view(1, 4, 4), 2)
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """
    values, indices = _C.adaptive_max_pool2d(input, _output_size(input, output_size, 2))
    return (values, indices) if return_indices else values


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """``adaptive_max_pool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.adaptive_max_pool3d(rl.ones(1, 2, 8, 9, 10), (5, 7, None)).shape
        torch.Size([1, 2, 5, 7, 10])
    """
    values, indices = _C.adaptive_max_pool3d(input, _output_size(input, output_size, 3))
    return (values, indices) if return_indices else values


def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """Max pooling with windows at random distances, so that the output may have any size (Graham, 2014).

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: a number, or one for each of the two dimensions.
        output_size: of the output, likewise; or else
        output_ratio: the output's size as a share of the input's, between 0 and 1, likewise.
        return_indices: also give where in its (H, W) plane each maximum was, int64.

    Raises:
        ValueError: neither output_size nor output_ratio, or a ratio that is not between 0 and 1.
        RuntimeError: the windows do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.fractional_max_pool2d(rl.ones(1, 3, 9, 9), 2, output_ratio=0.7).shape
        torch.Size([1, 3, 6, 6])
    """
    values, indices = _fractional_max_pool(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return (values, indices) if return_indices else values


def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """``fractional_max_pool2d`` of volumes (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.fractional_max_pool3d(rl.ones(1, 3, 9, 9, 9), 2, (5, 6, 7)).shape
        torch.Size([1, 3, 5, 6, 7])
    """
    values, indices = _fractional_max_pool(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return (values, indices) if return_indices else values


def _fractional_max_pool(input, kernel_size, output_size, output_ratio, samples, n):
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}: give output_size or output_ratio")
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(f"{name}: input must have {n + 1} or {n + 2} dimensions, got shape {tuple(input.shape)}")
    if input.dim() == n + 1:
        values, indices = _fractional_max_pool(input.unsqueeze(0), kernel_size, output_size, output_ratio, samples, n)
        return values.squeeze(0), indices.squeeze(0)
    kernel, spatial, planes = several(kernel_size, n), input.shape[2:], input.shape[:2]
    if output_size is None:
        ratios = several(output_ratio, n)
        if not all(0 < r < 1 for r in ratios):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}")
        output_size = [int(s * r) for s, r in zip(spatial, ratios, strict=True)]
    sizes = several(output_size, n)
    if not all(k > 0 and o > 0 and o + k - 1 <= s for k, o, s in zip(kernel, sizes, spatial, strict=True)):
        raise RuntimeError(
            f"{name}: an output of {tuple(sizes)} with a kernel of {kernel} does not fit input {tuple(input.shape)}"
        )
    if samples is None:
        samples = rl.rand((*planes, n), dtype=input.dtype, device=input.device)
    places = rl.zeros((), dtype=rl.int64, device=input.device)  # (N, C, output..., kernel...) into the flat volume
    for a, (k, o, s) in enumerate(zip(kernel, sizes, spatial, strict=True)):
        # Of images the first number is the width's, of volumes the depth's.
        begins = _window_begins(samples[..., n - 1 - a if n == 2 else a], k, o, s)
        axis = begins.unsqueeze(-1) + rl.arange(k, device=input.device)
        shape = [*planes, *[1] * (2 * n)]
        shape[2 + a], shape[2 + n + a] = o, k
        places = places * s + axis.view(shape)
    places = places.flatten(2 + n)
    taken = input.flatten(2).gather(-1, places.flatten(2)).view(places.shape)
    values, best = taken.max(-1)
    return values, places.gather(-1, best.unsqueeze(-1)).squeeze(-1)


def _window_begins(sample, kernel, outputs, inputs):
    """Where windows begin along an axis, (N, C, outputs): at random, the last one at the end."""
    last = rl.full((*sample.shape, 1), inputs - kernel, dtype=rl.int64, device=sample.device)
    if outputs == 1:
        return last
    step = (inputs - kernel) / (outputs - 1)
    sample = sample.unsqueeze(-1)
    at = rl.arange(outputs - 1, dtype=sample.dtype, device=sample.device)
    return rl.cat([((at + sample) * step).long() - (sample * step).long(), last], -1)
