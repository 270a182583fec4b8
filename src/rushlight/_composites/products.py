"""Products and combinations of vectors, differences, and sums of areas."""

from __future__ import annotations

from .. import _C
from .._autocast import in_float32
from .._C import Tensor
from .._creation import arange, full_like, tensor
from ..overrides import overridable
from .sets import _into
from .shape import _listed, meshgrid


@overridable
def outer(input, vec2, *, out=None):
    """The outer product of two vectors: (n) and (m) give (n, m).

    Raises:
        RuntimeError: one of them is not a vector.

    >>> import rushlight as rl
    >>> rl.outer(rl.tensor([1, 2]), rl.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    for t in (input, vec2):
        if t.dim() != 1:
            raise RuntimeError(f"outer: expects vectors, got shape {tuple(t.shape)}")
    return _C.mul(input.reshape(-1, 1), vec2, out=out)


@overridable
def ger(input, vec2, *, out=None):
    """:func:`outer` by another name."""
    return outer(input, vec2, out=out)


@overridable
def inner(input, other, *, out=None):
    """Sums of products along the last dimensions of both: (*, k) and (+, k) give (*, +).

    >>> import rushlight as rl
    >>> rl.inner(rl.tensor([1.0, 2.0]), rl.tensor([[3.0, 4.0], [5.0, 6.0]]))
    tensor([11., 17.])
    """
    if not input.dim() or not other.dim():
        return _C.mul(input, other, out=out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: the last dimensions of {tuple(input.shape)} and {tuple(other.shape)} must have one size"
        )
    shape = (*input.shape[:-1], *other.shape[:-1])
    if input.dim() == 1 == other.dim():
        found = _C.dot(input, other)
    else:
        k = input.shape[-1]
        rows = [t.reshape(t.numel() // k if k else t.shape[:-1].numel(), k) for t in (input, other)]
        found = _C.mm(rows[0], rows[1].t())
    found = found.view(shape)
    return _into(out, found, True)


def _cheapest(sizes):
    """How to nest a product of matrices (sizes[i], sizes[i + 1]) with fewest multiplications (Cormen et al.,
    Introduction to Algorithms, 15.2): for each (i, j) where the product of i ... j is split."""
    n = len(sizes) - 1
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _multi_dot(name, tensors, out=None):
    if not tensors:
        raise RuntimeError(f"{name}: expects at least one matrix")
    tensors = list(tensors)
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}: expects tensors, got a {type(t).__name__}")
    shape = []
    if len(tensors) > 1:
        if tensors[0].dim() == 1:
            tensors[0] = tensors[0].unsqueeze(0)
        else:
            shape.append(tensors[0].shape[0])
        if tensors[-1].dim() == 1:
            tensors[-1] = tensors[-1].unsqueeze(1)
        else:
            shape.append(tensors[-1].shape[1])
    for t in tensors:
        if t.dim() != 2:
            raise RuntimeError(f"{name}: expects matrices, got shape {tuple(t.shape)}")
    for a, b in zip(tensors, tensors[1:], strict=False):
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(f"{name}: shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit")
    if len(tensors) == 1:
        found = tensors[0].clone()
    else:
        split = _cheapest([tensors[0].shape[0], *(t.shape[1] for t in tensors)])

        def product(i, j):
            return tensors[i] if i == j else _C.mm(product(i, k := split[i, j]), product(k + 1, j))

        found = product(0, len(tensors) - 1).view(shape)
    return _into(out, found, True)


@overridable
def chain_matmul(*matrices, out=None):
    """The product of several matrices, nested so that it takes fewest multiplications.

    >>> import rushlight as rl
    >>> rl.chain_matmul(rl.ones(2, 3), rl.ones(3, 4), rl.ones(4, 1))
    tensor([[12.],
            [12.]])
    """
    matrices = _listed(matrices)
    for t in matrices:
        if t.dim() != 2:
            raise RuntimeError(f"chain_matmul: expects matrices, got shape {tuple(t.shape)}")
    return _multi_dot("chain_matmul", matrices, out)


@overridable
def cross(input, other, dim=None, *, out=None):
    """The cross product of vectors of three elements.

    Args:
        input, other: tensors of equally many dimensions, which broadcast.
        dim: along which the vectors lie; the first dimension of size 3 unless given.

    >>> import rushlight as rl
    >>> rl.cross(rl.tensor([1, 0, 0]), rl.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"cross: no dimension of {tuple(input.shape)} has size 3")
    return _C.linalg_cross(input, other, dim=dim, out=out)


