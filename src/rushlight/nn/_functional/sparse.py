"""Embeddings, and numbers as vectors."""

from __future__ import annotations

import rushlight as rl

from ... import _C


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


_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of rows of a table, looked up by number, without the rows in between.

    Args:
        input: int64 or int32: (B, N), B bags of N numbers, or (N), bags of any length one after another.
        weight: (number of rows, width).
        offsets: where each bag begins in a one-dimensional input; the first is 0.
        scale_grad_by_freq: divide a row's gradient by how often the row was looked up; not for "max".
        mode: "sum", "mean" or "max".
        per_sample_weights: of input's shape, a factor for each number's row; only for "sum".
        include_last_offset: ``offsets`` has one more at its end, where the last bag ends.
        padding_idx: a row that does not count and gets no gradient.

    Returns:
        (B, width); zeros for an empty bag.

    Raises:
        ValueError: offsets and input do not fit, an unknown mode, or weights of another shape.
        RuntimeError: a number is out of range, or a wrong dtype.
        NotImplementedError: ``max_norm`` or ``sparse`` is given, or weights where the mode is not "sum".

    Example:
        >>> import rushlight as rl
        >>> table = rl.tensor([[1., 2.], [3., 4.], [5., 6.]])
        >>> rl.nn.functional.embedding_bag(rl.tensor([0, 2, 1]), table, rl.tensor([0, 2]))
        tensor([[3., 4.],
                [3., 4.]])
    """
    if max_norm is not None:
        raise NotImplementedError(
            "embedding_bag: max_norm is not supported\n  hint: clip the rows yourself before the call"
        )
    if sparse:
        raise NotImplementedError("embedding_bag: sparse gradients are not supported\n  hint: leave out sparse=True")
    if mode not in _MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights of shape {tuple(per_sample_weights.shape)} must have the shape of "
            f"input, {tuple(input.shape)}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as each row of input is a bag")
        bags, each = input.shape
        offsets = rl.arange(0, bags * each, each, device=input.device) if each else rl.zeros(bags, dtype=rl.int64)
        offsets = offsets[:bags]
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None or offsets.dim() != 1:
        raise ValueError(
            f"offsets has to be a 1D Tensor but got {None if offsets is None else tuple(offsets.shape)}\n"
            "  hint: it says where in the input each bag begins, from 0"
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights go with mode='sum' only, not {mode!r}")
    if scale_grad_by_freq and mode == "max":
        raise RuntimeError("embedding_bag: scale_grad_by_freq does not go with mode='max'")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, got {padding_idx}"
            )
        padding_idx %= rows
    padding = -1 if padding_idx is None else padding_idx
    return _C._embedding_bag(
        weight, input, offsets, _MODES[mode], scale_grad_by_freq, per_sample_weights, include_last_offset, padding
    )


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


__all__ = [
    "embedding",
    "embedding_bag",
    "one_hot",
]
