"""autograd.functional: Jacobians and Hessians against matrices worked out by hand."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.autograd import functional as AF

A = np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 2.0]])
X, V, W = np.array([0.3, -1.2, 2.0]), np.array([1.0, -2.0, 0.5]), np.array([2.0, -1.0])


def t(array):
    return rl.from_numpy(np.array(array))


def squares(x):
    """(A x)^2, whose Jacobian is 2 diag(A x) A."""
    return (t(A) @ x) ** 2


JACOBIAN = 2 * (A @ X)[:, None] * A


def cubes(x):
    """The sum of (A x)^3, whose Hessian is 6 A' diag(A x) A."""
    return ((t(A) @ x) ** 3).sum()


HESSIAN = 6 * A.T @ np.diag(A @ X) @ A


def close(got, want):
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)


def test_of_one_tensor():
    close(AF.jacobian(squares, t(X)), JACOBIAN)
    close(AF.hessian(cubes, t(X)), HESSIAN)
    for function, product, expected, v in (
        (AF.vjp, squares, W @ JACOBIAN, W),
        (AF.jvp, squares, JACOBIAN @ V, V),
        (AF.vhp, cubes, V @ HESSIAN, V),
        (AF.hvp, cubes, HESSIAN @ V, V),
    ):
        output, result = function(product, t(X), t(v))
        close(output, product(t(X)).numpy())
        close(result, expected)
        assert not output.requires_grad and not result.requires_grad


def test_structure_of_several():
    def f(x, y):
        return x * y, y.sum()

    x, y = t(X), t(V)
    both = AF.jacobian(f, (x, y))
    close(both[0][0], np.diag(V)), close(both[0][1], np.diag(X))
    close(both[1][0], np.zeros(3)), close(both[1][1], np.ones(3))
    second = AF.hessian(lambda x, y: (x * y).sum(), (x, y))
    close(second[0][1], np.eye(3)), close(second[0][0], np.zeros((3, 3)))
    outputs, products = AF.vjp(f, (x, y), (t(V), t(1.0)))
    assert isinstance(outputs, tuple) and len(products) == 2
    close(products[1], X * V + 1)


def test_results_can_be_differentiated():
    x = t(X).requires_grad_()
    jacobian = AF.jacobian(lambda x: x**3, x, create_graph=True)
    close(rl.autograd.grad(jacobian.sum(), x)[0], 6 * X)
    hessian = AF.hessian(lambda x: (x**4).sum(), x, create_graph=True)
    close(rl.autograd.grad(hessian.sum(), x)[0], 24 * X)
    _, product = AF.jvp(lambda x: x**3, x, t(V), create_graph=True)
    close(rl.autograd.grad(product.sum(), x)[0], 6 * X * V)
    assert x.grad is None


def test_under_no_grad():
    with rl.no_grad():
        close(AF.jacobian(squares, t(X)), JACOBIAN)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: AF.jacobian(lambda x: rl.ones(2), x, strict=True), RuntimeError, "does not depend"),
        (lambda x: AF.vjp(lambda a, b: a, (x, x), x, strict=True), RuntimeError, "do not depend on input 1"),
        (lambda x: AF.hessian(lambda x: x, x), RuntimeError, r"one element, got \(3,\)\n  hint: sum it up"),
        (lambda x: AF.vjp(lambda x: x, x), RuntimeError, "v may be left away only where the outputs"),
        (lambda x: AF.vjp(lambda x: x, x, rl.ones(2)), RuntimeError, r"\(2,\) does not fit the outputs' \(3,\)"),
        (lambda x: AF.jvp(lambda x: x, x, (x, x)), RuntimeError, "v has 2 tensors, the inputs have 1"),
        (lambda x: AF.jacobian(lambda x: 3, x), TypeError, "what func gives must be a Tensor.*got int"),
        (lambda x: AF.jacobian(lambda x: x, 3), TypeError, "inputs must be a Tensor.*got int"),
        (lambda x: AF.jacobian(lambda x: x, x, strategy="odd"), ValueError, "'odd'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(t(X))
