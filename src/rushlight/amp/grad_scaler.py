"""Scaling of the loss, so that gradients in float16 neither vanish nor overflow.

After Micikevicius et al., "Mixed Precision Training", 2018: the scale grows while gradients are finite; where one is
not, the step is left out and the scale is backed off.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import rushlight as rl

from .. import Tensor
from .._warnings import warn


class OptState(enum.Enum):
    """Where an optimizer stands between two updates of the scale."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _OfOptimizer:
    def __init__(self):
        self.stage = OptState.READY
        self.found_inf: Tensor | None = None


class GradScaler:
    """Multiplies the loss by a scale before backward and divides the gradients by it before the optimizer's step.

    A step whose gradients hold an infinity or NaN is left out, and the scale is multiplied by ``backoff_factor``; after
    ``growth_interval`` steps in a row without one it is multiplied by ``growth_factor``.

    Args:
        device: "cpu". For a device that is not there it warns and passes everything on as it is.
        init_scale: the scale to begin with.
        growth_factor: above 1.
        backoff_factor: below 1.
        growth_interval: how many finite steps in a row let the scale grow.
        enabled: False passes everything on as it is.

    Raises:
        AssertionError: a factor on the wrong side of 1.

    >>> import rushlight as rl
    >>> w = rl.nn.Parameter(rl.ones(2))
    >>> optimizer, scaler = rl.optim.SGD([w], lr=1.0), rl.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist(), scaler.get_scale()
    ([0.0, 0.0], 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._device = device
        if enabled and device != "cpu":
            warn(f"GradScaler for {device!r}: there is no such device here; it is disabled")
            enabled = False
        self._enabled = bool(enabled)
        assert not enabled or growth_factor > 1, f"the growth factor must be > 1.0, not {growth_factor}"
        assert not enabled or backoff_factor < 1, f"the backoff factor must be < 1.0, not {backoff_factor}"
        self._init_scale = init_scale
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._growth_tracker = 0
        self._scale: Tensor | None = None  # made when first used
        self._per_optimizer: dict[int, _OfOptimizer] = {}

    def scale(self, outputs: Any) -> Any:
        """The tensor times the scale, or an iterable of tensors, each times the scale.

        Raises:
            ValueError: for anything else.
        """
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = rl.full((), float(self._init_scale), dtype=rl.float32)
        return self._scaled(outputs)

    def _scaled(self, outputs):
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self._scaled, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]
        raise ValueError(f"GradScaler.scale takes a tensor or an iterable of tensors, not {type(outputs).__name__}")

    def _of(self, optimizer) -> _OfOptimizer:
        return self._per_optimizer.setdefault(id(optimizer), _OfOptimizer())

    def _current(self, what: str) -> Tensor:
        assert self._scale is not None, (
            f"GradScaler: attempted {what} but there is no scale yet\n"
            "  hint: backward goes from scaler.scale(loss), not from the loss itself"
        )
        return self._scale

    def unscale_(self, optimizer) -> None:
        """Divides the gradients of the optimizer's parameters by the scale, and notes whether they are finite.

        ``step`` does so where it was not done before. It is done by hand where gradients are to be clipped, say.

        Raises:
            RuntimeError: called twice for an optimizer since the last ``update``, or after its step.
            ValueError: a gradient of float16: parameters must be float32, and only computed with in float16.
        """
        if not self._enabled:
            return
        state = self._of(optimizer)
        if state.stage is not OptState.READY:
            done = "unscale_() has already been called" if state.stage is OptState.UNSCALED else "step() was called"
            raise RuntimeError(
                f"GradScaler: {done} on this optimizer since the last update()\n  hint: once a step, before step()"
            )
        scale = self._current("unscale_")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype == rl.float16 for g in grads):
            raise ValueError(
                "GradScaler: attempting to unscale FP16 gradients\n"
                "  hint: leave the model in float32 and compute in float16 by autocast, without model.half()"
            )
        state.found_inf = _unscale(grads, scale)
        state.stage = OptState.UNSCALED

    def step(self, optimizer, *args, **kwargs):
        """``optimizer.step(...)``, where the gradients are finite; they are unscaled first unless that was done.

        Returns:
            what the optimizer's step gives, or None where it was left out.

        Raises:
            RuntimeError: called twice since the last ``update``, or with a closure.
            AssertionError: no loss was scaled, or no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler: a closure is not supported, as it would run before gradients are unscaled")
        self._current("step")
        state = self._of(optimizer)
        if state.stage is OptState.STEPPED:
            raise RuntimeError("GradScaler: step() has already been called on this optimizer since the last update()")
        if state.stage is OptState.READY:
            self.unscale_(optimizer)
        assert state.found_inf is not None, (
            "GradScaler: no inf checks were recorded for this optimizer\n"
            "  hint: none of its parameters has a gradient: call backward() on the scaled loss first"
        )
        result = None if state.found_inf.item() else optimizer.step(*args, **kwargs)
        state.stage = OptState.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Moves the scale, by what the steps found since the last update, or to ``new_scale``.

        Raises:
            AssertionError: no loss was scaled, no step was made, or ``new_scale`` is neither a float nor a tensor of
                one float32 that requires no grad.
        """
        if not self._enabled:
            return
        scale = self._current("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor):
                fits = new_scale.numel() == 1 and new_scale.dtype == rl.float32 and not new_scale.requires_grad
                assert fits, "new_scale should be a float or a tensor of one float32 that requires no grad"
                new_scale = new_scale.item()
            scale.fill_(new_scale)
        else:
            found = [s.found_inf for s in self._per_optimizer.values() if s.found_inf is not None]
            assert found, (
                "GradScaler: no inf checks were recorded prior to update()\n  hint: step(optimizer) comes first"
            )
            self._move(scale, any(f.item() for f in found))
        self._per_optimizer.clear()

    def _move(self, scale: Tensor, found_inf: bool) -> None:
        if found_inf:
            scale.mul_(self._backoff_factor)
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = scale * self._growth_factor
            if grown.isfinite():  # as large as float32 goes
                scale.copy_(grown)
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The scale, which waits for nothing here; 1 where the scaler is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by where gradients are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale is multiplied by where gradients are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many finite steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets how many finite steps in a row let the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales at all."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale, its rules, and how many finite steps it has seen in a row; empty where disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from another scaler's ``state_dict``; does nothing where disabled.

        Raises:
            RuntimeError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler: the state_dict is empty\n  hint: it may be a disabled scaler's")
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        assert not self._per_optimizer, (
            "a GradScaler may only be pickled at the beginning of an iteration, or at the end after update()"
        )
        return {**self.__dict__, "_init_scale": self.get_scale(), "_scale": None} if self._enabled else self.__dict__


def _unscale(grads: list[Tensor], scale: Tensor) -> Tensor | None:
    """Divides the gradients by the scale in place; 1 where one of them was not finite, else 0, None without any."""
    if not grads:
        return None
    inverse = scale.double().reciprocal().float()
    with rl.no_grad():
        finite = rl.stack([g.isfinite().all() for g in grads]).all()
        for g in grads:
            g.mul_(inverse)
        return finite.logical_not().float()
