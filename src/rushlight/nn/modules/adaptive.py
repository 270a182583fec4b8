"""Softmax over many classes, of which few are frequent."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

import rushlight as rl

from ... import Tensor
from .. import functional as F
from ..common_types import Device
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax and its loss for many classes, numbered from the most frequent on (Grave et al. 2017).

    The head knows the first ``cutoffs[0]`` classes and one entry for each cluster of rarer ones, whose classes are told
    apart only where one of them is meant, and by fewer features the rarer they are.

    Args:
        in_features: size of each sample.
        n_classes: how many classes there are.
        cutoffs: where clusters begin, rising.
        div_value: each cluster works with that many times fewer features than the one before.
        head_bias: give the head a bias.

    Shapes:
        input (N, in_features) or (in_features), target (N) or (), int64; gives (output, loss): the log-probability of
        each target, of its shape, and the mean of their negatives.

    Raises:
        ValueError: cutoffs do not rise, or are not between 1 and n_classes - 1.
        RuntimeError: (when called) shapes do not fit, or a target is out of range.

    Example:
        >>> import rushlight as rl
        >>> layer = rl.nn.AdaptiveLogSoftmaxWithLoss(16, 100, [10, 50])
        >>> layer(rl.ones(3, 16), rl.tensor([0, 20, 99])).output.shape
        torch.Size([3])
        >>> layer.log_prob(rl.ones(3, 16)).shape
        torch.Size([3, 100])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: rl.dtype | None = None,
    ) -> None:
        super().__init__()
        bounds = [0, *cutoffs, n_classes]
        if (
            not cutoffs
            or any(int(b) != b for b in bounds)
            or any(a >= b for a, b in zip(bounds, bounds[1:], strict=False))
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1: got {list(cutoffs)}, n_classes is {n_classes}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = bounds[1:]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(self._clusters()):
            hidden = int(in_features // (div_value ** (i + 1)))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def _clusters(self):
        return list(zip(self.cutoffs, self.cutoffs[1:], strict=False))

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> _ASMoutput:
        if target.dim() > 1:
            raise RuntimeError(
                f"0D or 1D target tensor expected, multi-target not supported: got {tuple(target.shape)}"
            )
        single = target.dim() == 0
        if input.dim() != target.dim() + 1 or (not single and input.shape[0] != target.shape[0]):
            raise RuntimeError(
                f"Input and target should have the same size in the batch dimension: got {tuple(input.shape)} and "
                f"{tuple(target.shape)}"
            )
        if single:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if target.numel() and not (0 <= int(target.min()) and int(target.max()) < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found."
            )
        in_head = target
        found = []
        for i, (low, high) in enumerate(self._clusters()):
            inside = (target >= low) & (target < high)
            in_head = rl.where(inside, self.shortlist_size + i, in_head)
            rows = inside.nonzero().squeeze(1)
            if rows.numel():
                logs = F.log_softmax(self.tail[i](input[rows]), dim=1)
                found.append((rows, logs.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)))
        output = F.log_softmax(self.head(input), dim=1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        for rows, logs in found:
            output = output.index_add(0, rows, logs)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        return self._log_prob(input, self.head(input))

    def _log_prob(self, input, scores):
        head = F.log_softmax(scores, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + of_cluster)
        return rl.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample: (N, in_features) to (N)."""
        scores = self.head(input)
        best = scores.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel():  # a class of the shortlist that beats every cluster beats their classes too
            best[rows] = self._log_prob(input[rows], scores[rows]).argmax(1)
        return best