@overridable
def block_diag(*tensors):
    """A matrix with the given ones, or vectors as rows, along its diagonal.

    >>> import rushlight as rl
    >>> rl.block_diag(rl.tensor([[1, 2]]), rl.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return _C._block_diag(list(_listed(tensors)))


@overridable
def cartesian_prod(*tensors):
    """All combinations of an element of each vector, as rows.

    >>> import rushlight as rl
    >>> rl.cartesian_prod(rl.tensor([1, 2]), rl.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = _listed(tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"cartesian_prod: expects vectors, got shape {tuple(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return _C.stack([t.flatten() for t in meshgrid(*tensors, indexing="ij")], 1)


@overridable
def combinations(input, r=2, with_replacement=False):
    """All combinations of ``r`` elements of a vector, in the order of their places, as rows.

    Args:
        input: a vector.
        r: how many; 0 gives an empty result.
        with_replacement: whether one may occur several times.

    >>> import rushlight as rl
    >>> rl.combinations(rl.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expects a vector, got shape {tuple(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, got {r}")
    if r == 0:
        return input.new_empty(0)
    places = meshgrid(*[arange(input.numel(), device=input.device)] * r, indexing="ij")
    rising = places[0] >= 0
    for a, b in zip(places, places[1:], strict=False):
        rising = rising & (a <= b if with_replacement else a < b)
    return _C.stack([t.masked_select(rising) for t in meshgrid(*[input] * r, indexing="ij")], 1)


@overridable
def vander(x, N=None, increasing=False):
    """The powers of a vector's elements as columns, from the highest down to 0 unless ``increasing``.

    Args:
        x: a vector (n).
        N: how many powers; n unless given.

    Returns:
        A matrix (n, N).

    >>> import rushlight as rl
    >>> rl.vander(rl.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: expects a vector, got shape {tuple(x.shape)}")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError(f"vander: N must not be negative, got {n}")
    dtype = x.dtype if x.is_floating_point() else _C.int64
    powers = x.new_ones((x.numel(), n), dtype=dtype)
    if n > 1:
        powers[:, 1:] = x.to(dtype).unsqueeze(1).expand(-1, n - 1).cumprod(1)
    return powers if increasing else powers.flip(1)


@overridable
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Differences of neighbours along a dimension, ``n`` times over.

    Args:
        input: a tensor of at least one dimension; of bools, whether neighbours differ.
        n: how often.
        dim: along which.
        prepend, append: values to put before and after ``input`` first.

    >>> import rushlight as rl
    >>> rl.diff(rl.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if not input.dim():
        raise RuntimeError("diff: expects at least one dimension")
    if n < 0:
        raise RuntimeError(f"diff: n must not be negative, got {n}")
    parts = [t for t in (prepend, input, append) if t is not None]
    x = parts[0] if len(parts) == 1 else _C.cat(parts, dim)
    if n == 0:
        return _into(out, x.clone())
    n = min(n, x.shape[dim])
    for i in range(n):
        length = x.shape[dim] - 1
        after, before = x.narrow(dim, 1, length), x.narrow(dim, 0, length)
        last = out if i == n - 1 else None
        x = _C.logical_xor(after, before, out=last) if x.dtype is _C.bool else _C.sub(after, before, out=last)
    return x if n else x.clone()


def _areas(name, y, x, dx, dim):
    """Twice the areas of the trapezoids, and what they are still to be multiplied by."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}(): takes x or dx, not both")
    if y.dim() and not y.shape[dim]:
        return None
    left, right = y.narrow(dim, 0, y.shape[dim] - 1), y.narrow(dim, 1, y.shape[dim] - 1)
    if x is None:
        return left + right
    if x.dim() == 1 and y.dim() > 1:
        if x.numel() != y.shape[dim]:
            raise RuntimeError(f"{name}: x has {x.numel()} elements, y {y.shape[dim]} along dimension {dim}")
        shape = [1] * y.dim()
        shape[dim] = x.numel()
        x = x.reshape(shape)
    steps = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    return steps * (left + right)


@overridable
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of sampled values by the trapezoidal rule.

    Args:
        y: the values.
        x: where they were taken, of y's shape or a vector; ``dx`` apart unless given.
        dx: the distance between neighbours, 1 unless given.
        dim: along which.

    >>> import rushlight as rl
    >>> rl.trapezoid(rl.tensor([1.0, 2.0, 4.0]))
    tensor(4.5000)
    """
    if x is None:
        if not y.shape[dim]:
            return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim % y.dim()])
        total = y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5
        return _C._mul_number(total, 1 if dx is None else dx)
    areas = _areas("trapezoid", y, x, dx, dim)
    if areas is None:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim % y.dim()])
    return _C._div_number(areas.sum(dim), 2.0)


