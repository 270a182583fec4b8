"""Tensor's methods that are functions of rushlight.linalg, which is imported when the first of them is called."""

from __future__ import annotations

from .._C import Tensor


def _method(name, function):
    def method(self, *args, **kwargs):
        from .. import linalg

        return getattr(linalg, function)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"See :func:`rushlight.{name}`."
    return method


_METHODS = {
    "cholesky": "_cholesky",
    "det": "det",
    "inverse": "inv",
    "logdet": "logdet",
    "matrix_exp": "matrix_exp",
    "matrix_power": "matrix_power",
    "pinverse": "pinv",
    "qr": "_qr",
    "slogdet": "slogdet",
    "svd": "_svd",
    "triangular_solve": "triangular_solve",
}
for _name, _function in _METHODS.items():
    setattr(Tensor, _name, _method(_name, _function))


def _lu_solve(self, LU_data, LU_pivots):
    """The solution of ``A @ x = self``; see :func:`rushlight.linalg.lu_solve`."""
    from .. import linalg

    return linalg.lu_solve(LU_data, LU_pivots, self)


setattr(Tensor, "lu_solve", _lu_solve)  # noqa: B010

__all__: list[str] = []
