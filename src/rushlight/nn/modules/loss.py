"""Losses. Each takes reduction "none", "mean" or "sum", as its function in ``nn.functional``."""

from __future__ import annotations

from ... import Tensor
from .. import functional as F
from .._reduction import legacy_name
from .module import Module


class _Loss(Module):
    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_name(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """The negative log-likelihood of the right classes under softmax(input); see ``functional.cross_entropy``.

    Shapes:
        input (N, C) or (N, C, d1, ...); target class numbers (N) or (N, d1, ...), int64, or probabilities as input.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CrossEntropyLoss()(rl.zeros(2, 4), rl.tensor([0, 3]))
        tensor(1.3863)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """The negative of input, log-probabilities, at the right classes; see ``functional.nll_loss``.

    Shapes:
        input (N, C) or (N, C, d1, ...); target (N) or (N, d1, ...), int64.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.NLLLoss()(rl.tensor([[-1., -2.]]), rl.tensor([1]))
        tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target) ** 2, reduced.

    Shapes:
        input and target of one shape; the result is a number, or of that shape with reduction "none".

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MSELoss()(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """abs(input - target), reduced.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.L1Loss()(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Square below beta, straight above; see ``functional.smooth_l1_loss``.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.SmoothL1Loss()(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(1.5000)
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Square up to delta, straight beyond; see ``functional.huber_loss``.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.HuberLoss(delta=2.)(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(2.2500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """Binary cross-entropy of probabilities; see ``functional.binary_cross_entropy``.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.BCELoss()(rl.tensor([0.5, 0.9]), rl.ones(2))
        tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross-entropy of sigmoid(input); see ``functional.binary_cross_entropy_with_logits``.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.BCEWithLogitsLoss()(rl.zeros(2), rl.ones(2))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )
