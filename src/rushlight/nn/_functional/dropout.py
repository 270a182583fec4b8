"""Dropout."""

from __future__ import annotations

from ... import _C
from ..._composites import dropout as _whole
from ..._warnings import warn


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


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean 0 and variance 1 of what selu gives (Klambauer et al. 2017).

    Args:
        input: floating point, any shape.
        p: the probability that an element is set to the value that selu gives for minus infinity.

    Raises:
        ValueError: p is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.alpha_dropout(rl.ones(2), 0.5, training=False)
        tensor([1., 1.])
    """
    _check_probability(p)
    return (_whole.alpha_dropout_ if inplace else _whole.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels of an (N, C, ...) input.

    Raises:
        ValueError: p is not between 0 and 1.
        RuntimeError: ``input`` has fewer than two dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.feature_alpha_dropout(rl.ones(1, 2, 3), 0.5, training=True).shape
        torch.Size([1, 2, 3])
    """
    _check_probability(p)
    return (_whole.feature_alpha_dropout_ if inplace else _whole.feature_alpha_dropout)(input, p, training)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of an (N, C, L) or (C, L) input (Tompson et al. 2014).

    Raises:
        ValueError: p is not between 0 and 1.
        RuntimeError: ``input`` has another number of dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.dropout1d(rl.ones(1, 4, 2)).shape
        torch.Size([1, 4, 2])
    """
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: expects (N, C, L) or (C, L), got shape {tuple(input.shape)}\n"
            "  hint: dropout2d and dropout3d are for inputs with more dimensions, dropout for single elements"
        )
    if input.dim() == 3:
        return _channels_dropped(input, p, training, inplace)
    if inplace:
        input.unsqueeze_(0)
        return _channels_dropped(input, p, training, inplace).squeeze_(0)
    return _channels_dropped(input.unsqueeze(0), p, training, inplace).squeeze(0)


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
    return _channels_dropped(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of an (N, C, D, H, W) input (Tompson et al. 2014).

    Raises:
        ValueError: p is not between 0 and 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.functional.dropout3d(rl.ones(1, 4, 2, 2, 2)).shape
        torch.Size([1, 4, 2, 2, 2])
    """
    _check_probability(p)
    if input.dim() != 5:
        warn(f"dropout3d: input has {input.dim()} dimensions, not 5; the first two are taken for (N, C)")
    return _channels_dropped(input, p, training, inplace)


def _channels_dropped(input, p, training, inplace):
    return (_whole.feature_dropout_ if inplace else _whole.feature_dropout)(input, p, training)


__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]
