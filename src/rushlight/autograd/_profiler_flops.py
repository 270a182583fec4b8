"""How many floating point operations an operation needs, worked out from its arguments."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any


def _shape(value: Any) -> list[int]:
    return value[0]


def _product(*places: int) -> Callable[[list], int]:
    """Of matrices, or batches of them, at two places among the arguments: multiplies and adds."""

    def of(inputs: list) -> int:
        a, b = (_shape(inputs[p]) for p in places)
        return 2 * prod(a) * (b[-1] if len(b) > 1 else 1)

    return of


def _linear(inputs: list) -> int:
    return 2 * prod(_shape(inputs[0])) * (_shape(inputs[1])[0] if len(_shape(inputs[1])) > 1 else 1)


def _convolution(inputs: list) -> int | None:
    x, weight = _shape(inputs[0]), _shape(inputs[1])
    kernel = weight[2:]
    stride, padding, dilation = (p * len(kernel) if isinstance(p, list) and len(p) == 1 else p for p in inputs[3:6])
    if not all(isinstance(p, list) for p in (stride, padding, dilation)):
        return None
    batch = prod(x[: len(x) - len(kernel) - 1])
    out = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, p, d, k, s in zip(x[-len(kernel) :], padding, dilation, kernel, stride, strict=True)
    ]
    return 2 * batch * prod(out) * prod(weight)  # a weight has the channels of one group


def _elementwise(inputs: list) -> int:
    return prod(_shape(inputs[0]))


_FORMULAS: dict[str, Callable[[list], int | None]] = {
    "aten::mm": _product(0, 1),
    "aten::bmm": _product(0, 1),
    "aten::matmul": _product(0, 1),
    "aten::addmm": _product(1, 2),
    "aten::baddbmm": _product(1, 2),
    "aten::linear": _linear,
    "aten::conv1d": _convolution,
    "aten::conv2d": _convolution,
    "aten::conv3d": _convolution,
    "aten::add": _elementwise,
    "aten::mul": _elementwise,
}


def count(name: str, inputs: list) -> int | None:
    """The floating point operations of a call, or None where there is no formula for it.

    Args:
        name: the event's.
        inputs: its arguments, as ``_C._profiler_stop`` gives them.
    """
    formula = _FORMULAS.get(name)
    return formula(inputs) if formula else None
