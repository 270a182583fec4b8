"""Sums of products over chosen dimensions: einsum and tensordot."""

from __future__ import annotations

from .. import _C
from .._C import Tensor
from ..overrides import overridable

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# A subscript is a number: 0 to 51 for the letters above, -1 for the last dimension that an ellipsis covers, -2 for the
# one before it, and so on. So ellipses line up at their ends, and sorting puts their dimensions first, as they belong.


@overridable
def einsum(*args):
    """A sum of products, written as subscripts (Einstein's convention).

    Dimensions with the same subscript go together; subscripts that the output lacks are summed over. Operands are
    contracted from left to right, each pair by one batched matrix product.

    Args:
        args: an equation and its operands, as ``einsum("ij,jk->ik", a, b)`` or ``einsum("ij,jk->ik", [a, b])``; or
            operands with lists of subscripts from 0 to 51, as ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. A subscript
            repeated within an operand takes its diagonal. An ellipsis stands for any number of dimensions, which
            broadcast. The output (after ``->``, or the last list) may be left out: it is then the ellipsis' dimensions,
            followed by those subscripts that occur once, capital letters first, in alphabetical order.

    Returns:
        A tensor with a dimension for each subscript of the output; a view of the operand where there is but one and
        nothing is summed.

    Raises:
        RuntimeError: the equation is not well formed, or does not fit the operands' shapes; dtypes of operands that
            are contracted differ.
        ValueError: no equation or no operand, or a number out of range among the subscripts.
        TypeError: the equation is no string, an operand no tensor.

    >>> import rushlight as rl
    >>> a = rl.arange(6.0).view(2, 3)
    >>> rl.einsum("ij,kj->ik", a, a)
    tensor([[ 5., 14.],
            [14., 50.]])
    >>> rl.einsum("ii->i", rl.arange(9.0).view(3, 3))
    tensor([0., 4., 8.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or operands and their subscripts"
        )
    if isinstance(args[0], Tensor):
        subscripts, operands = _split_lists(args)
    else:
        subscripts = args[0]
        operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
        if not isinstance(subscripts, str):
            raise TypeError(f"einsum(): the equation must be a str, not {type(subscripts).__name__}")
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor):
            raise TypeError(f"einsum(): operand {i} must be a Tensor, not {type(t).__name__}")

    key = (subscripts, *[t.shape for t in operands])
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(subscripts, key[1:])
    first, pairs, summed = plan
    x = _taken(operands[0], first)
    for t, (taken, swapped, for_x, for_y, multiply, shape, places) in zip(operands[1:], pairs, strict=True):
        y = _taken(t, taken)
        if swapped:
            x, y = y, x
        x = multiply(_made_ready(x, for_x), _made_ready(y, for_y)).reshape(shape)
        if places:
            x = x.permute(places)
    return x.sum(summed) if summed else x


_plans: dict = {}  # what was worked out for subscripts and shapes
_MOST_PLANS = 256


def _taken(t, how):
    """An operand with every subscript once, in the order in which results are made."""
    diagonals, places = how
    for d, e in diagonals:
        t = t.diagonal(0, d, e).movedim(-1, d)  # into the place of the first
    return t.permute(places)


def _made_ready(t, how):
    """What goes into a product, in the shape that it takes there."""
    squeezed, summed, places, shape = how
    if squeezed:
        t = t.squeeze(squeezed)
    if summed:
        t = t.sum(summed, dtype=t.dtype)
    if places:
        t = t.permute(places)
    return t.reshape(shape)


def _plan(subscripts, shapes):
    """How to take the first operand; a product for each of the others; dimensions to sum over at the end."""
    if isinstance(subscripts, str):
        inputs, output = _from_equation(subscripts, len(shapes))
    else:
        inputs, output = subscripts
    sizes: dict[int, int] = {}
    terms = [_resolve(i, shape, labels, sizes) for i, (shape, labels) in enumerate(zip(shapes, inputs, strict=True))]
    result = _expand_output(output, inputs, sizes)
    # In the output's order from the start, so that results lie in memory as they are to be returned.
    order = [*result, *sorted(sizes.keys() - set(result))]
    taken, operands = [], []
    for labels, shape, diagonals in terms:
        places = _places(labels, order)
        taken.append((diagonals, places))
        operands.append(_Operand([labels[d] for d in places], [shape[d] for d in places]))
    x, pairs = operands[0], []
    for i, y in enumerate(operands[1:], 1):
        needed = set(result).union(*(later.labels for later in operands[i + 1 :]))
        x, product = _plan_product(x, y, needed, order)
        pairs.append((taken[i], *product))
    return taken[0], pairs, [d for d, s in enumerate(x.labels) if s not in result]


def _places(labels, order):
    """Where the subscripts stand that come in this order."""
    return [labels.index(s) for s in order if s in labels]


class _Operand:
    """Subscripts and sizes of the dimensions of an operand or a product, all in one order."""

    def __init__(self, labels, shape):
        self.labels, self.shape = labels, shape

    def size(self, label):
        return self.shape[self.labels.index(label)]

    def without(self, dropped):
        """Takes dimensions out; returns where they stood."""
        places = [d for d, s in enumerate(self.labels) if s in dropped]
        self.shape = [n for n, s in zip(self.shape, self.labels, strict=True) if s not in dropped]
        self.labels = [s for s in self.labels if s not in dropped]
        return places

    def wider_in(self, other):
        """Subscripts of size 1 here and of another one there: they broadcast."""
        return [s for s in self.labels if s in other.labels and self.size(s) == 1 != other.size(s)]


def _plan_product(x, y, needed, order):
    """The product of two operands, summed over subscripts that are not in ``needed``: it, and how to come by it."""
    x, y = _Operand(x.labels, x.shape), _Operand(y.labels, y.shape)
    wide_x, wide_y = x.wider_in(y), y.wider_in(x)
    squeezed_x, squeezed_y = x.without(wide_x), y.without(wide_y)
    summed_x = x.without([s for s in x.labels if s not in needed and s not in y.labels])
    summed_y = y.without([s for s in y.labels if s not in needed and s not in x.labels])
    batch = [s for s in x.labels if s in y.labels and s in needed]
    summed = [s for s in x.labels if s in y.labels and s not in needed]
    left = [s for s in x.labels if s not in y.labels]
    right = [s for s in y.labels if s not in x.labels]
    if not summed:
        labels = [s for s in order if s in x.labels or s in y.labels]
        shape_x, shape_y = ([t.size(s) if s in t.labels else 1 for s in labels] for t in (x, y))
        shape = [(x if s in x.labels else y).size(s) for s in labels]
        for_x, for_y = (squeezed_x, summed_x, None, shape_x), (squeezed_y, summed_y, None, shape_y)
        return _Operand(labels, shape), (False, for_x, for_y, _C.mul, shape, None)

    swapped = bool(left and right and order.index(right[0]) < order.index(left[0]))
    if swapped:
        x, squeezed_x, summed_x, left, y, squeezed_y, summed_y, right = (
            y, squeezed_y, summed_y, right, x, squeezed_x, summed_x, left
        )  # fmt: skip
    n, rows, columns, k = (_count(map(t.size, part)) for t, part in ((x, batch), (x, left), (y, right), (x, summed)))
    multiply, lead = (_C.bmm, [n]) if batch else (_C.mm, [])
    for_x = squeezed_x, summed_x, _turned(x.labels, [*batch, *left, *summed]), [*lead, rows, k]
    for_y = squeezed_y, summed_y, _turned(y.labels, [*batch, *summed, *right]), [*lead, k, columns]
    labels = [*batch, *left, *right]
    sizes = {s: t.size(s) for t in (x, y) for s in t.labels}
    product = _Operand([s for s in order if s in labels], [sizes[s] for s in order if s in labels])
    shape = [sizes[s] for s in labels]
    return product, (swapped, for_x, for_y, multiply, shape, _turned(labels, order))


def _turned(labels, order):
    """Where the subscripts stand that come in this order; None where they come in it already."""
    places = _places(labels, order)
    return None if places == sorted(places) else places


def _split_lists(args):
    """Subscripts (those of operands, and the output's or None) and operands of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    output = _from_list(args[-1]) if len(args) % 2 else None
    operands, lists = args[0 : len(args) // 2 * 2 : 2], args[1::2]
    return (tuple(_from_list(subscripts) for subscripts in lists), output), operands


def _from_list(subscripts):
    if not isinstance(subscripts, (list, tuple)):
        raise TypeError(
            f"einsum(): expected a list of subscripts after an operand, got {type(subscripts).__name__}\n"
            "  hint: einsum(a, [0, 1], b, [1, 2], [0, 2]), or begin with an equation in a string"
        )
    for s in subscripts:
        if s is not Ellipsis and not (isinstance(s, int) and 0 <= s < len(_LETTERS)):
            raise ValueError(f"einsum(): subscript {s!r} in a list is not within the valid range [0, {len(_LETTERS)})")
    if (count := subscripts.count(Ellipsis)) > 1:
        raise RuntimeError(f"einsum(): {count} ellipses in {list(subscripts)}, but there may be one")
    return tuple(subscripts)


def _from_equation(equation, count):
    """The operands' subscripts and the output's (or None), of "ij,jk->ik"."""
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != count:
        few = "fewer" if count < len(parts) else "more"
        raise RuntimeError(
            f"einsum(): {few} operands were provided than specified in the equation: "
            f"'{equation}' is for {len(parts)}, got {count}"
        )
    return [_from_text(p, equation) for p in parts], _from_text(right, equation) if arrow else None


def _from_text(part, equation):
    before, dots, after = part.partition("...")
    for text in (before, after):
        for c in text:
            if c == ".":
                more = "an ellipsis was already found" if dots else "it is not part of an ellipsis"
                raise RuntimeError(f"einsum(): found '.' in '{part}' of '{equation}', but {more} (...)")
            if c != " " and c not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript {c!r} in '{part}' of '{equation}': subscripts must be in [a-zA-Z]"
                )
    one, other = ([_LETTERS.index(c) for c in text if c != " "] for text in (before, after))
    return [*one, Ellipsis, *other] if dots else one


def _name(label):
    return f"subscript '{_LETTERS[label]}'" if label >= 0 else f"dimension {label} of the ellipsis"


def _resolve(i, shape, labels, sizes):
    """Subscripts, each once, their sizes, and what diagonals to take of operand ``i``; notes sizes in ``sizes``."""
    given = tuple(shape)
    covered = len(shape) - sum(s is not Ellipsis for s in labels)
    if covered < 0 or (covered and Ellipsis not in labels):
        raise RuntimeError(
            f"einsum(): the number of subscripts ({len(shape) - covered}) does not match the number of dimensions "
            f"({len(shape)}) of operand {i} with shape {given}"
            + ("\n  hint: an ellipsis (...) stands for dimensions without a subscript" if covered > 0 else "")
        )
    labels, shape, diagonals = _spread(labels, covered), list(shape), []
    d = 0
    while d < len(labels):
        again = labels.index(labels[d])
        if again == d:
            d += 1
            continue
        if shape[again] != shape[d]:
            raise RuntimeError(
                f"einsum(): {_name(labels[d])} is repeated for operand {i} with shape {given}, "
                f"but the sizes don't match, {shape[d]} != {shape[again]}"
            )
        diagonals.append((again, d))
        del labels[d], shape[d]
    for s, size in zip(labels, shape, strict=True):
        seen = sizes.setdefault(s, size)
        if seen == 1:
            sizes[s] = size
        elif size not in (1, seen):
            raise RuntimeError(
                f"einsum(): {_name(s)} has size {size} in operand {i} with shape {given}, "
                f"which does not broadcast with its size {seen} before"
            )
    return labels, shape, diagonals


def _spread(labels, covered):
    """The subscripts with the ellipsis replaced by those of the dimensions that it covers."""
    if Ellipsis not in labels:
        return list(labels)
    at = labels.index(Ellipsis)
    return [*labels[:at], *range(-covered, 0), *labels[at + 1 :]]


def _expand_output(output, inputs, sizes):
    covered = max(0, -min(sizes, default=0))
    if output is None:
        given = [s for labels in inputs for s in labels if s is not Ellipsis]
        return [*range(-covered, 0), *sorted(s for s in given if given.count(s) == 1)]
    output = _spread(output, covered)
    for s in output:
        if output.count(s) > 1:
            raise RuntimeError(f"einsum(): output {_name(s)} appears more than once in the output")
        if s not in sizes:
            raise RuntimeError(f"einsum(): output {_name(s)} does not appear in any operand's subscripts")
    return output


def _count(shape):
    result = 1
    for size in shape:
        result *= size
    return result


@overridable
def tensordot(a, b, dims=2, out=None):
    """The sum of products over several dimensions of two tensors at once.

    Args:
        a, b: Tensors of one dtype.
        dims: how many dimensions to sum over, the last of ``a`` with the first of ``b``; or two lists, the dimensions
            of ``a`` and those of ``b`` that go with them. A tensor of either form will do.

    Returns:
        A Tensor with the remaining dimensions of ``a``, then those of ``b``.

    Raises:
        RuntimeError: sizes or dtypes do not match, or the lists' lengths, or a dimension appears twice.
        IndexError: there is no such dimension.

    >>> import rushlight as rl
    >>> a, b = rl.ones(3, 4, 5), rl.ones(4, 3, 2)
    >>> rl.tensordot(a, b, dims=([1, 0], [0, 1])).shape
    torch.Size([5, 2])
    """
    of_a, of_b = _contracted_dims(a, b, dims)
    if a.dtype != b.dtype:
        raise RuntimeError(f"tensordot: both inputs should have same dtype, got {a.dtype} and {b.dtype}")
    for d, e in zip(list(of_a), list(of_b), strict=True):
        n, m = a.shape[d], b.shape[e]
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but {tuple(a.shape)} has size {n} in dim {d} "
                f"and {tuple(b.shape)} has size {m} in dim {e}"
            )
        if n != m:  # a single element against several: the sum of these
            a, b = (a, b.sum(e, keepdim=True)) if n == 1 else (a.sum(d, keepdim=True), b)
    rest_a = [d for d in range(a.dim()) if d not in of_a]
    rest_b = [d for d in range(b.dim()) if d not in of_b]
    shape_a, shape_b = [a.shape[d] for d in rest_a], [b.shape[d] for d in rest_b]
    inner = _count([a.shape[d] for d in of_a])
    product = _C.mm(
        a.permute(rest_a + of_a).reshape(_count(shape_a), inner),
        b.permute(of_b + rest_b).reshape(inner, _count(shape_b)),
    ).reshape(shape_a + shape_b)
    if out is None:
        return product
    if out.dtype != product.dtype:
        raise RuntimeError(f"tensordot: out= is of dtype {out.dtype}, but the result is of {product.dtype}")
    return _C.mul(product, 1, out=out)


