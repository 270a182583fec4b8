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
        operands, inputs, output = _from_lists(args)
    else:
        if not isinstance(args[0], str):
            raise TypeError(f"einsum(): the equation must be a str, not {type(args[0]).__name__}")
        operands = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
        inputs, output = _from_equation(args[0], len(operands))
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor):
            raise TypeError(f"einsum(): operand {i} must be a Tensor, not {type(t).__name__}")

    sizes: dict[int, int] = {}
    terms = [_resolve(i, t, labels, sizes) for i, (t, labels) in enumerate(zip(operands, inputs, strict=True))]
    result = _expand_output(output, inputs, sizes)

    # In the output's order from the start, so that results lie in memory as they are to be returned.
    order = [*result, *sorted(sizes.keys() - set(result))]
    terms = [(t.permute(_places(labels, order)), [s for s in order if s in labels]) for t, labels in terms]
    x, labels = terms[0]
    for i, (y, others) in enumerate(terms[1:], 2):
        needed = set(result).union(*(later for _, later in terms[i:]))
        x, labels = _product(x, labels, y, others, needed, order)
    return _sum_out(x, labels, set(result), None)[0]


def _places(labels, order):
    """Where the subscripts stand that come in this order."""
    return [labels.index(s) for s in order if s in labels]


def _permuted(t, labels, order):
    places = _places(labels, order)
    return t if places == sorted(places) else t.permute(places)


def _from_lists(args):
    """Operands, their subscripts and the output's (or None), of einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    output = _from_list(args[-1]) if len(args) % 2 else None
    operands, lists = args[0 : len(args) // 2 * 2 : 2], args[1::2]
    return operands, [_from_list(subscripts) for subscripts in lists], output


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
    return list(subscripts)


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


def _resolve(i, t, labels, sizes):
    """The operand with every subscript once, and its subscripts; notes their sizes in ``sizes``."""
    covered = t.dim() - sum(s is not Ellipsis for s in labels)
    if covered < 0 or (covered and Ellipsis not in labels):
        raise RuntimeError(
            f"einsum(): the number of subscripts ({t.dim() - covered}) does not match the number of dimensions "
            f"({t.dim()}) of operand {i} with shape {tuple(t.shape)}"
            + ("\n  hint: an ellipsis (...) stands for dimensions without a subscript" if covered > 0 else "")
        )
    labels = _spread(labels, covered)
    d = 0
    while d < len(labels):
        again = labels.index(labels[d])
        if again == d:
            d += 1
            continue
        if t.shape[again] != t.shape[d]:
            raise RuntimeError(
                f"einsum(): {_name(labels[d])} is repeated for operand {i} with shape {tuple(t.shape)}, "
                f"but the sizes don't match, {t.shape[d]} != {t.shape[again]}"
            )
        t = t.diagonal(0, again, d).movedim(-1, again)
        del labels[d]
    for s, size in zip(labels, t.shape, strict=True):
        seen = sizes.setdefault(s, size)
        if seen == 1:
            sizes[s] = size
        elif size not in (1, seen):
            raise RuntimeError(
                f"einsum(): {_name(s)} has size {size} in operand {i} with shape {tuple(t.shape)}, "
                f"which does not broadcast with its size {seen} before"
            )
    return t, labels


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


def _sum_out(x, labels, needed, dtype):
    dims = [d for d, s in enumerate(labels) if s not in needed]
    return (x.sum(dims, dtype=dtype), [s for s in labels if s in needed]) if dims else (x, labels)


def _without_broadcast(x, labels, y, others):
    """Takes dimensions of size 1 out of ``x`` where ``y`` has a larger one of the same subscript."""
    for d in range(len(labels) - 1, -1, -1):
        s = labels[d]
        if x.shape[d] == 1 and s in others and y.shape[others.index(s)] != 1:
            x, labels = x.squeeze(d), [*labels[:d], *labels[d + 1 :]]
    return x, labels


def _product(x, labels, y, others, needed, order):
    """The product of two operands, summed over subscripts that are not in ``needed``."""
    whole, its_labels = x, labels
    x, labels = _without_broadcast(x, labels, y, others)
    y, others = _without_broadcast(y, others, whole, its_labels)
    x, labels = _sum_out(x, labels, needed.union(others), x.dtype)
    y, others = _sum_out(y, others, needed.union(labels), y.dtype)
    batch = [s for s in labels if s in others and s in needed]
    summed = [s for s in labels if s in others and s not in needed]
    left = [s for s in labels if s not in others]
    right = [s for s in others if s not in labels]
    if not summed:
        union = [s for s in order if s in labels or s in others]
        x, y = (
            t.reshape([t.shape[own.index(s)] if s in own else 1 for s in union])
            for t, own in ((x, labels), (y, others))
        )
        return x * y, union

    if left and right and order.index(right[0]) < order.index(left[0]):
        x, labels, left, y, others, right = y, others, right, x, labels, left
    x = _permuted(x, labels, [*batch, *left, *summed])
    y = _permuted(y, others, [*batch, *summed, *right])
    of_batch, of_left, inner = _split(x.shape, len(batch), len(left))
    of_right = y.shape[len(batch) + len(summed) :]
    n, rows, columns, k = (_count(shape) for shape in (of_batch, of_left, of_right, inner))
    if batch:
        product = _C.bmm(x.reshape(n, rows, k), y.reshape(n, k, columns))
    else:
        product = _C.mm(x.reshape(rows, k), y.reshape(k, columns))
    product, labels = product.reshape([*of_batch, *of_left, *of_right]), [*batch, *left, *right]
    return _permuted(product, labels, order), [s for s in order if s in labels]


def _split(shape, first, second):
    return shape[:first], shape[first : first + second], shape[first + second :]


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
