"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl

from .. import Tensor
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer, Params, check_at_least_zero


class LBFGS(Optimizer):
    """L-BFGS, a quasi-Newton method of limited memory (Liu and Nocedal 1989), for full batches.

    One ``step(closure)`` runs up to max_iter iterations, each of which computes the loss anew by way of the closure.
    A direction comes from the last changes of parameters and gradients by the two-loop recursion (Algorithm 7.4 of
    Nocedal and Wright, Numerical Optimization, 2006), a step along it is lr long, or found by a line search.

    Args:
        params: the parameters, or a single group of them.
        lr: length of a step, or the first that the line search tries.
        max_iter: iterations a step.
        max_eval: evaluations of the loss a step; unless given, 5/4 of max_iter.
        tolerance_grad: stops where no element of the gradient is larger.
        tolerance_change: stops where neither parameters nor the loss have changed more.
        history_size: how many changes are remembered, each as large as all the parameters, twice.
        line_search_fn: None or ``"strong_wolfe"``.

    Raises:
        ValueError: more than one group, or a negative lr.
        RuntimeError: another line_search_fn.

    Example:
        >>> import rushlight as rl
        >>> w = rl.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = rl.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(13., grad_fn=<SumBackward0>)
        >>> w
        tensor([1.0000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_at_least_zero("learning rate", lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(
                f"LBFGS: there is no line search {line_search_fn!r}\n  hint: line_search_fn='strong_wolfe', or None"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS moves all parameters as one, but got {len(self.param_groups)} groups\n"
                "  hint: pass the parameters in one list"
            )

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Runs up to max_iter iterations.

        Args:
            closure: a function that clears the gradients, computes the loss, calls backward and returns the loss.

        Returns:
            The loss before the step.

        Raises:
            TypeError: the closure returned no loss.
        """
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        with rl.no_grad():
            return self._iterate(closure, group, state)

    def _iterate(self, closure, group, state):
        lr, small_change = float(group["lr"]), group["tolerance_change"]
        converged = lambda: bool(gradient.abs().max() <= group["tolerance_grad"])
        first_loss = self._evaluate(closure)
        loss, gradient = _number(first_loss), self._gradient()
        evaluations = 1
        state["func_evals"] = state.get("func_evals", 0) + 1
        state.setdefault("n_iter", 0)
        if gradient.numel() == 0 or converged():
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)
                step = min(1.0, 1.0 / float(gradient.abs().sum())) * lr
            else:
                _remember(state, gradient, group["history_size"])
                state["d"] = _direction(state, gradient)
                step = lr
            direction = state["d"]
            state.update(t=step, prev_flat_grad=gradient, prev_loss=loss)
            slope = float(gradient.dot(direction))
            if slope > -small_change:
                break

            if group["line_search_fn"] is not None:
                start = Point(0.0, loss, gradient, slope)
                width = small_change / max(float(direction.abs().max()), 1e-300)
                limit = min(25, group["max_eval"] - evaluations)
                found, tries = strong_wolfe(self._along(closure, direction), start, step, width, limit=limit)
                step, loss, gradient = found.step, found.loss, found.gradient
                state["t"] = step
                self._move(direction, step)
            else:
                self._move(direction, step)
                tries = 0
                if iteration < group["max_iter"]:  # else the next step() begins with this evaluation
                    loss, gradient = _number(self._evaluate(closure)), self._gradient()
                    tries = 1
            evaluations += tries
            state["func_evals"] += tries
            if (
                evaluations >= group["max_eval"]
                or converged()
                or bool((direction * step).abs().max() <= small_change)
                or abs(loss - state["prev_loss"]) < small_change
            ):
                break
        return first_loss

    def _along(self, closure, direction):
        """A function from a step along the direction to the Point there; it leaves the parameters as they were."""
        params = self.param_groups[0]["params"]
        before = [p.clone() for p in params]

        def evaluate(step):
            self._move(direction, step)
            loss, gradient = _number(self._evaluate(closure)), self._gradient()
            for p, value in zip(params, before, strict=True):
                p.copy_(value)
            return Point(step, loss, gradient, float(gradient.dot(direction)))

        return evaluate

    def _gradient(self):
        """All gradients in one vector."""
        params = self.param_groups[0]["params"]
        return rl.cat([(rl.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in params])

    def _move(self, direction, step):
        offset = 0
        for p in self.param_groups[0]["params"]:
            p.add_(direction[offset : offset + p.numel()].view_as(p), alpha=step)
            offset += p.numel()


def _number(loss):
    if loss is None:
        raise TypeError("LBFGS: the closure returned None, not the loss\n  hint: end it with `return loss`")
    return float(loss)


def _remember(state, gradient, history_size):
    """Adds the last step's change of the gradient (y) and of the parameters (s), where the curvature is positive."""
    y = gradient - state["prev_flat_grad"]
    s = state["d"] * state["t"]
    curvature = y.dot(s)
    if float(curvature) <= 1e-10:
        return
    if len(state["old_dirs"]) >= history_size:
        for name in ("old_dirs", "old_stps", "ro"):
            state[name].pop(0)
    state["old_dirs"].append(y)
    state["old_stps"].append(s)
    state["ro"].append(1.0 / curvature)
    state["H_diag"] = curvature / y.dot(y)


def _direction(state, gradient):
    """Minus the gradient times the inverse Hessian that the remembered changes suggest."""
    changes = list(zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True))
    q = -gradient
    alphas = []
    for y, s, rho in reversed(changes):
        alphas.append(float(s.dot(q) * rho))
        q.add_(y, alpha=-alphas[-1])
    q.mul_(state["H_diag"])
    for (y, s, rho), alpha in zip(changes, reversed(alphas), strict=True):
        q.add_(s, alpha=alpha - float(y.dot(q) * rho))
    return q
