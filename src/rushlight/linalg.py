"""Linear algebra, under the names of PyTorch's ``torch.linalg``.

Matrices are the last two dimensions of tensors of float32 or float64; further dimensions make batches of them. What
cannot be done for a matrix, because it is singular say, raises :class:`LinAlgError`. The decompositions compute in
float64 and round once.

>>> import rushlight as rl
>>> a = rl.tensor([[2.0, 1.0], [1.0, 3.0]])
>>> rl.linalg.solve(a, rl.tensor([3.0, 4.0]))
tensor([1., 1.])
"""

from __future__ import annotations

from collections import namedtuple
from math import inf, nan

from . import _C
from ._autocast import in_float32, in_lower_precision
from ._C import Tensor, matmul
from ._C import linalg_cross as cross
from ._C import linalg_det as det
from ._C import linalg_lu as lu
from ._C import linalg_matrix_exp as matrix_exp
from ._C import linalg_qr as qr
from ._C import linalg_slogdet as slogdet
from ._composites import products
from ._composites.sets import _into
from ._creation import eye
from ._decorators import wraps
from ._finfo import finfo
from ._types import contiguous_format
from .overrides import overridable


class LinAlgError(RuntimeError):
    """A matrix for which there is no result: singular, not positive definite, or not finite."""


def _results(name, fields):
    return namedtuple(name, fields)


def _of_matrix(function):
    """Lets the first argument be given as ``A=`` too."""

    @wraps(function)
    def called(*args, A=None, **kwargs):
        return function(*args, **kwargs) if A is None else function(A, *args, **kwargs)

    return overridable(called)


def _check(name, info, problem):
    """Raises where ``info`` says that something failed."""
    if info.device.type == "meta" or not info.numel() or not bool(info.any()):
        return
    failed = info.reshape(-1).tolist()
    which = next(i for i, code in enumerate(failed) if code)
    where = f" of matrix {which} of the batch" if info.dim() else ""
    raise LinAlgError(f"linalg.{name}: {problem.format(failed[which])}{where}")


def _into_columns(out, found):
    """``found``, written to ``out`` if that is given, resized column by column, as ``found`` lies."""
    if out is None or out.shape == found.shape or found.dim() < 2:
        return _into(out, found, True)
    _C._written(found.mT, True, out=out)
    return out.transpose_(-2, -1)


def _norm_of_vectors(x, ord, dim, keepdim, dtype, out):
    result = x.dtype if dtype is None else dtype
    if out is not None and out.dtype != result:
        raise RuntimeError(f"out= is {out.dtype}, the norm {result}\n  hint: give a tensor of the result's dtype")
    return _C.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


_SINGULAR = "the matrix is singular: pivot {} is zero"


# -- Norms ------------------------------------------------------------------------------------------------------------


