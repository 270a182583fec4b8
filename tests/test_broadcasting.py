"""Shapes that meet in an operation: NumPy's rules, over random shapes that fit and that do not."""

import random

import numpy as np
import pytest

import rushlight as rl

OPERATIONS = {
    "a + b": lambda lib, a, b: a + b,
    "a < b": lambda lib, a, b: a < b,
    "where": lambda lib, a, b: lib.where(a > 1, a, b),
    "maximum": lambda lib, a, b: lib.maximum(a, b),
}


def shapes(seed, fit):
    """Two shapes made from one by leaving out leading dimensions and setting some to 1; or with a size that differs."""
    draw = random.Random(seed)
    full = [draw.choice((0, 1, 2, 3, 4)) for _ in range(draw.randint(1, 5))]
    pair = []
    for _ in range(2):
        kept = full[draw.randint(0, len(full)) :]
        pair.append([1 if draw.random() < 0.3 else n for n in kept])
    if not fit:
        for shape in pair:
            if not shape:
                shape.append(full[-1])
        pair[0][-1], pair[1][-1] = draw.sample((2, 3, 4, 5), 2)
    return tuple(map(tuple, pair))


def arrays(pair):
    return [np.array(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5, np.float32) for shape in pair]


@pytest.mark.parametrize("name", OPERATIONS)
def test_shapes_that_fit(name):
    for seed in range(200):
        x, y = arrays(shapes(seed, fit=True))
        expected = OPERATIONS[name](np, x, y)
        got = OPERATIONS[name](rl, rl.from_numpy(x), rl.from_numpy(y))
        assert tuple(got.shape) == expected.shape, (x.shape, y.shape)
        assert np.array_equal(got.numpy(), expected), (x.shape, y.shape)


@pytest.mark.parametrize("name", OPERATIONS)
def test_shapes_that_do_not_fit(name):
    for seed in range(200):
        x, y = arrays(shapes(seed, fit=False))
        with pytest.raises(ValueError):
            np.broadcast_shapes(x.shape, y.shape)
        with pytest.raises(RuntimeError) as caught:
            OPERATIONS[name](rl, rl.from_numpy(x), rl.from_numpy(y))
        message = str(caught.value)
        assert str(x.shape) in message and str(y.shape) in message


def test_in_place_keeps_the_shape_of_what_is_written():
    for seed in range(200):
        x, y = arrays(shapes(seed, fit=True))
        expected = np.broadcast_shapes(x.shape, y.shape)
        a, b = rl.from_numpy(x.copy()), rl.from_numpy(y)
        if expected == x.shape:
            assert np.array_equal(a.add_(b).numpy(), x + y), (x.shape, y.shape)
        else:
            with pytest.raises(RuntimeError):
                a.add_(b)
            assert np.array_equal(a.numpy(), x)


def test_broadcast_functions_copy_nothing():
    for seed in range(200):
        x, y = arrays(shapes(seed, fit=True))
        a, b = rl.from_numpy(x), rl.from_numpy(y)
        expected = np.broadcast_arrays(x, y)
        assert tuple(rl.broadcast_shapes(a.shape, b.shape)) == expected[0].shape
        for got, array, source in zip(rl.broadcast_tensors(a, b), expected, (a, b), strict=True):
            assert np.array_equal(got.numpy(), array)
            assert got.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()
            assert all(step == 0 for step, n, was in steps(got, source) if n != was)


def steps(got, source):
    """Stride, size, and size before of every dimension."""
    was = (1,) * (got.dim() - source.dim()) + tuple(source.shape)
    return zip(got.stride(), got.shape, was, strict=True)


def test_gradients_are_summed_back():
    for seed in range(100):
        x, y = arrays(shapes(seed, fit=True))
        a, b = (rl.from_numpy(array).requires_grad_() for array in (x, y))
        (a * b).sum().backward()
        over = np.broadcast_to
        whole = np.broadcast_shapes(x.shape, y.shape)
        for leaf, array, other in ((a, x, y), (b, y, x)):
            lead = len(whole) - array.ndim
            spread = tuple(i for i, n in enumerate(whole) if i < lead or array.shape[i - lead] != n)
            expected = over(other, whole).sum(axis=spread).reshape(array.shape)
            np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-6)