@overridable
def trapz(y, x=None, *, dx=None, dim=-1):
    """:func:`trapezoid` by another name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@overridable
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """As :func:`trapezoid`, with every sum on the way: one element less than ``y`` along ``dim``.

    >>> import rushlight as rl
    >>> rl.cumulative_trapezoid(rl.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """
    areas = _areas("cumulative_trapezoid", y, x, dx, dim)
    if areas is None:
        return y.clone()
    if x is None:
        return _C._mul_number(areas, (1 if dx is None else dx) / 2.0).cumsum(dim)
    return _C._div_number(areas.cumsum(dim), 2.0)


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@overridable
@in_float32
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The distances between all pairs of vectors: (*, P, M) and (*, R, M) give (*, P, R).

    Args:
        x1, x2: floating point; leading dimensions broadcast. Half types are computed in float32.
        p: the norm of the difference, 0 to infinity.
        compute_mode: whether to use a matrix product for p = 2: "use_mm_for_euclid_dist", "donot_use_...", or
            "..._if_necessary", which is for more than 25 vectors. It is faster and less exact.

    Raises:
        RuntimeError: M differs, or ``p`` is negative.

    >>> import rushlight as rl
    >>> rl.cdist(rl.tensor([[0.0, 0.0]]), rl.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[5., 1.]])
    """
    for name, t in (("x1", x1), ("x2", x2)):
        if t.dim() < 2:
            raise RuntimeError(f"cdist: {name} must have at least two dimensions, got shape {tuple(t.shape)}")
        if not t.is_floating_point():
            raise RuntimeError(f"cdist: {name} must be floating point, not {t.dtype}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"cdist: vectors of {x1.shape[-1]} and {x2.shape[-1]} elements have no distance")
    if not p >= 0:
        raise RuntimeError(f"cdist: p must not be negative, got {p}")
    if compute_mode not in _MODES:
        raise ValueError(f"cdist: compute_mode is {compute_mode!r}\n  hint: take one of {', '.join(_MODES)}")
    if x1.dtype != x2.dtype:
        wide = _C.promote_types(x1.dtype, x2.dtype)
        x1, x2 = x1.to(wide), x2.to(wide)
    if x1.dtype.itemsize == 2:
        return cdist(x1.float(), x2.float(), p, compute_mode).to(x1.dtype)
    batch = x1.shape[:-2]
    if x2.shape[:-2] != batch:
        from .shape import broadcast_shapes

        batch = broadcast_shapes(batch, x2.shape[:-2])
        x1, x2 = x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:])
    rows, cols = x1.shape[-2], x2.shape[-2]
    large = compute_mode == _MODES[1] or (compute_mode == _MODES[0] and (rows > 25 or cols > 25))
    if p == 2 and large and rows and cols and x1.shape[-1]:
        return _C._euclidean_dist(x1, x2).view(*batch, rows, cols)
    return _C._cdist(x1, x2, p)