@overridable
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """``sum(|x| ** ord) ** (1 / ord)`` of all elements, or over dimensions.

    Args:
        x: of floating point dtype.
        ord: a number; inf gives the largest magnitude, -inf the smallest, 0 the number of nonzero elements.
        dim: an int or several; None takes all elements.
        keepdim: leave reduced dimensions at size 1.
        dtype: convert to it first.

    >>> import rushlight as rl
    >>> rl.linalg.vector_norm(rl.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return _norm_of_vectors(x, ord, dim, keepdim, dtype, out)


@_of_matrix
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """A norm of matrices.

    Args:
        A: of floating point dtype, with at least two dimensions.
        ord: "fro", the root of the sum of squares; "nuc", the sum of singular values; inf or -inf, the largest or
            smallest row sum of magnitudes; 1 or -1, the same of columns; 2 or -2, the largest or smallest singular
            value.
        dim: which two dimensions are the matrices.

    >>> import rushlight as rl
    >>> rl.linalg.matrix_norm(rl.tensor([[1.0, -2.0], [3.0, 4.0]]), rl.inf)
    tensor(7.)
    """
    if A.dim() < 2:
        raise RuntimeError(f"linalg.matrix_norm: expects at least two dimensions, got shape {tuple(A.shape)}")
    if not A.is_floating_point():
        raise RuntimeError(f"linalg.matrix_norm is for floating point only, not {A.dtype}")
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be two dimensions, got {dim}")
    row, column = (d + A.dim() if d < 0 else d for d in dim)
    if not (0 <= row < A.dim() and 0 <= column < A.dim()):
        raise IndexError(f"linalg.matrix_norm: dim is {tuple(dim)}, the tensor has {A.dim()} dimensions")
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: the two dimensions must differ, got {tuple(dim)}")
    if ord == "fro":
        return _norm_of_vectors(A, 2, (row, column), keepdim, dtype, out)
    A = A if dtype is None else A.to(dtype)
    if ord in ("nuc", 2, -2):
        order = [*(d for d in range(A.dim()) if d not in (row, column)), row, column]
        s = svdvals(A.permute(order))
        found = s.sum(-1, keepdim) if ord == "nuc" else s.amax(-1, keepdim) if ord == 2 else s.amin(-1, keepdim)
        if keepdim:
            found = found.unsqueeze(-1).permute([order.index(d) for d in range(A.dim())])
    elif ord in (1, -1, inf, -inf):
        along, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = _C.linalg_vector_norm(A, 1, along, keepdim)
        if not keepdim and other > along:
            other -= 1
        found = sums.amax(other, keepdim) if ord > 0 else sums.amin(other, keepdim)
    else:
        raise RuntimeError(
            f"linalg.matrix_norm: there is no norm {ord!r}\n  hint: one of fro, nuc, inf, -inf, 1, -1, 2, -2"
        )
    return _into(out, found, True)


@_of_matrix
def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """A vector norm or a matrix norm, depending on ``ord`` and ``dim``.

    Args:
        A: of floating point dtype.
        ord: as in :func:`vector_norm` for one dimension, as in :func:`matrix_norm` for two; None is the 2-norm of all
            elements, whatever their dimensions.
        dim: one dimension, two, or None for all.

    >>> import rushlight as rl
    >>> rl.linalg.norm(rl.tensor([[3.0, 4.0]]))
    tensor(5.)
    """
    if isinstance(dim, (tuple, list)) and ord is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: dim must be one or two dimensions, got {dim}")
    if dim is None and ord is not None and A.dim() not in (1, 2) and not isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: ord={ord} needs dim for a tensor of shape {tuple(A.shape)}")
    pair = isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is not None and (pair or isinstance(ord, str) or (dim is None and A.dim() == 2)):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype, out=out)
    return _norm_of_vectors(A, 2 if ord is None else ord, dim, keepdim, dtype, out)


@_of_matrix
@in_float32
def cond(A, p=None, *, out=None):
    """The condition numbers of matrices: the norm ``p`` times that of the inverse; None is the 2-norm.

    >>> import rushlight as rl
    >>> rl.linalg.cond(rl.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    if p in (None, 2, -2):
        s = svdvals(A)
        found = s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    else:
        inverse, info = _C.linalg_inv_ex(A)
        found = matrix_norm(A, p) * matrix_norm(inverse, p)
        found = found.masked_fill(info != 0, inf)
    return _into(out, found)


# -- Inverses and systems of equations --------------------------------------------------------------------------------


@_of_matrix
def inv(A, *, out=None):
    """The inverses of square matrices.

    Raises:
        LinAlgError: a matrix is singular.

    >>> import rushlight as rl
    >>> rl.linalg.inv(rl.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    inverse, info = _C.linalg_inv_ex(A)
    _check("inv", info, _SINGULAR)
    return _into_columns(out, inverse)


@_of_matrix
def inv_ex(A, *, check_errors=False, out=None):
    """(inverse, info): as :func:`inv`, with what failed in ``info`` instead of an error, unless ``check_errors``."""
    found = _C.linalg_inv_ex(A, out=out)
    if check_errors:
        _check("inv_ex", found[1], _SINGULAR)
    return found


@_of_matrix
def solve(A, B, *, left=True, out=None):
    """The solution of ``A X = B``, or of ``X A = B`` if not ``left``.

    Args:
        A: square matrices (*, n, n).
        B: (*, n, k); a vector (n), or a batch of vectors of shape ``A.shape[:-1]``.

    Raises:
        LinAlgError: a matrix is singular.

    >>> import rushlight as rl
    >>> rl.linalg.solve(rl.tensor([[2.0, 0.0], [0.0, 4.0]]), rl.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    found, info = _C.linalg_solve_ex(A, B, left=left)
    _check("solve", info, _SINGULAR)
    return _into_columns(out, found)


@_of_matrix
def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """(result, info): as :func:`solve`, with what failed in ``info`` instead of an error, unless ``check_errors``."""
    found = _C.linalg_solve_ex(A, B, left=left, out=out)
    if check_errors:
        _check("solve_ex", found[1], _SINGULAR)
    return found


@_of_matrix
def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """The solution of ``A X = B`` (``X A = B`` if not ``left``) for a triangle A.

    Args:
        A: (*, n, n), of which one triangle is read.
        B: (*, n, k).
        upper: whether it is the upper one.
        unitriangular: take the diagonal to be ones, and do not read it.

    >>> import rushlight as rl
    >>> a = rl.tensor([[1.0, 2.0], [0.0, 4.0]])
    >>> rl.linalg.solve_triangular(a, rl.tensor([[4.0], [4.0]]), upper=True)
    tensor([[2.],
            [1.]])
    """
    found = _C.linalg_solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)
    return _into_columns(out, found)


_lstsq_result = _results("linalg_lstsq", "solution residuals rank singular_values")


@_of_matrix
@in_float32
def lstsq(A, B, rcond=None, *, driver=None):
    """The X with the least norm among those for which the norm of ``A X - B`` is least.

    Args:
        A: (*, m, n).
        B: (*, m, k), or (*, m) for vectors.
        rcond: singular values below ``rcond`` times the largest count as zero.
        driver: accepted for PyTorch's sake; singular values are used if a matrix has not full rank, else QR.

    Returns:
        (solution, residuals, rank, singular_values); residuals, the sums of squares, are there if m > n and the rank
        is full; singular_values are left empty.
    """
    vectors = B.dim() == 1 or (B.dim() == A.dim() - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vectors else B
    m, n = A.shape[-2:]
    rank = matrix_rank(A.detach(), rtol=rcond)
    full = bool((rank == min(m, n)).all())
    if not full:
        solution = matmul(pinv(A, rtol=rcond), right)
    elif m >= n:
        q, r = _C.linalg_qr(A)
        solution = _C.linalg_solve_triangular(r, matmul(q.mT, right), upper=True)
    else:
        q, r = _C.linalg_qr(A.mT)
        solution = matmul(q, _C.linalg_solve_triangular(r.mT, right, upper=False))
    residuals = (matmul(A, solution) - right).square().sum(-2) if full and m > n else A.new_empty(0)
    return _lstsq_result(solution.squeeze(-1) if vectors else solution, residuals, rank, A.new_empty(0))


@_of_matrix
@in_float32
def pinv(A, *, atol=None, rtol=None, hermitian=False, out=None):
    """The pseudo-inverses of Moore and Penrose of matrices (*, m, n): (*, n, m).

    Args:
        atol, rtol: singular values up to max(atol, rtol * the largest) count as zero; rtol is max(m, n) times the
            dtype's eps unless one of them is given.
        hermitian: A is symmetric.

    >>> import rushlight as rl
    >>> rl.linalg.pinv(rl.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    u, s, vh = _C.linalg_svd(A, False)
    kept = s > _threshold(A, s, atol, rtol)
    inverse = _C.where(kept, 1 / _C.where(kept, s, s.new_ones(())), s.new_zeros(()))
    found = matmul(vh.mT * inverse.unsqueeze(-2), u.mT)
    return _into(out, found)


def _threshold(A, s, atol, rtol):
    if rtol is None:
        rtol = 0.0 if atol is not None else max(A.shape[-2:]) * finfo(A.dtype).eps
    limit = s.detach().amax(-1, keepdim=True) * rtol if s.shape[-1] else s.new_zeros(())
    return limit if atol is None else limit.clamp(min=atol) if not isinstance(atol, Tensor) else limit.maximum(atol)


@_of_matrix
@in_float32
def matrix_rank(A, tol=None, *, atol=None, rtol=None, hermitian=False, out=None):
    """How many singular values are above a threshold; for the arguments see :func:`pinv`. ``tol`` is ``atol``.

    >>> import rushlight as rl
    >>> rl.linalg.matrix_rank(rl.ones(3, 3))
    tensor(1)
    """
    s = svdvals(A.detach())
    found = (s > _threshold(A, s, tol if atol is None else atol, rtol)).sum(-1)
    return _into(out, found)


# -- Decompositions ---------------------------------------------------------------------------------------------------

_NOT_POSITIVE = "the matrix is not positive definite: the leading minor of order {} is not positive"


@_of_matrix
def cholesky(A, *, upper=False, out=None):
    """Cholesky's decomposition of symmetric positive definite matrices: L with ``A = L @ L.mT``.

    Args:
        A: (*, n, n), of which the lower triangle is read, or the upper one if ``upper``.
        upper: give U with ``A = U.mT @ U``.

    Raises:
        LinAlgError: a matrix is not positive definite.

    >>> import rushlight as rl
    >>> rl.linalg.cholesky(rl.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    found, info = _C.linalg_cholesky_ex(A, upper=upper)
    _check("cholesky", info, _NOT_POSITIVE)
    return _into_columns(out, found)


@_of_matrix
def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """(L, info): as :func:`cholesky`, with what failed in ``info`` instead of an error, unless ``check_errors``."""
    found = _C.linalg_cholesky_ex(A, upper=upper, out=out)
    if check_errors:
        _check("cholesky_ex", found[1], _NOT_POSITIVE)
    return found


@_of_matrix
def svd(A, full_matrices=True, *, driver=None, out=None):
    """Singular values and vectors: (U, S, Vh) with ``A = U @ diag(S) @ Vh``.

    Args:
        A: (*, m, n).
        full_matrices: give U and Vh square; else with min(m, n) columns and rows. U and Vh have derivatives without
            it only.

    Raises:
        LinAlgError: a matrix is not finite.

    >>> import rushlight as rl
    >>> rl.linalg.svd(rl.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    _check_finite("svd", A)
    return _C.linalg_svd(A, full_matrices, out=out)


def _check_finite(name, A):
    if A.device.type != "meta" and A.is_floating_point() and not bool(A.detach().isfinite().all()):
        raise LinAlgError(f"linalg.{name}: the matrix holds values that are not finite")


@_of_matrix
def svdvals(A, *, driver=None, out=None):
    """The singular values of matrices, descending.

    >>> import rushlight as rl
    >>> rl.linalg.svdvals(rl.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    _check_finite("svdvals", A)
    found = _C.linalg_svd(A, False)[1]
    return _into(out, found, True)


@_of_matrix
def eigh(A, UPLO="L", *, out=None):
    """(eigenvalues, eigenvectors) of symmetric matrices: ascending, and in columns.

    Args:
        A: (*, n, n).
        UPLO: "L" or "U", the triangle that is read.

    >>> import rushlight as rl
    >>> rl.linalg.eigh(rl.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    return _C.linalg_eigh(A, UPLO, out=out)


@_of_matrix
def eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues of symmetric matrices, ascending.

    >>> import rushlight as rl
    >>> rl.linalg.eigvalsh(rl.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    found = _C.linalg_eigh(A, UPLO)[0]
    return _into(out, found, True)


_lu_factor_result = _results("linalg_lu_factor", "LU pivots")


@_of_matrix
def lu_factor(A, *, pivot=True, out=None):
    """(LU, pivots): L and U of ``A = P L U`` in one matrix, and which rows were exchanged, counted from 1.

    Raises:
        RuntimeError: a matrix is singular, so that :func:`lu_solve` could not use the result.
    """
    if not pivot:
        raise NotImplementedError("linalg.lu_factor: pivot=False is not there yet")
    factors, pivots, info = _C.linalg_lu_factor_ex(A)
    _check("lu_factor", info, _SINGULAR)
    if out is not None:
        return _lu_factor_result(_into(out[0], factors), _into(out[1], pivots))
    return _lu_factor_result(factors, pivots)


@_of_matrix
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """(LU, pivots, info): as :func:`lu_factor`, with what failed in ``info`` instead of an error."""
    if not pivot:
        raise NotImplementedError("linalg.lu_factor_ex: pivot=False is not there yet")
    found = _C.linalg_lu_factor_ex(A, out=out)
    if check_errors:
        _check("lu_factor_ex", found[2], _SINGULAR)
    return found


@overridable
@in_float32
def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """The solution of ``A X = B`` (``X A = B`` if not ``left``) from :func:`lu_factor`'s result for A.

    Args:
        adjoint: solve with A transposed.
    """
    p, lower, upper = lu_unpack(LU, pivots)
    if adjoint == left:  # the transposed system, from the left: U^T L^T P^T x = b
        b = B if left else B.mT
        y = _C.linalg_solve_triangular(upper.mT, b, upper=False)
        y = matmul(p, _C.linalg_solve_triangular(lower.mT, y, upper=True, unitriangular=True))
    else:
        b = matmul(p.mT, B if left else B.mT)
        y = _C.linalg_solve_triangular(lower, b, upper=False, unitriangular=True)
        y = _C.linalg_solve_triangular(upper, y, upper=True)
    found = y if left else y.mT
    return _into(out, found, True)


_lu_unpack_result = _results("lu_unpack", "P L U")


@overridable
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """(P, L, U) from :func:`lu_factor`'s result."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    lower = LU_data[..., :k].tril(-1) + eye(m, k, dtype=LU_data.dtype) if unpack_data else LU_data.new_empty(0)
    upper = LU_data[..., :k, :].triu() if unpack_data else LU_data.new_empty(0)
    return _lu_unpack_result(
        _C._permutation(LU_pivots, LU_data) if unpack_pivots else LU_data.new_empty(0), lower, upper
    )


# -- Products ---------------------------------------------------------------------------------------------------------


@_of_matrix
def matrix_power(A, n, *, out=None):
    """Square matrices to the power of an integer, by repeated squaring; a negative one inverts first.

    >>> import rushlight as rl
    >>> rl.linalg.matrix_power(rl.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"linalg.matrix_power: expects square matrices, got shape {tuple(A.shape)}")
    if not isinstance(n, int):
        raise TypeError(f"matrix_power(): n must be an int, not {type(n).__name__}")
    if n == 0:
        found = A.clone(memory_format=contiguous_format).copy_(
            eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(A.shape)
        )
        return _into(out, found)
    base = inv(A) if n < 0 else A
    n, found = abs(n), None
    if n == 1:
        return _into(out, base.clone(memory_format=contiguous_format) if base is A else base)
    while True:
        if n & 1:
            found = base if found is None else matmul(found, base)
        n >>= 1
        if not n:
            break
        base = matmul(base, base)
    return _into(out, found, True)


@overridable
def multi_dot(tensors, *, out=None):
    """The product of several matrices, nested so that it takes fewest multiplications; the first and the last may be
    vectors.

    >>> import rushlight as rl
    >>> rl.linalg.multi_dot([rl.ones(2, 3), rl.ones(3, 4), rl.ones(4)])
    tensor([12., 12.])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"linalg.multi_dot: expects at least two tensors, got {len(tensors)}")
    return products._multi_dot("linalg.multi_dot", tensors, out)


@overridable
@in_lower_precision
def vecdot(x, y, *, dim=-1, out=None):
    """Sums of products along a dimension.

    >>> import rushlight as rl
    >>> rl.linalg.vecdot(rl.tensor([[1.0, 2.0], [3.0, 4.0]]), rl.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    found = _C.vdot(x, y) if x.dim() == 1 == y.dim() else _C.mul(x, y).sum(dim)
    return _into(out, found, True)


@_of_matrix
def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view.

    >>> import rushlight as rl
    >>> rl.linalg.diagonal(rl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


@overridable
def vander(x, *, N=None):
    """The powers 0 to N - 1 of vectors' elements, in a new last dimension.

    >>> import rushlight as rl
    >>> rl.linalg.vander(rl.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    n = x.shape[-1] if N is None else N
    if n < 2:
        raise RuntimeError(f"linalg.vander: N must be at least 2, got {n}")
    powers = x.unsqueeze(-1).expand(*x.shape, n - 1).cumprod(-1)
    return _C.cat([powers.new_ones((*x.shape, 1)), powers], -1)


@_of_matrix
@in_float32
def tensorinv(A, ind=2, *, out=None):
    """The inverse of what ``A``, with ``ind`` dimensions of rows, does by tensordot()."""
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: ind must be positive, got {ind}")
    rows, columns = A.shape[:ind], A.shape[ind:]
    if rows.numel() != columns.numel():
        raise RuntimeError(f"linalg.tensorinv: {tuple(rows)} and {tuple(columns)} do not have equally many elements")
    found = inv(A.reshape(rows.numel(), -1)).reshape(*columns, *rows)
    return _into(out, found, True)


# -- What PyTorch has beside linalg -----------------------------------------------------------------------------------


@overridable
def logdet(input):
    """The logarithm of determinants; NaN where one is negative, -inf where it is 0.

    >>> import rushlight as rl
    >>> rl.logdet(rl.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor(0.)
    """
    sign, magnitude = _C.linalg_slogdet(input)
    return _C.where(sign == -1, magnitude.new_full((), nan), magnitude)


@overridable
def _cholesky(input, upper=False, *, out=None):
    """:func:`rushlight.linalg.cholesky` under its older name."""
    found, info = _C._cholesky(input, upper)
    _check("cholesky", info, _NOT_POSITIVE)
    return _into(out, found)


_svd_result = _results("svd", "U S V")


@overridable
def _svd(input, some=True, compute_uv=True, *, out=None):
    """(U, S, V) with ``input = U @ diag(S) @ V.mT``: :func:`rushlight.linalg.svd` with V instead of its transpose.

    Args:
        some: give as many columns as there are singular values; else make U and V square.
        compute_uv: if not, U and V are zeros.
    """
    _check_finite("svd", input)
    u, s, vh = _C.linalg_svd(input, not some)
    found = _svd_result(u, s, vh.mT)
    if not compute_uv:
        m, n = input.shape[-2:]
        found = _svd_result(u.new_zeros((*s.shape[:-1], m, m)), s, u.new_zeros((*s.shape[:-1], n, n)))
    return found if out is None else _svd_result(*(_into(o, r) for o, r in zip(out, found, strict=True)))


@overridable
def _qr(input, some=True, *, out=None):
    """(Q, R): :func:`rushlight.linalg.qr`; Q is square unless ``some``."""
    return _C.linalg_qr(input, "reduced" if some else "complete", out=out)


_triangular_solve_result = _results("triangular_solve", "solution cloned_coefficient")


@overridable
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """(X, a copy of A) with ``A @ X = input`` for a triangle A, or with its transpose:
    :func:`rushlight.linalg.solve_triangular` under its older name."""
    t, above = (A.mT, not upper) if transpose else (A, upper)
    found = _C.linalg_solve_triangular(t, input, upper=above, unitriangular=unitriangular)
    return _triangular_solve_result(found, A.clone())


def _lacking(name, what):
    def function(*args, **kwargs):
        raise NotImplementedError(f"linalg.{name} is not there yet: {what}; see docs/differences.md")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Not there yet: {what}."
    return function


eig = _lacking("eig", "its results are complex")
eigvals = _lacking("eigvals", "its results are complex")
householder_product = _lacking("householder_product", "qr() gives Q itself")
ldl_factor = _lacking("ldl_factor", "lu_factor() takes any square matrix")
ldl_solve = _lacking("ldl_solve", "lu_solve() takes any square matrix")
tensorsolve = _lacking("tensorsolve", "tensorinv() with tensordot() does the same")

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
