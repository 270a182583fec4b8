"""Pooling, convolution and resampling in one to three dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .core import E, Error, Gen, N, Op, S, Sample


def several(value: Any, n: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return values * n if len(values) == 1 else values


# -- convolution


def pairs_of_padding(padding: Any, size: tuple, dilation: tuple) -> list[tuple[int, int]]:
    if padding == "valid":
        padding = 0
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, size, strict=True)]
        return [(t // 2, t - t // 2) for t in totals]
    return [(p, p) for p in several(padding, len(size))]


def conv_ref(n: int) -> Callable:
    def ref(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if x.ndim == n + 1:
            return ref(x[None], weight, bias, stride, padding, dilation, groups)[0]
        stride, dilation, size = several(stride, n), several(dilation, n), weight.shape[2:]
        x = np.pad(x, [(0, 0), (0, 0), *pairs_of_padding(padding, size, dilation)])
        extent = [d * (k - 1) + 1 for d, k in zip(dilation, size, strict=True)]
        patches = np.lib.stride_tricks.sliding_window_view(x, extent, tuple(range(2, n + 2)))
        patches = patches[(slice(None), slice(None), *(slice(None, None, s) for s in (*stride, *dilation)))]
        parts = []
        for group, kernels in zip(np.split(patches, groups, 1), np.split(weight, groups), strict=True):
            inner = [1, *range(n + 2, 2 * n + 2)]
            parts.append(np.moveaxis(np.tensordot(group, kernels, (inner, range(1, n + 2))), -1, 1))
        y = np.concatenate(parts, 1)
        return y if bias is None else y + bias.reshape(-1, *[1] * n)

    return ref


def conv_transpose_ref(n: int) -> Callable:
    def ref(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if x.ndim == n + 1:
            return ref(x[None], weight, bias, stride, padding, output_padding, groups, dilation)[0]
        stride, dilation, size = several(stride, n), several(dilation, n), weight.shape[2:]
        padding, extra = several(padding, n), several(output_padding, n)
        full = [
            (i - 1) * s + d * (k - 1) + 1 + e
            for i, s, d, k, e in zip(x.shape[2:], stride, dilation, size, extra, strict=True)
        ]
        parts = []
        for group, kernels in zip(np.split(x, groups, 1), np.split(weight, groups), strict=True):
            y = np.zeros((x.shape[0], weight.shape[1], *full), x.dtype)
            for tap in itertools.product(*map(range, size)):
                places = tuple(
                    slice(t * d, t * d + s * (i - 1) + 1, s)
                    for t, d, s, i in zip(tap, dilation, stride, x.shape[2:], strict=True)
                )
                y[(slice(None), slice(None), *places)] += np.moveaxis(
                    np.tensordot(group, kernels[(slice(None), slice(None), *tap)], (1, 0)), -1, 1
                )
            parts.append(y)
        y = np.concatenate(parts, 1)
        y = y[(slice(None), slice(None), *(slice(p, f - p) for p, f in zip(padding, full, strict=True)))]
        return y if bias is None else y + bias.reshape(-1, *[1] * n)

    return ref


def conv_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        three, two = (3, 3, 2)[:n], (2, 2, 2)[:n]
        large = {1: (37,), 2: (9, 11), 3: (6, 5, 4)}[n]
        yield S(g(1, 2, *two), g(2, 2, *two), padding=1)
        yield S(g(2, 1, *three), g(1, 1, *two), g(1), 2, 1)
        yield S(g(1, 1, *three), g(1, 1, *two), dilation=2, padding=1)
        yield S(g(1, 2, *three), g(2, 1, *two), g(2), groups=2)
        yield S(g(2, *three), g(2, 2, *[1] * n), g(2))
        yield S(g(1, 1, *three), g(1, 1, *two), padding="same")
        yield N(g(2, 3, *large), g(5, 3, *three), g(5), padding=1)
        yield N(g(2, 4, *large), g(6, 2, *three), g(6), (2, 1, 3)[:n], (1, 2, 0)[:n], (2, 1, 2)[:n], 2)
        yield N(g(2, 4, *large), g(4, 1, *three), None, groups=4, padding="same")
        yield N(g(3, 16, *large), g(32, 16, *[1] * n), g(32), stride=2)
        yield N(g(0, 2, *large), g(3, 2, *two), g(3))
        yield N(g(1, 1, *large), g(1, 1, *two), padding="valid")

    return samples


def conv_errors(n: int) -> Callable:
    def errors(g: Gen) -> Iterator[Error]:
        size, kernel = [4] * n, [3] * n
        yield E(RuntimeError, g(1, 2, *size), g(3, 1, *kernel))
        yield E(RuntimeError, g(1, 2, *[2] * n), g(3, 2, *kernel))
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), g(2))
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), stride=0)
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), padding=-1)
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), dilation=0)
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), groups=3)
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), groups=0)
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), stride=2, padding="same")
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel), padding="text")
        yield E(RuntimeError, g(4), g(3, 2, *kernel))
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel, 3))
        yield E(TypeError, g(1, 2, *size), "text")

    return errors


def conv_transpose_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        three, two = (3, 3, 2)[:n], (2, 2, 2)[:n]
        large = {1: (37,), 2: (9, 7), 3: (5, 4, 3)}[n]
        yield S(g(1, 2, *two), g(2, 2, *two))
        yield S(g(2, 1, *two), g(1, 1, *two), g(1), 2, 1)
        yield S(g(1, 1, *two), g(1, 1, *two), g(1), 2, 0, 1)
        yield S(g(1, 2, *three), g(2, 1, *two), g(2), groups=2)
        yield S(g(1, 1, *three), g(1, 1, *two), dilation=2, output_padding=1)
        yield S(g(2, *three), g(2, 2, *[1] * n), g(2), stride=2)
        yield N(g(2, 3, *large), g(3, 5, *three), g(5), padding=1)
        yield N(g(2, 4, *large), g(4, 3, *three), g(6), (2, 1, 3)[:n], (1, 2, 0)[:n], (1, 0, 2)[:n], 2, (2, 1, 2)[:n])
        yield N(g(2, 4, *large), g(4, 1, *three), g(4), groups=4)
        yield N(g(3, 16, *large), g(16, 8, *[1] * n), g(8), stride=3)
        yield N(g(0, 2, *large), g(2, 3, *two), g(3))

    return samples


def conv_transpose_errors(n: int) -> Callable:
    def errors(g: Gen) -> Iterator[Error]:
        size, kernel = [4] * n, [2] * n
        yield E(RuntimeError, g(1, 2, *size), g(3, 2, *kernel))
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), g(2))
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), stride=0)
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), padding=-1)
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), padding=9)
        yield E(RuntimeError, g(1, 2, *[3] * n), g(2, 3, *kernel), padding=2)
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), output_padding=1)
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), output_padding=-1)
        yield E(RuntimeError, g(1, 2, *size), g(2, 3, *kernel), groups=3)
        yield E(RuntimeError, g(4), g(2, 3, *kernel))
        yield E(TypeError, g(1, 2, *size), g(2, 3, *kernel), padding="same")
        yield E(TypeError, g(1, 2, *size), "text")

    return errors


# -- adaptive pooling


def adaptive_ref(x, output_size, spatial, reduce):
    """``reduce`` takes a box of x and where it begins."""
    size = [n if s is None else s for s, n in zip(several(output_size, spatial), x.shape[-spatial:], strict=True)]
    first = None
    for place in itertools.product(*map(range, size)):
        starts = [i * n // s for i, n, s in zip(place, x.shape[-spatial:], size, strict=True)]
        ends = [-(-(i + 1) * n // s) for i, n, s in zip(place, x.shape[-spatial:], size, strict=True)]
        box = x[(..., *(slice(b, e) for b, e in zip(starts, ends, strict=True)))]
        value = reduce(box, starts)
        if first is None:
            first = np.zeros((*x.shape[:-spatial], *size), value.dtype)
        first[(..., *place)] = value
    return np.zeros((*x.shape[:-spatial], *size)) if first is None else first


def adaptive_avg_ref(spatial: int) -> Callable:
    return lambda x, output_size: adaptive_ref(
        x, output_size, spatial, lambda box, _: box.mean(tuple(range(-spatial, 0)))
    )


def adaptive_max_ref(spatial: int) -> Callable:
    def place(x: np.ndarray) -> Callable:
        numbers = np.arange(int(np.prod(x.shape[-spatial:]))).reshape(x.shape[-spatial:])

        def of(box: np.ndarray, starts: list[int]) -> np.ndarray:
            inside = tuple(slice(b, b + n) for b, n in zip(starts, box.shape[-spatial:], strict=True))
            best = box.reshape(*box.shape[:-spatial], -1).argmax(-1)
            return numbers[inside].reshape(-1)[best]

        return of

    def ref(x, output_size, return_indices=False):
        values = adaptive_ref(x, output_size, spatial, lambda box, _: box.max(tuple(range(-spatial, 0))))
        return (values, adaptive_ref(x, output_size, spatial, place(x))) if return_indices else values

    return ref


def adaptive_samples(spatial: int, maximum: bool) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        shapes = {1: [(1, 2, 7), (2, 5)], 2: [(1, 1, 5, 4), (2, 3, 4)], 3: [(1, 1, 4, 3, 2), (1, 3, 2, 4)]}[spatial]
        large = (2, 3, *(11, 9, 6)[:spatial])
        make = g.distinct if maximum else g
        size = (3, 2, 4)[:spatial]
        yield S(make(*shapes[0]), size)
        yield S(make(*shapes[1]), 2)
        yield S(make(*shapes[0]), 1)
        yield N(make(*large), 5)
        yield N(make(*large), 1)
        yield N(make(*large), large[2:])
        yield N(make(*large), 0)
        yield N(make(0, *large[1:]), 2)
        if spatial > 1:
            yield N(make(*large), (None, *size[1:]))
        if maximum:
            yield N(make(*large), 3, return_indices=True)

    return samples


def adaptive_errors(spatial: int) -> Callable:
    def errors(g: Gen) -> Iterator[Error]:
        shape = (1, 2, 4, 4, 4)[: spatial + 2]
        yield E(RuntimeError, g(*shape), -1)
        yield E(RuntimeError, g(3), 2)
        yield E(RuntimeError, g(*[1] * (spatial + 3)), 2)
        yield E(RuntimeError, g(1, 2, *[0] * spatial), 2)
        yield E(TypeError, g(*shape), 2.5)
        if spatial == 1:
            yield E(RuntimeError, g(*shape), (2, 2))

    return errors


# -- pooling


def pool_axis(extent, size, stride, padding, dilation, ceil_mode) -> list[range]:
    """The places that each window along one axis covers, those outside included."""
    room = extent + 2 * padding - dilation * (size - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1  # the last window must start inside the input or its left padding
    starts = [i * stride - padding for i in range(count)]
    return [range(s, s + dilation * (size - 1) + 1, dilation) for s in starts]


def pooled(n: int, x: np.ndarray, axes: list[list[range]], reduce: Callable) -> np.ndarray:
    """``reduce`` takes the values of a window, (..., count), and the places that it covers along each axis."""
    y = None
    for at in itertools.product(*(range(len(a)) for a in axes)):
        window = [axes[i][at[i]] for i in range(n)]
        inside = [[p for p in w if 0 <= p < x.shape[i - n]] for i, w in enumerate(window)]
        values = x[(..., *np.ix_(*inside))]
        values = values.reshape(*x.shape[:-n], math.prod(map(len, inside)))
        value = reduce(values, inside, window)
        if y is None:
            y = np.zeros((*x.shape[:-n], *map(len, axes)), value.dtype)
        y[(..., *at)] = value
    assert y is not None
    return y


def pool_axes(n, x, kernel_size, stride, padding, dilation, ceil_mode) -> list[list[range]]:
    stride = kernel_size if stride in (None, ()) else stride
    parts = [several(v, n) for v in (kernel_size, stride, padding, dilation)]
    return [pool_axis(x.shape[i - n], *(p[i] for p in parts), ceil_mode) for i in range(n)]


def max_pool_ref(n: int) -> Callable:
    def ref(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        axes = pool_axes(n, x, kernel_size, stride, padding, dilation, ceil_mode)
        numbers = np.arange(int(np.prod(x.shape[-n:]))).reshape(x.shape[-n:])
        values = pooled(n, x, axes, lambda v, *_: v.max(-1))
        if not return_indices:
            return values
        return values, pooled(n, x, axes, lambda v, inside, _: numbers[np.ix_(*inside)].reshape(-1)[v.argmax(-1)])

    return ref


def avg_pool_ref(n: int) -> Callable:
    def ref(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        pads = several(padding, n)

        def mean(values: np.ndarray, inside: list, window: list) -> np.ndarray:
            counted = [[p for p in w if p < x.shape[i - n] + pads[i]] for i, w in enumerate(window)]
            count = np.prod([len(p) for p in (counted if count_include_pad else inside)])
            return values.sum(-1) / (divisor_override or count)

        return pooled(n, x, pool_axes(n, x, kernel_size, stride, padding, 1, ceil_mode), mean)

    return ref


def max_pool_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        small = {1: (9,), 2: (4, 5), 3: (4, 3, 3)}[n]
        large = {1: (37,), 2: (13, 17), 3: (7, 9, 8)}[n]
        yield S(g.distinct(1, 1, *small), 2)
        yield S(g.distinct(1, *small), (2, 3, 2)[:n], 1)
        yield S(g.distinct(1, 1, *small), 3, 2, 1)
        yield S(g.distinct(1, 1, *small), 2, ceil_mode=True)
        yield S(g.distinct(1, 1, *small), 2, 1, 1, 2)
        yield N(g.distinct(2, 3, *large), 3, 2, 1, return_indices=True, ceil_mode=True)
        yield N(g.distinct(2, 3, *large), (2, 3, 1)[:n], (3, 1, 2)[:n], (1, 1, 0)[:n], (1, 2, 1)[:n])
        yield N(g.distinct(0, 2, *large), 2)

    return samples


def avg_pool_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        small = {1: (9,), 2: (4, 5), 3: (4, 3, 3)}[n]
        large = {1: (37,), 2: (13, 17), 3: (7, 9, 8)}[n]
        yield S(g(1, 1, *small), 2)
        yield S(g(1, *small), (2, 3, 2)[:n], 1)
        yield S(g(1, 1, *small), 3, 2, 1)
        yield S(g(1, 1, *small), 3, 2, 1, count_include_pad=False)
        yield S(g(1, 1, *small), 2, ceil_mode=True)
        yield S(g(1, 1, *small), 3, 2, 1, True, False)
        if n > 1:
            yield S(g(1, *small), 2, divisor_override=3)
        yield N(g(2, 3, *large), (2, 3, 1)[:n], (3, 1, 2)[:n], (1, 1, 0)[:n], True)
        yield N(g(0, 2, *large), 2)

    return samples


def pool_errors(n: int, maximum: bool) -> Callable:
    def errors(g: Gen) -> Iterator[Error]:
        shape = (1, 1, *[4] * n)
        yield E(RuntimeError, g(*shape), 0)
        yield E(RuntimeError, g(*shape), 5)
        yield E(RuntimeError, g(*shape), 2, 0)
        yield E(RuntimeError, g(*shape), 2, 1, 2)
        yield E(RuntimeError, g(2), 2)
        yield E(RuntimeError, g(1, 1, *[0] * n), 2)
        if n == 1:
            yield E(RuntimeError, g(*shape), (2, 2))
        yield E(TypeError, g(*shape), "text")
        if maximum:
            yield E(RuntimeError, g(*shape), 2, 1, 0, 0)

    return errors


def max_unpool_ref(n: int) -> Callable:
    def ref(x, indices, kernel_size, stride=None, padding=0, output_size=None):
        k, p = several(kernel_size, n), several(padding, n)
        s = k if stride is None else several(stride, n)
        size = output_size or [(x.shape[i - n] - 1) * s[i] + k[i] - 2 * p[i] for i in range(n)]
        lead = x.shape[:-n]
        y = np.zeros((*lead, math.prod(size)), x.dtype)
        flat = (*lead, math.prod(x.shape[-n:]))
        np.put_along_axis(y, indices.reshape(flat), x.reshape(flat), -1)
        return y.reshape(*lead, *size)

    return ref


def max_unpool_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        x = g.distinct(2, *[5] * n)
        y, indices = max_pool_ref(n)(x, 2, return_indices=True)
        yield S(g(*y.shape), indices, 2, output_size=[5] * n)
        x = g.distinct(1, 1, *[4] * n)
        y, indices = max_pool_ref(n)(x, 2, return_indices=True)
        yield S(g(*y.shape), indices, 2)
        yield N(g(*y.shape), indices, 2, 2, 0, [4] * n)
        yield N(g(0, 2, *[2] * n), np.zeros((0, 2, *[2] * n), np.int64), 2)

    return samples


def max_unpool_errors(n: int) -> Callable:
    def errors(g: Gen) -> Iterator[Error]:
        shape = (1, 1, *[2] * n)
        zeros = np.zeros(shape, np.int64)
        yield E(RuntimeError, g(*shape), zeros + 1000, 2)
        yield E(RuntimeError, g(*shape), zeros - 1, 2)
        yield E(RuntimeError, g(*shape), zeros.astype(np.int32), 2)
        yield E(RuntimeError, g(2, *shape[1:]), zeros, 2)
        yield E(ValueError, g(*shape), zeros, 2, output_size=[9] * n)
        yield E(RuntimeError, g(*[2] * n), np.zeros([2] * n, np.int64), 2)

    return errors


def lp_pool_ref(n: int) -> Callable:
    def ref(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        count = np.prod(several(kernel_size, n))
        return (avg_pool_ref(n)(x**norm_type, kernel_size, stride, 0, ceil_mode) * count) ** (1 / norm_type)

    return ref


def lp_pool_samples(n: int) -> Callable:
    def samples(g: Gen) -> Iterator[Sample]:
        small = {1: (9,), 2: (4, 5), 3: (4, 3, 3)}[n]
        yield S(g.away(1, 1, *small), 2, 2)
        yield S(g(1, *small, low=0.5), 3, 2, 1)
        yield S(g(1, 1, *small, low=0.5), 1.5, (2, 3, 2)[:n] if n > 1 else 2, 2, True)

    return samples


# -- interpolation


def cubic(x: float, a: float) -> float:
    x = abs(x)
    if x <= 1:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a if x < 2 else 0.0


FILTERS: dict[str, tuple[float, Callable[[float], float]]] = {
    "bilinear": (1, lambda x: max(0.0, 1 - abs(x))),
    "bicubic": (2, lambda x: cubic(x, -0.5)),
    "lanczos": (3, lambda x: float(np.sinc(x) * np.sinc(x / 3)) if abs(x) < 3 else 0.0),
}


def resample_matrix(n: int, size: int, mode: str, align_corners: bool, antialias: bool, scale: Any) -> np.ndarray:
    """(size, n): one row for each output."""
    matrix = np.zeros((size, n))
    step = (n - 1) / max(size - 1, 1) if align_corners else (1 / scale if scale else n / size)
    for o in range(size):
        at = step * o if align_corners else step * (o + 0.5) - 0.5
        if antialias:
            reach, weigh = FILTERS[mode]
            wide, center = max(step, 1), step * (o + 0.5)
            inside = range(max(0, int(center - reach * wide + 0.5)), min(n, int(center + reach * wide + 0.5)))
            for i in inside:
                matrix[o, i] = weigh((i - center + 0.5) / wide)
            matrix[o] /= matrix[o].sum()
        elif mode in ("nearest", "nearest-exact"):
            matrix[o, min(int(step * (o if mode == "nearest" else o + 0.5)), n - 1)] = 1
        elif mode == "bicubic":
            for i in range(int(np.floor(at)) - 1, int(np.floor(at)) + 3):
                matrix[o, min(max(i, 0), n - 1)] += cubic(at - i, -0.75)
        else:
            at = min(max(at, 0), n - 1)
            low = int(at)
            matrix[o, low] += 1 - (at - low)
            matrix[o, min(low + 1, n - 1)] += at - low
    return matrix


def interpolate_ref(
    x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False
):
    n = x.ndim - 2
    scales: tuple = (None,) * n
    if size is None:
        scales = several(scale_factor, n)
        size = [int(e * s) for e, s in zip(x.shape[2:], scales, strict=True)]
        if recompute_scale_factor:
            scales = (None,) * n
    for i, (s, scale) in enumerate(zip(several(size, n), scales, strict=True)):
        m = resample_matrix(x.shape[i + 2], s, mode, bool(align_corners), antialias, scale)
        x = np.moveaxis(np.tensordot(x, m, (i + 2, 1)), -1, i + 2)
    return x


def interpolate_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 2, 3, 4), (5, 7))
    yield S(g(1, 2, 5), 8)
    yield S(g(1, 1, 2, 3, 2), scale_factor=2)
    yield S(g(1, 2, 5), scale_factor=1.7, mode="nearest-exact")
    yield S(g(1, 1, 3, 4), (7, 2), mode="nearest-exact")
    yield S(g(1, 1, 3, 2, 2), (2, 3, 5), mode="nearest-exact")
    yield S(g(1, 2, 5), 8, mode="linear")
    yield S(g(1, 2, 5), 3, mode="linear", align_corners=True)
    yield S(g(1, 1, 3, 4), (5, 7), mode="bilinear")
    yield S(g(1, 1, 3, 4), scale_factor=(1.5, 2.3), mode="bilinear", align_corners=False)
    yield S(g(1, 1, 3, 4), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
    yield S(g(1, 1, 4, 3), (2, 5), mode="bilinear", align_corners=True)
    yield S(g(1, 1, 3, 4), (5, 7), mode="bicubic")
    yield S(g(1, 1, 4, 3), (2, 5), mode="bicubic", align_corners=True)
    yield S(g(1, 1, 2, 3, 2), (3, 2, 4), mode="trilinear")
    yield S(g(1, 1, 2, 3, 2), 4, mode="trilinear", align_corners=True)
    yield S(g(1, 1, 7, 6), (3, 4), mode="bilinear", antialias=True)
    yield S(g(1, 1, 7, 6), (3, 4), mode="bicubic", antialias=True)
    yield S(g(1, 1, 7, 6), (3, 4), mode="lanczos", antialias=True)
    yield N(g(2, 3, 13, 17), (29, 11), mode="bilinear")
    yield N(g(2, 3, 13, 17), (29, 11), mode="bicubic")
    yield N(g(2, 3, 4, 5), 1, mode="bilinear")
    yield N(g(2, 3, 4, 5), (4, 5), mode="bilinear")
    yield N(g(0, 3, 4, 5), 7, mode="bilinear")


def interpolate_errors(g: Gen) -> Iterator[Error]:
    x = g(1, 2, 4, 3)
    yield E(ValueError, x)
    yield E(ValueError, x, 3, 2)
    yield E(ValueError, x, 3, align_corners=True)
    yield E(ValueError, x, (3, 3, 3))
    yield E(ValueError, x, scale_factor=(2, 2, 2))
    yield E(ValueError, x, 3, recompute_scale_factor=True)
    yield E(ValueError, x, 3, antialias=True)
    yield E(NotImplementedError, g(4, 3), 2)
    yield E(NotImplementedError, x, 3, mode="text")
    yield E(NotImplementedError, x, 3, mode="linear")
    yield E(NotImplementedError, g(1, 2, 4), 3, mode="bicubic")
    yield E(RuntimeError, x, 0)
    yield E(RuntimeError, x, -1)
    yield E(RuntimeError, x, scale_factor=0.1)
    yield E(RuntimeError, g(1, 2, 0, 3), 3)
    yield E(TypeError, x, 2.5)


# -- sliding blocks


def unfold_ref(x, kernel_size, dilation=1, padding=0, stride=1):
    kernel, dilation, pads, stride = (several(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in pads])
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    blocks = np.lib.stride_tricks.sliding_window_view(x, extent, (-2, -1))
    blocks = blocks[..., :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    lead = x.shape[:-3]
    order = [*range(len(lead) + 1), -2, -1, -4, -3]
    count = blocks.shape[-4] * blocks.shape[-3]
    return np.transpose(blocks, order).reshape(*lead, x.shape[-3] * math.prod(kernel), count)


def fold_ref(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    kernel = several(kernel_size, 2)
    places = np.arange(math.prod(output_size)).reshape(1, *output_size)
    pads = [(0, 0), *((p, p) for p in several(padding, 2))]
    places = unfold_ref(np.pad(places, pads, constant_values=-1), kernel_size, dilation, 0, stride)
    y = np.zeros((*x.shape[:-2], x.shape[-2] // math.prod(kernel), math.prod(output_size)), x.dtype)
    columns = np.moveaxis(x.reshape(*y.shape[:-1], places.size), -1, 0)
    for place, values in zip(places.reshape(-1), columns, strict=True):
        if place >= 0:
            y[..., place] += values
    return y.reshape(*y.shape[:-1], *output_size)


def unfold_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 2, 3, 4), 2)
    yield S(g(2, 3, 4), (2, 3), padding=1)
    yield S(g(1, 1, 5, 6), 2, 2, (1, 0), (1, 2))
    yield N(g(2, 3, 9, 11), (3, 2), (1, 2), (1, 0), 2)
    yield N(g(0, 2, 4, 4), 2)


def fold_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(1, 8, 6), (3, 4), 2)
    yield S(g(6, 6), (1, 3), (2, 3), padding=1)
    yield S(g(1, 4, 9), (5, 5), 2, 2)
    yield N(g(2, 18, 25), (9, 11), (3, 2), (1, 2), (1, 0), 2)
    yield N(g(0, 4, 9), (4, 4), 2)


def unfold_errors(g: Gen) -> Iterator[Error]:
    x = g(1, 2, 4, 3)
    yield E(RuntimeError, x, 5)
    yield E(RuntimeError, x, 0)
    yield E(RuntimeError, x, 2, stride=0)
    yield E(RuntimeError, x, 2, padding=-1)
    yield E(RuntimeError, x, 2, dilation=0)
    yield E(TypeError, x, "text")


def fold_errors(g: Gen) -> Iterator[Error]:
    x = g(1, 8, 6)
    yield E(RuntimeError, g(1, 7, 6), (4, 3), 2)
    yield E(RuntimeError, g(1, 8, 7), (4, 3), 2)
    yield E(RuntimeError, g(6), (4, 3), 2)
    yield E(RuntimeError, x, (4, 3), 0)
    yield E(RuntimeError, x, (0, 3), 2)
    yield E(RuntimeError, x, (4, 3), 2, stride=0)


# -- sampling by a grid


def place_inside(at: float, n: int, padding_mode: str, align_corners: bool) -> float:
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, span = (0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return 0
        away = (at - low) % (2 * span)
        at = min(away, 2 * span - away) + low
    return min(max(at, 0), n - 1)


def grid_sample_ref(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    for place in np.ndindex(*grid.shape[:-1]):
        taps = []
        for n, c in zip(x.shape[2:], grid[place][::-1], strict=True):
            at = (c + 1) / 2 * (n - 1) if align_corners else ((c + 1) * n - 1) / 2
            if mode == "bicubic":
                low = int(np.floor(at))
                inside = [place_inside(i, n, padding_mode, align_corners) for i in range(low - 1, low + 3)]
                taps.append([(int(i), cubic(at - low + 1 - k, -0.75)) for k, i in enumerate(inside)])
                continue
            at = place_inside(at, n, padding_mode, align_corners)
            if mode == "nearest":
                taps.append([(round(at), 1.0)])
            else:
                low = int(np.floor(at))
                taps.append([(low, 1 - at + low), (low + 1, at - low)])
        for tap in itertools.product(*taps):
            if all(0 <= i < n for (i, _), n in zip(tap, x.shape[2:], strict=True)):
                value = x[(place[0], slice(None), *(i for i, _ in tap))]
                y[(place[0], slice(None), *place[1:])] += value * math.prod(w for _, w in tap)
    return y


def grid_sample_samples(g: Gen) -> Iterator[Sample]:
    # Three pixels an axis, and places that are no pixel's center, edge or middle, where there is no gradient.
    places = np.asarray([-1.37, -0.87, -0.41, 0.13, 0.71, 1.21], g.np_dtype)
    flat = np.stack(np.broadcast_arrays(places[:, None], places[None, ::-1]), -1)[None, ::2]
    deep = np.stack([places[:4], places[1:5], places[2:]], -1).reshape(1, 2, 2, 1, 3)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding_mode in ("zeros", "border", "reflection"):
            for align_corners in (False, True):
                yield S(g(1, 1, 4, 3), flat, mode, padding_mode, align_corners)
                if mode != "bicubic":
                    yield S(g(1, 1, 3, 3, 3), deep, mode, padding_mode, align_corners)
    yield N(g(2, 3, 7, 5), g(2, 4, 6, 2, low=-1.5, high=1.5), align_corners=False)


def grid_sample_errors(g: Gen) -> Iterator[Error]:
    x, grid = g(1, 2, 4, 3), g(1, 5, 6, 2)
    yield E(ValueError, x, grid, mode="text", align_corners=False)
    yield E(ValueError, x, grid, padding_mode="text", align_corners=False)
    yield E(RuntimeError, g(2, 2, 4, 3), grid, align_corners=False)
    yield E(RuntimeError, x, g(1, 5, 6, 1), align_corners=False)
    yield E(RuntimeError, x, g(5, 6, 2), align_corners=False)
    yield E(RuntimeError, g(1, 2, 0, 3), grid, align_corners=False)
    yield E(RuntimeError, g(1, 2, 4, 3, 2), g(1, 2, 2, 2, 3), mode="bicubic", align_corners=False)


def affine_grid_ref(theta, size, align_corners=None):
    lines = [np.zeros(1) if n == 1 else np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) for n in size[2:]]
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], -1)
    return np.einsum("...i,nji->n...j", places, theta)


def affine_grid_samples(g: Gen) -> Iterator[Sample]:
    yield S(g(2, 2, 3), (2, 3, 4, 5), align_corners=False)
    yield S(g(1, 2, 3), (1, 3, 4, 1), align_corners=True)
    yield S(g(2, 3, 4), (2, 1, 2, 3, 4), align_corners=False)
    yield S(g(1, 3, 4), [1, 1, 2, 3, 4], align_corners=True)


def affine_grid_errors(g: Gen) -> Iterator[Error]:
    yield E(NotImplementedError, g(2, 2, 3), (2, 3, 4), align_corners=False)
    yield E(ValueError, g(2, 3, 4), (2, 3, 4, 5), align_corners=False)
    yield E(ValueError, g(2, 3), (2, 3, 4, 5), align_corners=False)
    yield E(ValueError, g(2, 2, 3), (2, 3, 0, 5), align_corners=False)
    yield E(RuntimeError, g(2, 2, 3), (1, 3, 4, 5), align_corners=False)


def with_indices(sample: Sample, dtype: str) -> Any:
    return (dtype, "int64") if sample.kwargs.get("return_indices") else dtype


PIXELS: dict[str, Any] = {"grad": True, "layouts": ("transposed", "step", "offset")}

WINDOWS = [
    Op("nn.functional.unfold", unfold_samples, unfold_ref, errors=unfold_errors, registered=("im2col",), **PIXELS),
    Op("nn.functional.fold", fold_samples, fold_ref, errors=fold_errors, registered=("col2im",), **PIXELS),
    Op(
        "nn.functional.grid_sample",
        grid_sample_samples,
        grid_sample_ref,
        errors=grid_sample_errors,
        registered=("grid_sampler",),
        gradgrad=False,
        rtol=1e-5,
        atol=1e-5,
        **PIXELS,
    ),
    Op(
        "nn.functional.affine_grid",
        affine_grid_samples,
        affine_grid_ref,
        errors=affine_grid_errors,
        registered=("affine_grid_generator",),
        **PIXELS,
    ),
    Op(
        "nn.functional.interpolate",
        interpolate_samples,
        interpolate_ref,
        errors=interpolate_errors,
        rtol=1e-5,
        **PIXELS,
    ),
    *(
        Op(
            f"nn.functional.max_pool{n}d",
            max_pool_samples(n),
            max_pool_ref(n),
            result=with_indices,
            errors=pool_errors(n, True),
            registered=(f"max_pool{n}d", f"max_pool{n}d_with_indices"),
            **PIXELS,
        )
        for n in (1, 3)
    ),
    *(
        Op(f"nn.functional.avg_pool{n}d", avg_pool_samples(n), avg_pool_ref(n), errors=pool_errors(n, False), **PIXELS)
        for n in (1, 3)
    ),
    *(
        Op(
            f"nn.functional.max_unpool{n}d",
            max_unpool_samples(n),
            max_unpool_ref(n),
            errors=max_unpool_errors(n),
            **PIXELS,
        )
        for n in (1, 2, 3)
    ),
    *(Op(f"nn.functional.lp_pool{n}d", lp_pool_samples(n), lp_pool_ref(n), **PIXELS) for n in (1, 2, 3)),
    *(
        Op(
            f"nn.functional.conv{n}d",
            conv_samples(n),
            conv_ref(n),
            grad=True,
            errors=conv_errors(n),
            atol=1e-4,
            layouts=PIXELS["layouts"],
        )
        for n in (1, 3)
    ),
    *(
        Op(
            f"nn.functional.conv_transpose{n}d",
            conv_transpose_samples(n),
            conv_transpose_ref(n),
            grad=True,
            errors=conv_transpose_errors(n),
            atol=1e-4,
            layouts=PIXELS["layouts"],
        )
        for n in (1, 2, 3)
    ),
    *(
        Op(
            f"nn.functional.adaptive_{kind}_pool{n}d",
            adaptive_samples(n, kind == "max"),
            adaptive_max_ref(n) if kind == "max" else adaptive_avg_ref(n),
            result=with_indices,
            errors=adaptive_errors(n),
            **PIXELS,
        )
        for n in (1, 2, 3)
        for kind in ("avg", "max")
    ),
]
