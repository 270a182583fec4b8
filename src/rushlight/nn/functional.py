"""Layers and losses as functions, with PyTorch's names and arguments.

Where the engine's own function takes the same arguments, the name here is that function.
"""

from __future__ import annotations

import rushlight as rl

from .. import _C
from .._lazy import only as _only
from .._warnings import warn
from ._attention import multi_head_attention_forward, scaled_dot_product_attention  # noqa: F401
from ._functional.convolution import *
from ._functional.fold import *
from ._functional.pooling import *
from ._functional.sampling import *
from ._reduction import code as _reduction_code

linear = _C.linear
layer_norm = _C.layer_norm
gelu = _C.gelu
softplus = _C.softplus
softsign = _C.softsign
sigmoid = _C.sigmoid
tanh = _C.tanh


def pad(input, pad, mode="constant", value=None):
    """Surrounds a tensor with a constant; negative widths crop it.

    Args:
        input: Tensor of any shape and dtype.
        pad: widths (before, after) of the last dimension, then of the one before it, and so on.
        mode: "constant"; others are not supported yet.
        value: the constant, 0 unless given.

    Raises:
        TypeError: one number for all widths.
        RuntimeError: an odd number of widths, more of them than dimensions, or a size below zero.
        NotImplementedError: another mode.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.pad(rl.ones(2), (1, 2))
        tensor([0., 1., 1., 0., 0.])
    """
    if mode != "constant":
        raise NotImplementedError(f"pad: mode '{mode}' is not supported\n  hint: use mode='constant'")
    if isinstance(pad, int):
        raise TypeError(
            f"pad: widths come as a tuple, got {pad!r}\n  hint: (1, 2) puts 1 before and 2 after the last dimension"
        )
    if len(pad) % 2:
        raise RuntimeError(f"pad: widths come in pairs (before, after), got {len(pad)} of them")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: {len(pad) // 2} dimensions are to be padded, but input has {input.dim()}")
    shape = list(input.shape)
    inside = [slice(None)] * input.dim()
    cropped = list(inside)
    for i in range(len(pad) // 2):
        d, before, after = input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = shape[d]
        shape[d] = size + before + after
        if shape[d] < 0:
            raise RuntimeError(
                f"pad: dimension {d} has size {size}, padded by ({before}, {after}) it would be negative"
            )
        cropped[d] = slice(max(0, -before), size - max(0, -after))
        inside[d] = slice(max(0, before), shape[d] - max(0, after))
    result = input.new_full(shape, 0 if value is None else value)
    result[tuple(inside)] = input[tuple(cropped)]
    return result


# Normalization


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """Brings each channel to mean 0 and variance 1 (Ioffe and Szegedy 2015).

    Args:
        input: (N, C) or (N, C, ...).
        running_mean, running_var: (C), used outside training and updated in it; may be None in training.
        weight, bias: (C) or None, applied afterwards.
        training: use the batch's own statistics.
        momentum: the share of the new batch in the running statistics.
        eps: added to the variance.

    Raises:
        ValueError: in training, a channel has but one value.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.batch_norm(rl.tensor([[1.], [3.]]), None, None, training=True, eps=0.)
        tensor([[-1.],
                [ 1.]])
    """
    if training:
        _check_more_than_one_value(input)
    return _C.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def _check_more_than_one_value(input):
    shape = input.shape
    count = shape[0]
    for size in shape[2:]:
        count *= size
    if count == 1:
        raise ValueError(
            f"training takes more than one value per channel for its statistics, but the input is {tuple(shape)}\n"
            "  hint: use a larger batch, or call eval() on the model"
        )


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divides by the p-norm along a dimension, or by eps where that is larger.

    Args:
        input: Tensor of any shape, floating point.
        p: which norm.
        dim: along which dimension.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.normalize(rl.tensor([[3., 4.]]))
        tensor([[0.6000, 0.8000]])
    """
    # The bound is applied under the root, whose slope at 0 is infinite.
    if p == 2:
        norm = (input * input).sum(dim, keepdim=True).clamp(min=eps * eps).sqrt()
    elif p == float("inf"):
        norm = input.abs().amax(dim, keepdim=True).clamp(min=eps)
    else:
        norm = input.abs().pow(p).sum(dim, keepdim=True).clamp(min=eps**p).pow(1 / p)
    result = input / norm
    return result if out is None else out.copy_(result)


# Embedding


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of a table, looked up by number.

    Args:
        input: int64 or int32, any shape.
        weight: (number of rows, width).
        padding_idx: a row that gets no gradient.

    Returns:
        (*input.shape, width).

    Raises:
        IndexError: a number is out of range.
        NotImplementedError: ``max_norm`` or ``sparse`` is given.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.embedding(rl.tensor([1, 0]), rl.tensor([[1., 2.], [3., 4.]]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    if max_norm is not None:
        raise NotImplementedError(
            "embedding: max_norm is not supported\n  hint: clip the rows yourself before the call"
        )
    if sparse:
        raise NotImplementedError("embedding: sparse gradients are not supported\n  hint: leave out sparse=True")
    if padding_idx is None:
        return _C.embedding(weight, input, -1, scale_grad_by_freq, False)
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"padding_idx must be within num_embeddings: it is {padding_idx}, of {rows}")
    return _C.embedding(weight, input, padding_idx % rows, scale_grad_by_freq, False)


def one_hot(tensor, num_classes=-1):
    """A last dimension of zeros with a one where the number points.

    Args:
        tensor: int64, any shape, no number below 0.
        num_classes: the new dimension's size; one more than the largest number unless given.

    Returns:
        (*tensor.shape, num_classes), int64.

    Raises:
        RuntimeError: wrong dtype, or a number out of range.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.one_hot(rl.tensor([2, 0]))
        tensor([[0, 0, 1],
                [1, 0, 0]])
    """
    if tensor.dtype != rl.int64:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype}\n"
            "  hint: convert it with .long()"
        )
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.\n  hint: give num_classes")
        return tensor.new_empty((*tensor.shape, num_classes))
    if int(tensor.min()) < 0:
        raise RuntimeError(f"Class values must be non-negative: the least is {int(tensor.min())}")
    largest = int(tensor.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}")
    elif largest >= num_classes:
        raise RuntimeError(f"Class values must be smaller than num_classes: {largest} is not below {num_classes}")
    classes = rl.arange(num_classes, device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).to(rl.int64)


# Activations


def relu(input, inplace=False):
    """max(x, 0) of each element; in place where asked.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.relu(rl.tensor([-1., 2.]))
        tensor([0., 2.])
    """
    return _C.relu_(input) if inplace else _C.relu(input)


def relu_(input):
    """In-place relu."""
    return _C.relu_(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.leaky_relu(rl.tensor([-1., 0., 2.]))
        tensor([-0.0100,  0.0000,  2.0000])
    """
    return (_C.leaky_relu_ if inplace else _C.leaky_relu)(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2015).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.elu(rl.tensor([-1., 0., 2.]))
        tensor([-0.6321,  0.0000,  2.0000])
    """
    return (_C.elu_ if inplace else _C.elu)(input, alpha)


def silu(input, inplace=False):
    """x * sigmoid(x) (Elfwing et al. 2017).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.silu(rl.tensor([-1., 0., 2.]))
        tensor([-0.2689,  0.0000,  1.7616])
    """
    return (_C.silu_ if inplace else _C.silu)(input)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x between min_val and max_val, the nearer bound elsewhere; no gradient at the bounds.

    Raises:
        ValueError: ``min_val`` is above ``max_val``.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardtanh(rl.tensor([-1., 0., 2.]))
        tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val: {min_val} > {max_val}")
    return (_C.hardtanh_ if inplace else _C.hardtanh)(input, min_val, max_val)


def relu6(input, inplace=False):
    """min(max(x, 0), 6), as hardtanh.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.relu6(rl.tensor([-1., 2., 8.]))
        tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def logsigmoid(input):
    """log(sigmoid(x)), without overflow.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.logsigmoid(rl.tensor([-1., 0., 2.]))
        tensor([-1.3133, -0.6931, -0.1269])
    """
    return _C.log_sigmoid(input)


def mish(input, inplace=False):
    """x * tanh(softplus(x)) (Misra, 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.mish(rl.tensor([-1., 0., 2.]))
        tensor([-0.3034,  0.0000,  1.9440])
    """
    return (_C.mish_ if inplace else _C.mish)(input)


def hardsigmoid(input, inplace=False):
    """x / 6 + 1 / 2, held between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardsigmoid(rl.tensor([-1., 0., 2.]))
        tensor([0.3333, 0.5000, 0.8333])
    """
    return (_C.hardsigmoid_ if inplace else _C.hardsigmoid)(input)


def hardswish(input, inplace=False):
    """x * hardsigmoid(x) (Howard et al., 2019).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.hardswish(rl.tensor([-1., 0., 2.]))
        tensor([-0.3333,  0.0000,  1.6667])
    """
    return (_C.hardswish_ if inplace else _C.hardswish)(input)


def threshold(input, threshold, value, inplace=False):
    """x where it is above the threshold, value elsewhere.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.threshold(rl.tensor([-1., 0., 2.]), 1, -5)
        tensor([-5., -5.,  2.])
    """
    return (_C.threshold_ if inplace else _C.threshold)(input, threshold, value)


def _implicit_dim(name, ndim):
    warn(
        f"{name} without dim chooses a dimension by the number of dimensions, which is deprecated\n"
        "  hint: say along which one, as dim=1 for (batch, classes)"
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) divided by its sum along a dimension.

    Args:
        input: Tensor of any shape, floating point.
        dim: along which dimension the results sum to 1.
        dtype: convert to it first.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.softmax(rl.zeros(1, 4), dim=1)
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim())
    return _C.softmax(input if dtype is None else input.to(dtype), dim)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x).

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.softmin(rl.tensor([0., 1.]), dim=0)
        tensor([0.7311, 0.2689])
    """
    if dim is None:
        dim = _implicit_dim("softmin", input.dim())
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)), without overflow; arguments as for softmax.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.log_softmax(rl.zeros(1, 2), dim=1)
        tensor([[-0.6931, -0.6931]])
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim())
    return _C.log_softmax(input if dtype is None else input.to(dtype), dim)


def _check_probability(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """In training, zeroes each element with probability p and scales the others by 1 / (1 - p) (Hinton et al. 2012).

    Raises:
        ValueError: p is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.dropout(rl.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    _check_probability(p)
    result = _C.dropout(input, p, training)
    return input.copy_(result) if inplace and training else result


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of an (N, C, H, W) input (Tompson et al. 2014).

    Raises:
        ValueError: p is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.dropout2d(rl.ones(1, 4, 2, 2)).shape
        torch.Size([1, 4, 2, 2])
    """
    _check_probability(p)
    if input.dim() != 4:
        warn(f"dropout2d: input has {input.dim()} dimensions, not 4; the first two are taken for (N, C)")
    if not training or p == 0:
        return input
    kept = input.new_ones((*input.shape[:2], *(1 for _ in input.shape[2:])))
    return (input.mul_ if inplace else input.mul)(_C.dropout(kept, p, True))


# Losses. Each takes reduction: "none" gives a loss per element or sample, "mean" and "sum" one number.


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """The negative log-likelihood of the right classes under softmax(input).

    Args:
        input: logits, (N, C), (C) or (N, C, d1, ...).
        target: class numbers, int64, (N), () or (N, d1, ...); or probabilities of input's shape and dtype.
        weight: (C), a factor for each class.
        ignore_index: a class number that does not count.
        reduction: "none", "mean" (by the sum of weights) or "sum".
        label_smoothing: the share of probability spread over all classes, 0 to 1.

    Raises:
        ValueError: an unknown reduction.
        IndexError: a class number out of range.
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.cross_entropy(rl.zeros(1, 4), rl.tensor([2]))
        tensor(1.3863)
    """
    code = _reduction_code(reduction, size_average, reduce)
    return _C.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative of input at the right classes, for log-probabilities; arguments as for cross_entropy.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.nll_loss(rl.tensor([[-1., -2.]]), rl.tensor([1]))
        tensor(2.)
    """
    return _C.nll_loss(input, target, weight, _reduction_code(reduction, size_average, reduce), ignore_index)


def _warn_of_shapes(name, input, target):
    if input.shape != target.shape:
        warn(
            f"{name}: target's size {target.shape} differs from input's {input.shape}; they are broadcast, "
            "which is rarely meant. Make them the same size."
        )


def _reduced(loss, code):
    return loss if code == 0 else loss.mean() if code == 1 else loss.sum()


def _weighted(loss, weight, code):
    """Multiplied by the weights and reduced; the mean is by the sum of weights."""
    if weight is None:
        return _reduced(loss, code)
    if weight.shape != loss.shape:
        raise ValueError(f"weight has shape {weight.shape}, input {loss.shape}: they must have the same size")
    loss = loss * weight
    return loss.sum() / weight.sum() if code == 1 else _reduced(loss, code)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target) ** 2, reduced; both of any one shape.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.mse_loss(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(5.)
    """
    _warn_of_shapes("mse_loss", input, target)
    code = _reduction_code(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(_C.mse_loss(input, target, 0), weight, code)
    return _C.mse_loss(input, target, code)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """abs(input - target), reduced; both of any one shape.

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.l1_loss(rl.tensor([1., 3.]), rl.zeros(2))
        tensor(2.)
    """
    _warn_of_shapes("l1_loss", input, target)
    return _weighted((input - target).abs(), weight, _reduction_code(reduction, size_average, reduce))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """With d = abs(input - target): d**2 / (2 beta) below beta, d - beta / 2 from there on (Girshick 2015).

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: beta is negative, or the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.smooth_l1_loss(rl.tensor([1., 3.]), rl.zeros(2), reduction='none')
        tensor([0.5000, 2.5000])
    """
    _warn_of_shapes("smooth_l1_loss", input, target)
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    d = (input - target).abs()
    if beta > 0:
        d = rl.where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)
    return _reduced(d, _reduction_code(reduction, size_average, reduce))


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """With d = abs(input - target): d**2 / 2 up to delta, delta * (d - delta / 2) beyond (Huber 1964).

    Raises:
        ValueError: an unknown reduction.
        RuntimeError: delta is not above 0, or the shapes do not broadcast.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.huber_loss(rl.tensor([1., 3.]), rl.zeros(2), reduction='none', delta=2.)
        tensor([0.5000, 4.0000])
    """
    _warn_of_shapes("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    d = (input - target).abs()
    loss = rl.where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta)
    return _weighted(loss, weight, _reduction_code(reduction))


def _check_same_shape(input, target):
    if input.shape != target.shape:
        raise ValueError(
            f"target has size {target.shape}, input {input.shape}: they must have the same size\n"
            "  hint: target.view_as(input) or target.unsqueeze(-1) may be what is missing"
        )


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(t log(p) + (1 - t) log(1 - p)), each logarithm at least -100, for probabilities p and targets t.

    Args:
        input: probabilities between 0 and 1, any shape.
        target: of input's shape and dtype.
        weight: a factor for each element, broadcast.

    Raises:
        ValueError: shapes differ.
        RuntimeError: an input below 0, above 1 or NaN.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.binary_cross_entropy(rl.tensor([0.5, 0.9]), rl.ones(2), reduction='none')
        tensor([0.6931, 0.1054])
    """
    _check_same_shape(input, target)
    if not input.is_meta and not bool(((input >= 0) & (input <= 1)).all()):
        raise RuntimeError(
            "binary_cross_entropy: the input must hold probabilities between 0 and 1, but holds "
            f"{input.min().item():.4g} to {input.max().item():.4g}\n"
            "  hint: pass scores through sigmoid() first, or better give them to binary_cross_entropy_with_logits()"
        )
    loss = -(target * _bounded_log(input) + (1 - target) * _bounded_log(1 - input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, _reduction_code(reduction, size_average, reduce))


def _bounded_log(p):
    # log never sees 0, where its slope is infinite and the gradient would be NaN.
    positive = p > 0
    return rl.where(positive, rl.where(positive, p, rl.ones_like(p)).log(), p.new_tensor(-100.0)).clamp(min=-100)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without its loss of precision.

    Args:
        input: logits, any shape.
        target: of input's shape, between 0 and 1.
        weight: a factor for each element, broadcast.
        pos_weight: a factor for each class's positive targets, broadcast.

    Raises:
        ValueError: shapes differ.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.binary_cross_entropy_with_logits(rl.zeros(2), rl.ones(2))
        tensor(0.6931)
    """
    _check_same_shape(input, target)
    if pos_weight is None:
        loss = _C.softplus(input, 1.0, 40.0) - input * target
    else:
        loss = (1 - target) * input + ((pos_weight - 1) * target + 1) * _C.softplus(-input, 1.0, 40.0)
    if weight is not None:
        loss = loss * weight
    return _reduced(loss, _reduction_code(reduction, size_average, reduce))


__getattr__ = _only(__name__)
