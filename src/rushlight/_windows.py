"""Windows: weights for a stretch of a signal, high in its middle and low at its ends.

Each takes a length, and makes the window periodic (one of length + 1 without its last value, for spectra) unless
``periodic`` is False.
"""

from __future__ import annotations

import math

from . import _C
from ._creation import arange, empty, full_like, ones


def _window(name: str, length: int, periodic: bool, weights, options: dict):
    """weights(x) of positions x from 0 to 1; computed in float64."""
    dtype, device = options["dtype"], options["device"]
    if dtype is None:
        dtype = _C.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name}: a window is of floating point numbers, not {dtype}")
    if length < 0:
        raise RuntimeError(f"{name}: the length must not be negative, got {length}")
    if length < 2 or str(device).startswith("meta"):
        maker = ones if length else empty
        return maker(length, dtype=dtype, device=device, requires_grad=options["requires_grad"])
    x = arange(length, dtype=_C.float64) / (length if periodic else length - 1)
    return weights(x).to(dtype=dtype, device=device).requires_grad_(options["requires_grad"])


def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """``(1 - cos(2 pi x)) / 2`` for positions x from 0 to 1.

    Args:
        window_length: how many values there are.
        periodic: whether the window is to be repeated, so that its last value is not its first again.
        dtype: of floating point; the default dtype unless given.

    Raises:
        RuntimeError: a negative length, or a dtype that is not of floating point.

    >>> import rushlight as rl
    >>> rl.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return hamming_window(window_length, periodic, 0.5, 0.5, dtype=dtype, device=device, requires_grad=requires_grad)


def hamming_window(
    window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, requires_grad=False
):
    """``alpha - beta cos(2 pi x)`` for positions x from 0 to 1; else as :func:`hann_window`.

    >>> import rushlight as rl
    >>> rl.hamming_window(3, periodic=False)
    tensor([0.0800, 1.0000, 0.0800])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return _window("hamming_window", window_length, periodic, lambda x: alpha - beta * (2 * math.pi * x).cos(), options)


def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """``0.42 - 0.5 cos(2 pi x) + 0.08 cos(4 pi x)`` for positions x from 0 to 1; else as :func:`hann_window`.

    >>> import rushlight as rl
    >>> rl.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

    def weights(x):
        return 0.42 - 0.5 * (2 * math.pi * x).cos() + 0.08 * (4 * math.pi * x).cos()

    return _window("blackman_window", window_length, periodic, weights, options)


def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False):
    """A triangle, ``1 - |2 x - 1|`` for positions x from 0 to 1; else as :func:`hann_window`.

    >>> import rushlight as rl
    >>> rl.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    return _window("bartlett_window", window_length, periodic, lambda x: 1 - (2 * x - 1).abs(), options)


def kaiser_window(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, requires_grad=False
):
    """``i0(beta sqrt(1 - (2 x - 1)^2)) / i0(beta)`` for positions x from 0 to 1; else as :func:`hann_window`.

    >>> import rushlight as rl
    >>> rl.kaiser_window(3, periodic=False, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

    def weights(x):
        inside = (1 - (2 * x - 1).square()).clamp(min=0).sqrt()
        return _C.i0(beta * inside) / _C.i0(full_like(x[:1], beta))

    return _window("kaiser_window", window_length, periodic, weights, options)