@overridable
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables in rows and observations in columns.

    Args:
        input: (variables, observations), or a vector of observations of one variable.
        correction: taken from the number of observations that sums are divided by.
        fweights: how often each observation was made, integers.
        aweights: how important each is, floating point.

    >>> import rushlight as rl
    >>> rl.cov(rl.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov: expects at most two dimensions, got shape {tuple(input.shape)}")
    if input.dtype is _C.bool:
        raise RuntimeError("cov: bool tensors have no covariance")
    x = input.reshape(1, -1) if input.dim() < 2 else input
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            if w.dim() != 1 or w.numel() != x.shape[1]:
                raise RuntimeError(f"cov: expects {x.shape[1]} weights, got shape {tuple(w.shape)}")
            weights = w if weights is None else weights * w
    if not x.is_floating_point():
        x = x.to(_C.get_default_dtype())
    total = x.shape[1] if weights is None else weights.sum()
    mean = (x.sum(1, keepdim=True) if weights is None else (x * weights).sum(1, keepdim=True)) / total
    if weights is None:
        freedom = max(total - correction, 0)
    elif aweights is None:
        freedom = (total - correction).clamp(min=0)
    else:
        freedom = (total - correction * (weights * aweights).sum() / total).clamp(min=0)
    centred = x - mean
    right = centred if weights is None else centred * weights
    return (_C.mm(centred, right.to(centred.dtype).t()) / freedom).squeeze()


@overridable
def corrcoef(input):
    """The correlation coefficients of variables in rows and observations in columns: :func:`cov`, scaled.

    >>> import rushlight as rl
    >>> rl.corrcoef(rl.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    c = cov(input)
    if not c.dim():
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.unsqueeze(1) / deviation).clamp(-1, 1)


@overridable
def float_power(input, exponent, *, out=None):
    """``input`` to the power of ``exponent``, computed in float64. One of them may be a number.

    >>> import rushlight as rl
    >>> rl.float_power(rl.tensor([1, 2]), 0.5)
    tensor([1.0000, 1.4142], dtype=torch.float64)
    """
    input, exponent = (t.to(_C.float64) if isinstance(t, Tensor) else float(t) for t in (input, exponent))
    return _C.pow(input, exponent, out=out)


def _float_power_(self, exponent):
    """:func:`float_power` in place, of a float64 tensor."""
    if self.dtype != _C.float64:
        raise RuntimeError(f"float_power_: the tensor must be float64, not {self.dtype}")
    return self.pow_(exponent.to(_C.float64) if isinstance(exponent, Tensor) else float(exponent))


@overridable
def polygamma(n, input, *, out=None):
    """The ``n``-th derivative of digamma().

    >>> import rushlight as rl
    >>> rl.polygamma(1, rl.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    return _C._polygamma(input, n, out=out)


def _method_polygamma(self, n):
    """See :func:`rushlight.polygamma`."""
    return _C._polygamma(self, n)


def _polygamma_(self, n):
    """:func:`polygamma` in place."""
    return _C._polygamma_(self, n)


@overridable
def isreal(input):
    """Whether each element is a real number: always, as there are no complex tensors.

    >>> import rushlight as rl
    >>> rl.isreal(rl.tensor([1.0]))
    tensor([True])
    """
    return full_like(input, True, dtype=_C.bool)


def _indices(name, row, col, offset, dtype, device, keep):
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: sizes must not be negative, got {row} and {col}")
    places = arange(row, device=device).unsqueeze(1), arange(col, device=device)
    at = keep(places[1] - places[0], offset).nonzero().t().contiguous()
    return at.to(_C.int64 if dtype is None else dtype)


@overridable
def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    """The places of the lower triangle of a (row, col) matrix, on and below the diagonal ``offset``: (2, count).

    >>> import rushlight as rl
    >>> rl.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _indices("tril_indices", row, col, offset, dtype, device, Tensor.le)


@overridable
def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    """The places of the upper triangle of a (row, col) matrix, on and above the diagonal ``offset``: (2, count).

    >>> import rushlight as rl
    >>> rl.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _indices("triu_indices", row, col, offset, dtype, device, Tensor.ge)


def scalar_tensor(s, *, dtype=None, device=None, layout=None, pin_memory=False):
    """A tensor without dimensions, of the default dtype unless another is given.

    >>> import rushlight as rl
    >>> rl.scalar_tensor(2)
    tensor(2.)
    """
    return tensor(s, dtype=_C.get_default_dtype() if dtype is None else dtype, device=device)


def _fill_diagonal_(self, fill_value, wrap=False):
    """Sets the diagonal of a matrix, or of a tensor all of whose sizes are equal. ``wrap``: start again below a
    matrix' last column, after a row left out."""
    if self.dim() < 2:
        raise RuntimeError(f"fill_diagonal_: expects at least two dimensions, got shape {tuple(self.shape)}")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(f"fill_diagonal_: all sizes must be equal beyond matrices, got {tuple(self.shape)}")
    step, offset = sum(self.stride()), self.storage_offset()
    self.as_strided((min(self.shape),), (step,), offset).fill_(fill_value)
    if wrap and self.dim() == 2 and self.shape[0] > self.shape[1] + 1:
        self[self.shape[1] + 1 :].fill_diagonal_(fill_value, wrap=True)
    return self


_METHODS = {
    "outer": outer,
    "ger": ger,
    "inner": inner,
    "cross": cross,
    "diff": diff,
    "cov": cov,
    "corrcoef": corrcoef,
    "float_power": float_power,
    "isreal": isreal,
}
_OWN_METHODS = {
    "float_power_": _float_power_,
    "polygamma": _method_polygamma,
    "polygamma_": _polygamma_,
    "fill_diagonal_": _fill_diagonal_,
}
for _name, _method in (_METHODS | _OWN_METHODS).items():
    setattr(Tensor, _name, _method)

__all__ = [
    *_METHODS,
    "block_diag",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "combinations",
    "cumulative_trapezoid",
    "polygamma",
    "scalar_tensor",
    "trapezoid",
    "trapz",
    "tril_indices",
    "triu_indices",
    "vander",
]
