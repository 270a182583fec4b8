"""A line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from .. import Tensor


class Point(NamedTuple):
    """A step along the line, with what was found there; slope is the derivative by the step."""

    step: float
    loss: float
    gradient: Tensor
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point],
    start: Point,
    step: float,
    tolerance: float,
    sufficient: float = 1e-4,
    curvature: float = 0.9,
    limit: int = 25,
) -> tuple[Point, int]:
    """Looks for a step whose loss is sufficiently lower and whose slope is sufficiently flatter.

    Algorithms 3.5 and 3.6 of Nocedal and Wright, Numerical Optimization (2006), with the safeguards of Schmidt's
    minFunc (2005): a step grows to between 1.01 and 10 times itself, and one that hugs an end of the bracket twice is
    moved a tenth into it.

    Args:
        evaluate: the point at a step.
        start: the point at step 0; its slope is negative.
        step: the step to begin with.
        tolerance: the width at which a bracket is no longer divided.
        sufficient, curvature: c1 and c2 of the conditions.
        limit: how many points to try after the first.

    Returns:
        The best point and the number of evaluations.
    """
    too_high = lambda p: not p.loss <= start.loss + sufficient * p.step * start.slope  # not-a-number is too high
    flat = lambda p: abs(p.slope) <= -curvature * start.slope

    previous, here, tries = start, evaluate(step), 0
    while True:
        if tries == limit:
            previous = start
            break
        if too_high(here) or (tries and here.loss >= previous.loss):
            break
        if flat(here):
            return here, tries + 1
        if here.slope >= 0:
            break
        nearest = here.step + 0.01 * (here.step - previous.step)
        previous, here = here, evaluate(_cubic_minimum(previous, here, nearest, 10 * here.step))
        tries += 1

    low, high = _by_loss(previous, here)
    hugged = False
    while tries < limit and abs(high.step - low.step) >= tolerance:
        left, right = sorted((low.step, high.step))
        step = _cubic_minimum(low, high, left, right)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            if hugged or not left < step < right:
                step = right - margin if right - step < step - left else left + margin
                hugged = False
            else:
                hugged = True
        else:
            hugged = False
        here = evaluate(step)
        tries += 1
        if too_high(here) or here.loss >= low.loss:
            low, high = _by_loss(low, here)
        else:
            if flat(here):
                return here, tries + 1
            if here.slope * (high.step - low.step) >= 0:
                high = low
            low = here
    return low, tries + 1


def _by_loss(a, b):
    return (b, a) if b.loss < a.loss else (a, b)


def _cubic_minimum(p, q, lowest, highest):
    """Where the cubic through two points has its minimum (equation 3.59 there), or the middle where it has none."""
    left, right = (p, q) if p.step <= q.step else (q, p)
    width = right.step - left.step
    middle = (lowest + highest) / 2
    if width == 0:
        return middle
    d1 = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.step - right.step)
    square = d1 * d1 - left.slope * right.slope
    if not 0 <= square < math.inf:
        return middle
    d2 = math.sqrt(square)
    bend = right.slope - left.slope + 2 * d2
    if bend == 0:
        return middle
    return min(max(right.step - width * ((right.slope + d2 - d1) / bend), lowest), highest)