def _contracted_dims(a, b, dims):
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int) and not isinstance(dims, bool):
        if dims < 0 or dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot: dims is {dims}, but must be from 0 to the number of dimensions: "
                f"the shapes are {tuple(a.shape)} and {tuple(b.shape)}"
            )
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    if not isinstance(dims, (list, tuple)):
        raise RuntimeError(
            f"tensordot: expects dims to be a number or two lists of dimensions, got {dims!r}\n"
            "  hint: dims=([1, 0], [0, 1]) sums over dimension 1 of a with 0 of b, and 0 of a with 1 of b"
        )
    if len(dims) != 2:
        raise ValueError(f"tensordot: dims holds {len(dims)} values, expected two lists, of a's dimensions and of b's")
    if not all(isinstance(d, (list, tuple)) for d in dims):
        raise TypeError(f"tensordot: dims holds {dims!r}, expected two lists, of a's dimensions and of b's")
    of_a, of_b = (_wrapped(t, d) for t, d in zip((a, b), dims, strict=True))
    if len(of_a) != len(of_b):
        raise RuntimeError(f"tensordot: both dimension lists should have same length, got {of_a} and {of_b}")
    return of_a, of_b


def _wrapped(t, dims):
    result = []
    for d in dims:
        if not -t.dim() <= d < t.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-t.dim()}, {t.dim() - 1}], but got {d})"
            )
        d %= t.dim()
        if d in result:
            raise RuntimeError(f"tensordot: dim {d} appears multiple times in the list of dims {list(dims)}")
        result.append(d)
    return result


__all__ = ["einsum", "tensordot"]
