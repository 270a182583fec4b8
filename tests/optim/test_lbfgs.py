"""L-BFGS and its line search."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import optim
from rushlight.optim.line_search import Point, strong_wolfe


def minimize(loss_of, start, steps=5, **options):
    w = rl.tensor(start, dtype=rl.float64, requires_grad=True)
    optimizer = optim.LBFGS([w], **options)

    def closure():
        optimizer.zero_grad()
        loss = loss_of(w)
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return w.detach().numpy(), optimizer.state[w]


def rosenbrock(w):
    return (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2


def test_rosenbrock():
    w, state = minimize(rosenbrock, [-1.2, 1.0], line_search_fn="strong_wolfe", tolerance_change=1e-14)
    np.testing.assert_allclose(w, [1, 1], atol=1e-6)
    assert state["n_iter"] < 60 and state["func_evals"] < 80


def test_a_quadratic_takes_as_many_iterations_as_dimensions():
    """With exact steps L-BFGS is the conjugate gradient method; with Wolfe's it is close."""
    scales = rl.tensor([1.0, 3.0, 10.0, 30.0], dtype=rl.float64)
    w, state = minimize(lambda w: (scales * w * w).sum(), [1.0, -1.0, 2.0, 0.5], 1, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(w, 0, atol=1e-4)
    w, state = minimize(lambda w: (scales * w * w).sum(), [1.0, -1.0, 2.0, 0.5], 2)
    np.testing.assert_allclose(w, 0, atol=1e-4)


def test_history_is_limited():
    _, state = minimize(rosenbrock, [-1.2, 1.0], 2, history_size=3, line_search_fn="strong_wolfe")
    assert len(state["old_dirs"]) == len(state["old_stps"]) == len(state["ro"]) == 3


def test_parameters_without_gradient_stay():
    w, v = rl.ones(2, requires_grad=True), rl.ones(3, requires_grad=True)
    optimizer = optim.LBFGS([v, w])

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with rl.no_grad():
        assert float(optimizer.step(closure)) == 2.0
    np.testing.assert_allclose(w.tolist(), 0, atol=1e-6)
    assert v.tolist() == [1, 1, 1] and v.grad is None


def test_errors():
    w = rl.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="hint: line_search_fn='strong_wolfe'"):
        optim.LBFGS([w], line_search_fn="armijo")
    with pytest.raises(ValueError, match="2 groups"):
        optim.LBFGS([{"params": [w]}, {"params": [rl.ones(1, requires_grad=True)]}])
    with pytest.raises(TypeError, match="hint: end it with `return loss`"):
        optim.LBFGS([w]).step(lambda: None)


LINES = [  # a function of the step and its derivative, falling at 0
    (lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1)),
    (lambda t: -t / (t * t + 2), lambda t: (t * t - 2) / (t * t + 2) ** 2),  # More and Thuente 1994, (5.1)
    (lambda t: (t + 0.004) ** 5 - 2 * (t + 0.004) ** 4, lambda t: 5 * (t + 0.004) ** 4 - 8 * (t + 0.004) ** 3),  # (5.2)
    (lambda t: math.sin(3 * t) * -0.1 - t + 0.1 * t * t, lambda t: -0.3 * math.cos(3 * t) - 1 + 0.2 * t),
    (lambda t: math.cosh(t - 3), lambda t: math.sinh(t - 3)),
    (lambda t: -math.log1p(-((t - 1) ** 2) / 4 + 0.25) if -1 < t < 3.2 else math.inf, None),
]


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("f, slope_of", LINES)
def test_strong_wolfe(f, slope_of, first):
    if slope_of is None:
        slope_of = lambda t: (f(t + 1e-6) - f(t - 1e-6)) / 2e-6
    evaluated = []

    def evaluate(t):
        evaluated.append(t)
        return Point(t, f(t), rl.zeros(1), slope_of(t))

    start = Point(0.0, f(0.0), rl.zeros(1), slope_of(0.0))
    assert start.slope < 0
    found, count = strong_wolfe(evaluate, start, first, 1e-12)
    assert count == len(evaluated) <= 26
    assert found.loss <= start.loss + 1e-4 * found.step * start.slope
    assert abs(found.slope) <= 0.9 * abs(start.slope)


def test_line_search_stops_at_its_limit():
    evaluate = lambda t: Point(t, -t, rl.zeros(1), -1.0)  # falls for ever
    found, count = strong_wolfe(evaluate, Point(0.0, 0.0, rl.zeros(1), -1.0), 1.0, 1e-9, limit=3)
    assert count == 4 and found.step > 1


def test_sparse_adam_says_why_not():
    with pytest.raises(NotImplementedError, match="SparseAdam.*\n  hint"):
        optim.SparseAdam([rl.ones(1, requires_grad=True)])
