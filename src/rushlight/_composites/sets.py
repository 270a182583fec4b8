"""Distinct elements, membership, quantiles, places in sorted sequences, histograms."""

from __future__ import annotations

from .. import _C
from .._autocast import in_float32
from .._C import Tensor
from .._creation import full_like, linspace, tensor
from ..overrides import overridable


@overridable
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements of a tensor, or its distinct slices along a dimension, in ascending order.

    Args:
        input: a tensor of any shape and dtype. NaN equals nothing, not even itself.
        sorted: accepted for PyTorch's sake; the result is sorted whatever it says.
        return_inverse: return, too, where in the result each element (or slice) of ``input`` is.
        return_counts: return, too, how often each one of the result occurs.
        dim: compare slices along it; None compares elements.

    Returns:
        A tensor; a tuple of tensors if there is more to return, the others int64.

    Raises:
        IndexError: ``dim`` is out of range.
        NotImplementedError: at backward, as it has no derivative.

    >>> import rushlight as rl
    >>> rl.unique(rl.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    found = _C._unique2(input) if dim is None else _C._unique_dim(input, dim)
    return _wanted(found, return_inverse, return_counts)


@overridable
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """As :func:`unique`, but only neighbours are compared: every run of equal elements gives one, in their order.

    >>> import rushlight as rl
    >>> rl.unique_consecutive(rl.tensor([1, 1, 3, 1]))
    tensor([1, 3, 1])
    """
    found = _C._unique_consecutive(input) if dim is None else _C._unique_dim_consecutive(input, dim)
    return _wanted(found, return_inverse, return_counts)


def _wanted(found, inverse, counts):
    values, places, lengths = found
    if not inverse and not counts:
        return values
    return (values, *((places,) if inverse else ()), *((lengths,) if counts else ()))


@overridable
def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Whether each of ``elements`` is among ``test_elements``.

    Args:
        elements: a tensor, or a number.
        test_elements: a tensor of any shape, or a number; not both are numbers.
        assume_unique: accepted for PyTorch's sake.
        invert: whether it is not.

    Returns:
        A bool tensor of the shape of ``elements``.

    Raises:
        RuntimeError: for bool tensors.

    >>> import rushlight as rl
    >>> rl.isin(rl.tensor([1, 2, 3]), rl.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): elements or test_elements must be a Tensor, both are numbers")
    elements, test_elements = (t if isinstance(t, Tensor) else tensor(t) for t in (elements, test_elements))
    if _C.bool in (elements.dtype, test_elements.dtype):
        raise RuntimeError("isin: bool tensors are not supported\n  hint: compare with == or ~")
    if not test_elements.numel():
        found = elements.new_zeros(elements.shape, dtype=_C.bool)
    elif test_elements.numel() <= 8:
        found = elements.new_zeros(elements.shape, dtype=_C.bool)
        for t in test_elements.reshape(-1):
            found |= elements == t
    else:
        ordered = test_elements.reshape(-1).sort()[0]
        place = _C._searchsorted(ordered, elements, False).clamp_(max=ordered.numel() - 1)
        found = ordered[place] == elements
    found = ~found if invert else found
    return _into(out, found)


def _to_right(name, side, right):
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side must be 'left' or 'right', not {side!r}")
    if side == "left" and right:
        raise RuntimeError(f"{name}: side is 'left', but right is True\n  hint: give one of them")
    return right or side == "right"


@overridable
def searchsorted(
    sorted_sequence, input=None, *, out_int32=False, right=False, side=None, out=None, sorter=None, self=None
):
    """Where elements would be inserted in a sorted sequence to keep it sorted.

    Args:
        sorted_sequence: ascending along the last dimension; a vector, or one line for each line of ``input``.
        input: a tensor or a number.
        out_int32: give int32 instead of int64.
        right: after equal elements instead of before them; also said by ``side="right"``.
        sorter: int64 indices that sort ``sorted_sequence``, if it is not sorted itself.

    Returns:
        An integer tensor of the shape of ``input``.

    Raises:
        RuntimeError: shapes do not fit, or ``side`` contradicts ``right``.

    >>> import rushlight as rl
    >>> rl.searchsorted(rl.tensor([1, 3, 5]), rl.tensor([3, 6]))
    tensor([1, 3])
    """
    right = _to_right("searchsorted", side, right)
    values = self if input is None else input
    if not isinstance(values, Tensor):
        if sorted_sequence.dim() > 1:
            raise RuntimeError("searchsorted: a number needs boundaries of one dimension")
        values = tensor(values, device=sorted_sequence.device)
    found = _C._searchsorted(sorted_sequence, values, right, sorter)
    found = found.to(_C.int32) if out_int32 else found
    return _into(out, found, True)


def _into(out, result, same_dtype=False):
    """``result``, written to ``out`` if that is given: resized to it, and of a dtype that it fits."""
    return result if out is None else _C._written(result, same_dtype, out=out)


@overridable
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """The number of the interval between ``boundaries`` that each element lies in.

    Args:
        input: a tensor or a number.
        boundaries: an ascending vector. Interval i ends at boundary i, which belongs to it unless ``right``.

    Returns:
        As :func:`searchsorted`.

    >>> import rushlight as rl
    >>> rl.bucketize(rl.tensor([0.5, 3.0, 9.0]), rl.tensor([1.0, 3.0, 5.0]))
    tensor([0, 1, 3])
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"bucketize: boundaries must have one dimension, got shape {tuple(boundaries.shape)}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan):
    if not input.numel():
        raise RuntimeError(f"{name}: the input is empty")
    if input.dtype not in (_C.float32, _C.float64):
        raise RuntimeError(f"{name}: the input must be float32 or float64, not {input.dtype}")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}: q must lie between 0 and 1, got {q}")
        q = tensor(q, dtype=input.dtype, device=input.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}: q must be a number or a vector, got shape {tuple(q.shape)}")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}: q is {q.dtype}, the input {input.dtype}\n  hint: convert q with .to(x.dtype)")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, not {interpolation!r}")
    if q.numel() and q.device.type != "meta" and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}: values of q must lie between 0 and 1")

    # Quantiles stand in a last dimension first, and move to the front.
    if dim is None:
        x, shape, dim = input.flatten(), [1] * input.dim(), -1
    else:
        dims = max(input.dim(), 1)
        if not -dims <= dim < dims:
            raise IndexError(f"{name}: dim is {dim}, the tensor has {input.dim()} dimensions")
        x, shape = (input.movedim(dim, -1) if input.dim() else input.reshape(1)), None
    ordered = x.sort(-1)[0]
    positions, missing = q.reshape(-1), ordered.isnan()
    if skip_nan:
        numbers = missing.logical_not().sum(-1, keepdim=True)
        rank = positions * (numbers - 1).clamp_(min=0).to(x.dtype)
    else:
        last = ordered.shape[-1] - 1
        rank = (positions * last).expand(*ordered.shape[:-1], positions.numel())
        rank = rank.masked_fill(missing.any(-1, keepdim=True), last)
    rounded = {"lower": Tensor.floor, "higher": Tensor.ceil, "nearest": Tensor.round}.get(interpolation)
    if rounded:
        found = ordered.gather(-1, rounded(rank).to(_C.int64))
    else:
        below = rank.to(_C.int64)
        weight = rank - below if interpolation == "linear" else full_like(rank, 0.5)
        found = ordered.gather(-1, below).lerp(ordered.gather(-1, rank.ceil().to(_C.int64)), weight)

    if keepdim:
        found = (
            found.reshape(*shape, -1)
            if shape is not None
            else found.unsqueeze(dim - (dim < 0))
            if input.dim()
            else found
        )
    if not q.dim():
        return found.squeeze_(-1)
    return found.unsqueeze(0).transpose(0, -1).squeeze_(-1)


@overridable
@in_float32
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """The elements below which a fraction ``q`` of all elements lies.

    Args:
        input: float32 or float64.
        q: a number between 0 and 1, or a vector of them of ``input``'s dtype.
        dim: along it; None takes all elements.
        keepdim: leave the dimension at size 1.
        interpolation: what to take between two elements: "linear", "lower", "higher", "midpoint" or "nearest".

    Returns:
        A tensor, with a first dimension for ``q`` if that is a vector. NaN where a line holds NaN.

    Raises:
        RuntimeError: the input is empty, a dtype does not fit, or ``q`` is outside of 0 to 1.

    >>> import rushlight as rl
    >>> rl.quantile(rl.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """
    found = _quantile("quantile", input, q, dim, keepdim, interpolation, False)
    return _into(out, found, True)


@overridable
@in_float32
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """As :func:`quantile`, without regard to NaN; NaN where nothing else is left.

    >>> import rushlight as rl
    >>> rl.nanquantile(rl.tensor([1.0, float("nan"), 4.0]), 0.5)
    tensor(2.5000)
    """
    found = _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
    return _into(out, found, True)


@overridable
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean without regard to NaN, of all elements or over dimensions.

    Args:
        input: of floating point dtype.
        dim: an int or several; None for all.
        keepdim: leave reduced dimensions at size 1.
        dtype: of the sum.

    Raises:
        RuntimeError: ``input`` is of an integer dtype.

    >>> import rushlight as rl
    >>> rl.nanmean(rl.tensor([1.0, float("nan"), 4.0]))
    tensor(2.5000)
    """
    if out is not None and not out.is_floating_point():
        raise NotImplementedError(f"nanmean: out= is {out.dtype}, which holds no mean")
    if not input.is_floating_point():
        raise RuntimeError(f"nanmean: expects floating point, not {input.dtype}\n  hint: convert with .float() first")
    numbers = input.detach().isnan().logical_not()
    count = numbers.sum() if dim is None else numbers.sum(dim, keepdim)
    found = _C.nansum(input, dim, keepdim, dtype=dtype) / count
    return _into(out, found)


@overridable
def histogram(input, bins, *, range=None, weight=None, density=False, out=None):
    """How many elements lie in each of the intervals between edges.

    Args:
        input: floating point, of any shape. Half types are counted in float32.
        bins: how many intervals of equal length, or a vector of edges in ascending order.
        range: (low, high) of the intervals, for a number of ``bins``; the least and largest element unless given.
        weight: what each element counts, of ``input``'s shape; 1 unless given.
        density: divide by the whole count and by the intervals' lengths, so that the integral is 1.

    Returns:
        (hist, bin_edges), of ``input``'s dtype. An interval holds its lower edge, the last one its upper edge too.

    >>> import rushlight as rl
    >>> rl.histogram(rl.tensor([1.0, 2.0, 1.0]), bins=4, range=(0.0, 3.0))[0]
    tensor([0., 2., 1., 0.])
    """
    if not input.is_floating_point():
        raise NotImplementedError(f"histogram is for floating point only, not {input.dtype}")
    if input.dtype.itemsize == 2:
        wide = [x.float() if isinstance(x, Tensor) else x for x in (input, bins, weight)]
        found = histogram(*wide[:2], range=range, weight=wide[2], density=density)
        found = tuple(part.to(input.dtype) for part in found)
        return found if out is None else tuple(_into(o, r) for o, r in zip(out, found, strict=True))
    values = input.detach().reshape(-1)
    if isinstance(bins, Tensor):
        edges = bins.detach().clone()
        if range is not None:
            raise TypeError("histogram(): range says nothing beside edges")
    else:
        if bins < 1:
            raise RuntimeError(f"histogram: bins must be positive, got {bins}")
        low, high = range or ((values.min().item(), values.max().item()) if values.numel() else (0.0, 0.0))
        if low == high:
            low, high = low - 0.5, high + 0.5
        if not low < high:
            raise RuntimeError(f"histogram: the range from {low} to {high} is none")
        edges = linspace(low, high, bins + 1, dtype=input.dtype)
    count = edges.numel() - 1
    place = _C._searchsorted(edges, values, True) - 1
    place = place.masked_fill(values == edges[-1], count - 1)
    inside = (place >= 0) & (place < count)
    weights = values.new_ones(values.shape) if weight is None else weight.detach().reshape(-1)
    found = values.new_zeros(count).index_add_(0, place[inside], weights[inside])
    if density:
        found = found / (found.sum() * edges.diff())
    if out is not None:
        return tuple(_into(o, r) for o, r in zip(out, (found, edges), strict=True))
    return found, edges


_METHODS = {
    "unique": unique,
    "unique_consecutive": unique_consecutive,
    "quantile": quantile,
    "nanquantile": nanquantile,
    "nanmean": nanmean,
    "histogram": histogram,
}
for _name, _method in _METHODS.items():
    setattr(Tensor, _name, _method)

__all__ = [*_METHODS, "bucketize", "isin", "searchsorted"]
