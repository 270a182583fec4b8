"""Reading and writing by index, in every mixture, against NumPy; and gradients of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as torch
from tests.helpers import check_bounds

SHAPE = (3, 4, 5)


def array() -> np.ndarray:
    return np.arange(60, dtype=np.float64).reshape(SHAPE)


ONE, TWO = np.array([0, 2, 1]), np.array([[0, 1], [2, 0]])
MASK = array()[:, :, 0] % 10 == 0
MASK3 = array() % 3 == 0

# What one dimension may be indexed by; NumPy and PyTorch agree on all of these.
PARTS: list[Any] = [0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(-2, None), slice(5, 9), slice(2, 1)]
INDEXES: list[Any] = [
    *PARTS,
    None,
    ...,
    (),
    True,
    False,
    (0, 1),
    (0, 1, 2),
    (0, slice(None), 2),
    (slice(1), slice(None), slice(None, None, 3)),
    (..., 0),
    (0, ...),
    (0, ..., 1),
    (None, 0, None, ..., None),
    (slice(None), None, 1),
    (..., None),
    ONE,
    TWO,
    (ONE, 0),
    (0, ONE),
    (ONE, ONE),
    (ONE, slice(None), ONE),
    (slice(None), ONE),
    (slice(None), ONE, ONE),
    (slice(None), slice(None), ONE),
    (slice(None), slice(None), TWO),
    (slice(1, None), ONE, slice(None, None, 2)),
    (TWO, ONE[:2]),
    (ONE[:, None], ONE),
    (ONE[:, None], slice(None), ONE),
    (slice(None), 0, ONE),
    (ONE, None, ONE),
    (None, ONE),
    (..., ONE),
    (ONE, ...),
    (ONE, ..., ONE),
    -ONE - 1,
    np.array([], dtype=np.int64),
    (slice(None), np.array([], dtype=np.int64)),
    np.array(1),
    (np.array(1), slice(None), np.array(2)),
    MASK,
    MASK3,
    (MASK, 0),
    (MASK, slice(None, None, 2)),
    (MASK, np.array(1)),
    (np.array([True, False, True]),),
    (np.array([True, False, True]), ONE[:2]),
    (slice(None), np.array([True, False, True, True])),
    (slice(None), np.array([True, False, True, True]), slice(1, 3)),
    (..., np.array([True, False, True, True, False])),
    (np.array([True, False, True]), slice(None), np.array([0, 1])),
    np.zeros(SHAPE, bool),
    np.array(True),
    (0, MASK3[0]),
    ONE.astype(np.int32),
    ONE.astype(np.uint8).astype(np.int32),
    (ONE, ONE, ONE),
    (TWO, 0, TWO),
]
each_index = pytest.mark.parametrize("index", INDEXES, ids=lambda i: repr(i).replace("\n", "")[:60])


def convert(index: Any) -> Any:
    """Arrays to tensors."""
    if isinstance(index, tuple):
        return tuple(convert(i) for i in index)
    return torch.from_numpy(index.copy()) if isinstance(index, np.ndarray) else index


def basic(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(p, bool) or (isinstance(p, np.ndarray) and (p.ndim or p.dtype == bool)) for p in parts)


def repeats(index: Any) -> bool:
    """Which of several writes to one place wins is not defined."""
    _, counts = np.unique(np.arange(60).reshape(SHAPE)[index], return_counts=True)
    return bool((counts > 1).any())


@each_index
def test_read(index: Any) -> None:
    expected = array()[index]
    for x in (torch.from_numpy(array()), torch.from_numpy(array().transpose().copy()).permute(2, 1, 0)):
        result = x[convert(index)]
        check_bounds(result)
        assert tuple(result.shape) == expected.shape
        np.testing.assert_array_equal(result.numpy(), expected)
        if expected.size:
            shares = result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            assert shares == basic(index)


@each_index
@pytest.mark.parametrize("kind", ["number", "full", "broadcast", "zero-dimensional"])
def test_write(index: Any, kind: str) -> None:
    expected = array()
    shape = expected[index].shape
    rng = np.random.default_rng(0)
    value: Any
    if repeats(index) and kind in ("full", "broadcast"):
        pytest.skip("not defined")
    if kind == "number":
        value = -1.5
    elif kind == "full":
        value = rng.normal(size=shape)
    elif kind == "broadcast":
        value = rng.normal(size=(1,) * len(shape[:-1]) + shape[-1:])
        value = value if shape[-1:] != (0,) else np.ones(0)
        if len(shape) < 1 or 0 in shape:
            pytest.skip("nothing to broadcast")
    else:
        value = np.asarray(2.5)
    expected[index] = value
    for x in (torch.from_numpy(array()), torch.from_numpy(array().transpose().copy()).permute(2, 1, 0)):
        version = x._version
        x[convert(index)] = value if kind == "number" else torch.from_numpy(np.array(value))
        np.testing.assert_array_equal(x.numpy(), expected)
        assert x._version > version or expected[index].size == 0


@each_index
def test_gradient_of_reading(index: Any) -> None:
    x = torch.from_numpy(array()).requires_grad_()
    result = x[convert(index)]
    weight = np.random.default_rng(0).normal(size=tuple(result.shape))
    result.backward(torch.from_numpy(np.asarray(weight)))
    expected = np.zeros(SHAPE)
    np.add.at(expected, index, weight)
    np.testing.assert_allclose(x.grad.numpy(), expected)


@each_index
def test_gradient_of_writing(index: Any) -> None:
    places = np.arange(60).reshape(SHAPE)[index]
    if repeats(index) or index is False:
        pytest.skip("not defined")
    x = torch.from_numpy(array()).requires_grad_()
    value = torch.from_numpy(np.random.default_rng(0).normal(size=places.shape)).requires_grad_()
    y = x * 1
    y[convert(index)] = value
    weight = torch.from_numpy(np.random.default_rng(1).normal(size=SHAPE))
    (y * weight).sum().backward()
    expected = weight.numpy().copy()
    expected[index] = 0
    np.testing.assert_allclose(x.grad.numpy(), expected)
    np.testing.assert_allclose(value.grad.numpy(), weight.numpy()[index])


@each_index
def test_gradient_of_a_broadcast_value(index: Any) -> None:
    if repeats(index) or index is False:
        pytest.skip("not defined")
    value = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = torch.zeros(SHAPE, dtype=torch.float64)
    y[convert(index)] = value
    y.sum().backward()
    count = np.zeros(SHAPE)
    count[index] = 1
    assert value.grad.item() == count.sum()


BAD: list[tuple[type, Any]] = [
    (IndexError, 3),
    (IndexError, -4),
    (IndexError, (0, 4)),
    (IndexError, (0, 0, 0, 0)),
    (IndexError, (0, 0, 0, ..., 0)),
    (ValueError, slice(None, None, -1)),
    (ValueError, slice(None, None, 0)),
    (IndexError, np.array([3])),
    (IndexError, np.array([-4])),
    (IndexError, (np.array([0, 1]), np.array([0, 1, 2]))),
    (IndexError, np.array([True, False])),
    (IndexError, (slice(None), np.zeros((4, 4), bool))),
    (IndexError, "text"),
    (IndexError, 1.5),
    (IndexError, np.array([0.5])),
    (TypeError, slice("a", None)),
    (TypeError, slice(1.5, None)),
    (IndexError, {}),
    (IndexError, (0, 1j)),
]


@pytest.mark.parametrize(("kind", "index"), BAD, ids=lambda v: repr(v)[:50])
def test_bad_index(kind: type, index: Any) -> None:
    x = torch.from_numpy(array())
    with pytest.raises(kind):
        x[convert(index)]
    with pytest.raises((kind, TypeError)):
        x[convert(index)] = 1
    np.testing.assert_array_equal(x.numpy(), array())  # nothing was written


def test_bad_values() -> None:
    x = torch.zeros(3, 4)
    with pytest.raises(RuntimeError):
        x[0] = torch.ones(3)
    with pytest.raises(RuntimeError):
        x[torch.tensor([0, 1])] = torch.ones(3, 4)
    with pytest.raises((TypeError, ValueError)):
        x[0] = "text"
    with pytest.raises(TypeError):
        x[0] = None
    with pytest.raises(TypeError):
        del x[0]
    assert not x.any()


def test_zero_dimensional() -> None:
    x = torch.tensor(5.0)
    assert x[()].item() == x[...].item() == 5 and x[None].shape == (1,)
    for index in (0, slice(None), torch.tensor(0)):
        with pytest.raises(IndexError):
            x[index]
    x[...] = 3
    x[()] = x + 1
    assert x.item() == 4
    x[torch.tensor(True)] = 9
    assert x.item() == 9
    assert x[torch.tensor(False)].shape == (0,)


def test_a_number_beside_tensors_is_taken_first() -> None:
    """NumPy counts it among the arrays, and would put their dimension in front."""
    x = torch.from_numpy(array())
    index = torch.from_numpy(ONE)
    assert torch.equal(x[0, :, index], x[0][:, index])
    x[0, :, index] = 0.0
    assert not x[0, :, :3].any() and x[1:].all()


def test_lists_index_like_tensors() -> None:
    x = torch.from_numpy(array())
    assert torch.equal(x[[0, 2]], x[torch.tensor([0, 2])])
    assert torch.equal(x[[0, 2], [1, 1]], x[torch.tensor([0, 2]), torch.tensor([1, 1])])
    assert torch.equal(x[[True, False, True]], x[torch.tensor([True, False, True])])
    assert torch.equal(x[:, [0, 1]], x[:, torch.tensor([0, 1])])
    assert x[[]].shape == (0, 4, 5)


def test_numpy_indices() -> None:
    x = torch.from_numpy(array())
    assert torch.equal(x[ONE], x[torch.from_numpy(ONE)])
    assert torch.equal(x[np.int64(1)], x[1])
    assert torch.equal(x[torch.tensor(1) : torch.tensor(3)], x[1:3])
    assert torch.equal(x[torch.tensor(1)], x[1])

    class Two:
        def __index__(self) -> int:
            return 2

    assert torch.equal(x[Two()], x[2]) and torch.equal(x[Two() :], x[2:])


def test_bytes_as_masks() -> None:
    x = torch.arange(3.0)
    with pytest.warns(UserWarning, match="uint8"):
        assert x[torch.tensor([1, 0, 1], dtype=torch.uint8)].tolist() == [0, 2]


def test_repeated_indices_add_up_in_the_gradient_and_in_accumulate() -> None:
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([1, 1, 2, 1])
    x[index].sum().backward()
    assert x.grad.tolist() == [0, 3, 1]
    y = torch.zeros(3)
    y.index_put_((index,), torch.ones(4), accumulate=True)
    assert y.tolist() == [0, 3, 1]
    z = torch.zeros(3)
    z[index] += 1
    assert z.tolist() == [0, 1, 1]


def test_writing_from_itself() -> None:
    x = torch.arange(6.0)
    x[:3] = x[3:].clone()
    assert x.tolist() == [3, 4, 5, 3, 4, 5]
    x[torch.tensor([0, 1])] = x[torch.tensor([5, 4])]
    assert x.tolist() == [5, 4, 5, 3, 4, 5]


def test_value_is_cast() -> None:
    x = torch.zeros(3, dtype=torch.int64)
    x[0] = 2.7
    x[1:] = torch.tensor([3.9, -1.2])
    assert x.tolist() == [2, 3, -1]
    x[torch.tensor([True, False, False])] = 8
    assert x.tolist() == [8, 3, -1]


def test_leading_ones_of_the_value_are_dropped() -> None:
    x = torch.zeros(2, 3)
    x[0] = torch.ones(1, 1, 3)
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_second_derivative_of_indexing() -> None:
    x = torch.from_numpy(np.random.default_rng(0).uniform(1, 2, (3, 4))).requires_grad_()
    rows, mask = torch.tensor([0, 2, 0]), torch.tensor([True, False, True, True])

    def function(x: Any) -> Any:
        y = x * 1
        y[rows[1:], mask.nonzero()[0]] = (x[rows, 1] ** 2)[:2]
        return y[:, mask] * x[1, 2]

    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)


def test_iteration_and_length() -> None:
    x = torch.arange(6).view(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    a, b, c = x
    assert c.tolist() == [4, 5]
    assert [v.item() for v in reversed(x[0])] == [1, 0]
    assert 3 in x and 9 not in x
    with pytest.raises(TypeError):
        len(torch.tensor(1))
    with pytest.raises(TypeError):
        iter(torch.tensor(1))


def test_scalars() -> None:
    x = torch.tensor([[2.5]])
    assert x.item() == 2.5 and float(x) == 2.5 and int(x) == 2 and bool(x)
    assert [0, 1, 2][torch.tensor(1)] == 1 and list(range(torch.tensor(3))) == [0, 1, 2]
    for function in (bool, int, float):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            function(torch.ones(2))
    with pytest.raises(RuntimeError):
        torch.ones(2).item()
    with pytest.raises(TypeError):
        range(torch.tensor(1.5))
    assert not torch.tensor([0]) and f"{torch.tensor(1.5):.2f}" == "1.50"
