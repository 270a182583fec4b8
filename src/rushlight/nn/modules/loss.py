"""Losses. Each takes reduction "none", "mean" or "sum", as its function in ``nn.functional``."""

from __future__ import annotations

from collections.abc import Callable

from ... import Tensor
from ..._warnings import warn
from .. import functional as F
from .._reduction import legacy_name
from .distance import PairwiseDistance
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


class NLLLoss2d(NLLLoss):
    """NLLLoss by its former name for images; deprecated.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.NLLLoss2d()(rl.zeros(1, 3, 2, 2), rl.zeros(1, 2, 2, dtype=rl.int64))
        tensor(0.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warn("NLLLoss2d has been deprecated: use NLLLoss, which is the same")
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence, target * (log(target) - input); see ``functional.kl_div``.

    Shapes:
        input, log-probabilities, and target, probabilities, of one shape; reduction may also be "batchmean".

    Example:
        >>> import rushlight as rl
        >>> rl.nn.KLDivLoss(reduction="batchmean")(rl.tensor([[0.5, 0.5]]).log(), rl.tensor([[0.25, 0.75]]))
        tensor(0.1308)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions; see ``functional.poisson_nll_loss``.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.PoissonNLLLoss()(rl.zeros(2), rl.tensor([1., 3.]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under normal distributions; see ``functional.gaussian_nll_loss``.

    Shapes:
        input and target of one shape; var too, or with one value for all of the last dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.GaussianNLLLoss()(rl.zeros(2), rl.tensor([1., 3.]), rl.ones(2))
        tensor(2.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """input where target is 1, max(0, margin - input) where it is -1, reduced.

    Shapes:
        as MSELoss.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.HingeEmbeddingLoss(reduction="none")(rl.tensor([0.5, 0.2]), rl.tensor([1, -1]))
        tensor([0.5000, 0.8000])
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, -target * (input1 - input2) + margin), reduced.

    Shapes:
        input1, input2 and target (1 or -1) of one shape.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MarginRankingLoss()(rl.tensor([1.]), rl.tensor([3.]), rl.tensor([1.]))
        tensor(2.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """1 - the cosine of two vectors where target is 1, max(0, cosine - margin) where it is -1, reduced.

    Shapes:
        input1 and input2 (N, D) or (D), target (N) or ().

    Example:
        >>> import rushlight as rl
        >>> rl.nn.CosineEmbeddingLoss()(rl.tensor([3., 4.]), rl.tensor([4., 3.]), rl.tensor(1))
        tensor(0.0400)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), reduced.

    Shapes:
        input and target (1 or -1) of one shape.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.SoftMarginLoss()(rl.zeros(2), rl.tensor([1., -1.]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """The mean over wrong classes of max(0, margin - input[target] + input[class]) ** p, reduced over the batch.

    Shapes:
        input (N, C) or (C); target class numbers (N) or (), int64.

    Raises:
        ValueError: p is neither 1 nor 2, or weight has more than one dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MultiMarginLoss()(rl.tensor([[0.1, 0.2, 0.4, 0.8]]), rl.tensor([3]))
        tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {p}")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """The sum of max(0, 1 - input[label] + input[class]) over a row's labels and other classes, divided by C.

    Shapes:
        input (N, C) or (C); target of that shape, int64: each row's labels, then -1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MultiLabelMarginLoss()(rl.tensor([[0.1, 0.2, 0.4, 0.8]]), rl.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Binary cross-entropy of sigmoid(input), its mean over the classes, reduced over the batch.

    Shapes:
        input and target (0 or 1) of one shape (N, C); weight (C).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.MultiLabelSoftMarginLoss()(rl.zeros(1, 2), rl.tensor([[1., 0.]]))
        tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), reduced; see ``functional.triplet_margin_loss``.

    Shapes:
        anchor, positive and negative (N, D) or (D).

    Raises:
        ValueError: the margin is not above 0.

    Example:
        >>> import rushlight as rl
        >>> a, p, n = rl.tensor([[0., 0.]]), rl.tensor([[3., 4.]]), rl.tensor([[0., 2.]])
        >>> rl.nn.TripletMarginLoss()(a, p, n)
        tensor(4.0000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with a distance of your own: a function or Module of two Tensors.

    Shapes:
        anchor, positive and negative of any one shape that the distance takes.

    Raises:
        ValueError: the margin is not above 0.

    Example:
        >>> import rushlight as rl
        >>> a, p, n = rl.tensor([[0., 0.]]), rl.tensor([[3., 4.]]), rl.tensor([[0., 2.]])
        >>> far = lambda x, y: (x - y).abs().amax(-1)
        >>> rl.nn.TripletMarginWithDistanceLoss(distance_function=far)(a, p, n)
        tensor(3.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """The negative log-likelihood of label sequences over all alignments; see ``functional.ctc_loss``.

    Shapes:
        log_probs (T, N, C) or (T, C), targets (N, S) or one after another, lengths (N).

    Example:
        >>> import rushlight as rl
        >>> log_probs = rl.zeros(3, 1, 2).log_softmax(-1)
        >>> rl.nn.CTCLoss()(log_probs, rl.tensor([[1]]), (3,), (1,))
        tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths, target_lengths) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
