"""First values for parameters. Each function fills its tensor in place, without history, and returns it."""

from __future__ import annotations

import math

import rushlight as rl

from .._lazy import only as _only
from .._warnings import warn


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity should have its weights enlarged, so that signals keep their size.

    Args:
        nonlinearity: "linear", "conv1d".."conv3d" and their transposes, "sigmoid" (1), "tanh" (5/3), "relu" (sqrt 2),
            "leaky_relu" or "selu" (3/4).
        param: the negative slope of leaky_relu, 0.01 unless given.

    Raises:
        ValueError: another name, or a slope that is no number.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity in ("linear", "sigmoid") or (isinstance(nonlinearity, str) and nonlinearity.startswith("conv")):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            param = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + param**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(
        f"Unsupported nonlinearity {nonlinearity}\n"
        "  hint: 'linear', 'sigmoid', 'tanh', 'relu', 'leaky_relu' and 'selu' are known, and the names of convolutions"
    )


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Draws from the uniform distribution on [a, b).

    Example:
        >>> import rushlight as rl
        >>> x = rl.nn.init.uniform_(rl.empty(100), -2, 2)
        >>> bool((x.abs() <= 2).all())
        True
    """
    with rl.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Draws from the normal distribution.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.normal_(rl.empty(2, 3)).shape
        torch.Size([2, 3])
    """
    with rl.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Draws from the normal distribution, cut off outside [a, b].

    By rejection (von Neumann 1951): of normal numbers where at least three in ten fall inside, otherwise of uniform
    ones in [a, b].

    Raises:
        ValueError: ``a`` is above ``b``.

    Example:
        >>> import rushlight as rl
        >>> x = rl.nn.init.trunc_normal_(rl.empty(100), a=-1, b=1)
        >>> bool((x.abs() <= 1).all())
        True
    """
    if a > b:
        raise ValueError(f"trunc_normal_: a must not be above b, got a={a}, b={b}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_: most draws are rejected")
    low, high = ((x - mean) / std for x in (a, b))
    inside = 0.5 * (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2)))
    peak = min(max(0.0, low), high)  # where the density is largest inside

    def propose():
        if inside >= 0.3:
            proposal = rl.empty_like(tensor).normal_(mean, std, generator=generator)
            return proposal, (proposal >= a) & (proposal <= b)
        proposal = rl.empty_like(tensor).uniform_(a, b, generator=generator)
        density = ((peak**2 - ((proposal - mean) / std) ** 2) / 2).exp()
        return proposal, rl.empty_like(tensor).uniform_(generator=generator) <= density

    with rl.no_grad():
        values, settled = propose()
        while not settled.all():
            proposal, accepted = propose()
            values = rl.where(accepted & ~settled, proposal, values)
            settled = settled | accepted
        return tensor.copy_(values)


def constant_(tensor, val):
    """Fills with a number.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.constant_(rl.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    with rl.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fills with 1.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.ones_(rl.empty(2))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fills with 0.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.zeros_(rl.empty(2))
        tensor([0., 0.])
    """
    with rl.no_grad():
        return tensor.zero_()


def eye_(tensor):
    """Fills a 2-D tensor with 1 on the diagonal and 0 elsewhere.

    Raises:
        ValueError: not two dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.eye_(rl.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    _check_dim("eye_", tensor, (2,))
    with rl.no_grad():
        return tensor.copy_(rl.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """Fills convolution weights (3-D to 5-D) so that as many channels as possible pass unchanged, in each group.

    Raises:
        ValueError: not three to five dimensions, or rows that groups do not divide.

    Example:
        >>> import rushlight as rl
        >>> kernels = rl.nn.init.dirac_(rl.empty(2, 2, 3, 3))
        >>> image = rl.rand(1, 2, 4, 4)
        >>> rl.equal(rl.nn.functional.conv2d(image, kernels, padding=1), image)
        True
    """
    _check_dim("dirac_", tensor, (3, 4, 5))
    rows = tensor.shape[0]
    if rows % groups:
        raise ValueError(f"dim 0 must be divisible by groups: {rows} by {groups}")
    rows //= groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with rl.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(rows, tensor.shape[1])):
                tensor[(g * rows + d, d, *middle)] = 1
    return tensor


def _check_dim(name, tensor, dims):
    if tensor.dim() not in dims:
        raise ValueError(
            f"{name} takes tensors with {' or '.join(map(str, dims))} dimensions, got shape {tuple(tensor.shape)}"
        )


def _calculate_fan_in_and_fan_out(tensor):
    """How many inputs an output sums over, and how many outputs an input goes to."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, "
            f"got shape {tuple(tensor.shape)}"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(tensor, mode):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform, with variance 2 gain**2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import rushlight as rl
        >>> w = rl.nn.init.xavier_uniform_(rl.empty(3, 5))
        >>> bool((w.abs() <= (6 / (3 + 5)) ** 0.5).all())
        True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal, with variance 2 gain**2 / (fan_in + fan_out) (Glorot and Bengio 2010).

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.xavier_normal_(rl.empty(3, 5)).shape
        torch.Size([3, 5])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))


def _has_no_elements(tensor):
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform, with variance gain**2 / fan, which keeps signals at their size through rectifiers (He et al. 2015).

    Args:
        tensor: two or more dimensions: (outputs, inputs, ...).
        a: negative slope, for leaky_relu.
        mode: "fan_in" keeps signals, "fan_out" gradients at their size.
        nonlinearity: see calculate_gain.

    Raises:
        ValueError: fewer than two dimensions, or an unknown mode or nonlinearity.

    Example:
        >>> import rushlight as rl
        >>> w = rl.nn.init.kaiming_uniform_(rl.empty(3, 6), nonlinearity='relu')
        >>> bool((w.abs() <= 1).all())
        True
    """
    if _has_no_elements(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal, otherwise as kaiming_uniform_.

    Example:
        >>> import rushlight as rl
        >>> rl.nn.init.kaiming_normal_(rl.empty(3, 5), mode='fan_out').shape
        torch.Size([3, 5])
    """
    if _has_no_elements(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Fills a matrix with orthonormal rows or columns, whichever are fewer, times the gain (Saxe et al. 2013).

    Of more dimensions, all but the first are taken as one.

    Raises:
        ValueError: fewer than two dimensions.

    Example:
        >>> import rushlight as rl
        >>> w = rl.nn.init.orthogonal_(rl.empty(3, 2, 2))
        >>> rl.allclose(w.flatten(1) @ w.flatten(1).T, rl.eye(3), atol=1e-6)
        True
    """
    if tensor.dim() < 2:
        raise ValueError(f"orthogonal_ takes a tensor of two or more dimensions, got shape {tuple(tensor.shape)}")
    if tensor.numel() == 0:
        return tensor
    with rl.no_grad():
        rows = tensor.shape[0]
        columns = tensor.numel() // rows
        normal = tensor.new_empty((rows, columns)).normal_(generator=generator)
        wide = rows < columns
        q, r = rl.linalg.qr(normal.T if wide else normal)
        q = q * r.diagonal().sign()  # makes q uniform over all orthogonal matrices (Mezzadri 2006)
        tensor.copy_((q.T if wide else q).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Fills a 2-D tensor from the normal distribution, with that fraction of each column set to 0 (Martens 2010).

    Raises:
        ValueError: not two dimensions.

    Example:
        >>> import rushlight as rl
        >>> w = rl.nn.init.sparse_(rl.empty(10, 2), sparsity=0.3)
        >>> (w == 0).sum(0)
        tensor([3, 3])
    """
    _check_dim("sparse_", tensor, (2,))
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with rl.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[rl.randperm(rows)[:zeros], column] = 0
    return tensor


__getattr__ = _only(__name__)
