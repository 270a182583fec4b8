"""Sizes, strides and indices as large as 64 bits hold, or larger: an error that says so, or the right result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

MOST = 2**63 - 1
matrix = torch.arange(6.0).reshape(2, 3)
image = torch.arange(25.0).reshape(1, 1, 5, 5)
kernel = torch.ones(1, 1, 3, 3)
wide = torch.zeros(1).expand(2**62)

TOO_LARGE: dict[str, Callable[[], Any]] = {
    "repeat_interleave": lambda: matrix.repeat_interleave(2**62, 0),
    "repeat_interleave, output_size": lambda: matrix.repeat_interleave(2, 0, output_size=MOST),
    "repeat": lambda: matrix.repeat(2**62, 2),
    "expand": lambda: torch.zeros(1, 1).expand(2**62, 4),
    "cat": lambda: torch.cat([wide, wide]),
    "stack": lambda: torch.stack([wide, wide, wide]),
    "unflatten": lambda: matrix.unflatten(1, (2**62, 4)),
    "view": lambda: matrix.view(2**32, 2**32, -1),
    "as_strided": lambda: matrix.as_strided((3, 3), (MOST, MOST)),
    "as_strided, offset": lambda: matrix.as_strided((1,), (1,), MOST),
    "as_strided, offset of nothing": lambda: matrix.as_strided((0,), (1,), MOST),
    "as_strided, offset and size": lambda: matrix.as_strided((2,), (1,), MOST),
    "resize_": lambda: torch.zeros(3)[1:].resize_(MOST),
    "arange": lambda: torch.arange(-(2**63), MOST),
    "conv2d, padding and stride": lambda: F.conv2d(image, kernel, padding=2**60, stride=2**60),
    "conv2d, padding": lambda: F.conv2d(image, kernel, padding=MOST),
    "conv2d, dilation": lambda: F.conv2d(image, kernel, dilation=MOST),
    "conv2d, dilation, same": lambda: F.conv2d(image, kernel, dilation=MOST, padding="same"),
    "conv2d, groups": lambda: F.conv2d(image, torch.ones(2, 2, 3, 3), groups=MOST),
    "max_pool2d, kernel": lambda: F.max_pool2d(image, MOST),
    "max_pool2d, dilation": lambda: F.max_pool2d(image, 2, dilation=MOST),
    "max_pool2d, padding": lambda: F.max_pool2d(image, 2, padding=MOST),
    "avg_pool2d, kernel": lambda: F.avg_pool2d(image, MOST, 1),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, MOST),
    "adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(image, (2, MOST)),
    "unfold": lambda: F.unfold(image, 3, padding=2**50),
    "device": lambda: torch.device("cuda", 300),
    "device's number": lambda: torch.device(2**70),
    "device's name": lambda: torch.device("cuda:300"),
    "device of to()": lambda: matrix.to(2**63),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_too_large(name: str) -> None:
    with pytest.raises(RuntimeError):
        TOO_LARGE[name]()


WITHIN: dict[str, tuple[Callable[[], Any], Any]] = {
    "slice's step": (lambda: matrix[:, ::MOST], [[0.0], [3.0]]),
    "roll": (lambda: matrix.roll(-(2**63), 1), np.roll(np.arange(6.0).reshape(2, 3), -(2**63) % 3, 1)),
    "tril": (lambda: matrix.tril(MOST), np.arange(6.0).reshape(2, 3)),
    "triu": (lambda: matrix.triu(-(2**63)), np.arange(6.0).reshape(2, 3)),
    "diagonal": (lambda: matrix.diagonal(-(2**63)), []),
    "arange's step": (lambda: torch.arange(-(2**63), MOST, 2**62), [-(2**63), -(2**62), 0, 2**62]),
    "conv2d's stride": (lambda: F.conv2d(image, kernel, stride=MOST), [[[[54.0]]]]),
    "conv2d's stride, a kernel of one": (lambda: F.conv2d(image, kernel[..., :1, :1], stride=MOST), [[[[0.0]]]]),
    "conv2d's dilation, a kernel of one": (lambda: F.conv2d(image, kernel[..., :1, :1], dilation=MOST), image.numpy()),
    "max_pool2d's stride": (lambda: F.max_pool2d(image, 2, MOST), [[[[6.0]]]]),
    "max_pool2d's stride, ceil_mode": (lambda: F.max_pool2d(image, 2, MOST, ceil_mode=True), [[[[6.0]]]]),
    "a dimension beyond an empty one": (lambda: torch.empty(0, MOST, MOST)[:, MOST - 1, 1], []),
    "unsqueeze of an empty tensor": (lambda: torch.empty(0, MOST, MOST).unsqueeze(0).sum(), 0.0),
}


@pytest.mark.parametrize("name", WITHIN)
def test_within(name: str) -> None:
    operation, expected = WITHIN[name]
    np.testing.assert_array_equal(operation().numpy(), expected)


# Where a number is written into a tensor: (dtype, number) pairs that its dtype does not hold, and what fits just so.
UNFIT = [
    *(("uint8", v) for v in (256, 300, -256, 255.5, 256.0, -0.5, 2**40, 1e30, float("nan"), float("inf"))),
    *(("int8", v) for v in (128, -129, 127.9, -128.9)),
    *(("int32", v) for v in (2**31, -(2**31) - 1, 1e10, float("-inf"))),
    *(("int64", v) for v in (2.0**63, -1e19, 1e30, float("nan"))),
    *(("float32", v) for v in (3.5e38, -1e300)),
]
FIT: list[tuple[str, float, float]] = [
    ("uint8", 255, 255), ("uint8", -1, 255), ("uint8", -255, 1), ("uint8", 254.9, 254), ("int8", -128, -128),
    ("int32", 2**31 - 1, 2**31 - 1), ("int64", MOST, MOST), ("int64", -(2**63), -(2**63)), ("int64", -1.9, -1),
    ("float32", float("inf"), float("inf")), ("float32", 2**62, 2.0**62), ("float16", 1e30, float("inf")),
    ("bool", 1e30, True), ("bool", float("nan"), True), ("float64", 1e300, 1e300),
]  # fmt: skip
mask, first = torch.tensor([True]), torch.tensor([0])


def assigned(t: Any, v: float) -> Any:
    t[0] = v
    return t


WRITERS: dict[str, Callable[[Any, float], Any]] = {
    "full": lambda t, v: torch.full((1,), v, dtype=t.dtype),
    "full of a tensor": lambda t, v: torch.full((1,), torch.tensor(v, dtype=wide_dtype(v)), dtype=t.dtype),
    "full_like": torch.full_like,
    "tensor": lambda t, v: torch.tensor(v, dtype=t.dtype).reshape(1),
    "tensor of a list": lambda t, v: torch.tensor([v], dtype=t.dtype),
    "fill_": lambda t, v: t.fill_(v),
    "masked_fill": lambda t, v: t.masked_fill(mask, v),
    "masked_fill of a tensor": lambda t, v: t.masked_fill(mask, torch.tensor(v, dtype=wide_dtype(v))),
    "index_fill": lambda t, v: t.index_fill(0, first, v),
    "scatter": lambda t, v: t.scatter(0, first, v),
    "item": assigned,
    "pad": lambda t, v: F.pad(t, (1, 0), value=v)[:1],
}


def wide_dtype(v: float) -> Any:
    return torch.float64 if isinstance(v, float) else torch.int64


@pytest.mark.parametrize("writer", WRITERS)
def test_numbers_that_do_not_fit(writer: str) -> None:
    """They raise, and write nothing: what C++ makes of them is a silent wrong number."""
    for dtype, v in UNFIT:
        t = torch.ones(1, dtype=getattr(torch, dtype))
        if dtype == "float32" and writer.startswith("tensor"):
            assert WRITERS[writer](t, v).isinf().all()  # as in PyTorch: data, not a number given to an operation
            continue
        with pytest.raises(RuntimeError, match="does not fit|too large"):
            WRITERS[writer](t, v)
        assert t.tolist() == [1], (dtype, v)
    for dtype, v, expected in FIT:
        t = torch.ones(1, dtype=getattr(torch, dtype))
        assert WRITERS[writer](t, v).tolist() == [expected], (dtype, v)


LOSES_GRAD: dict[str, Callable[[Any, Any], Any]] = {
    "alpha": lambda x, v: x.add(x, alpha=v),
    "value": lambda x, v: x.addcmul(x, x, value=v),
    "full": lambda x, v: torch.full((3,), v),
    "new_full": lambda x, v: x.new_full((3,), v),
    "full_like": lambda x, v: torch.full_like(x, v),
    "arange": lambda x, v: torch.arange(v),
    "leaky_relu": F.leaky_relu,
    "pad": lambda x, v: F.pad(x, (1, 1), value=v),
    "normal_": lambda x, v: x.normal_(0, v),
    "nan_to_num": lambda x, v: x.nan_to_num(v),
}


@pytest.mark.parametrize("name", LOSES_GRAD)
def test_numbers_do_not_lose_gradients(name: str) -> None:
    """A tensor that requires grad is not silently taken for a number."""
    run = LOSES_GRAD[name]
    run(torch.ones(3), torch.tensor(2.0))
    v = torch.tensor(2.0, requires_grad=True)
    if name == "full_like":  # written by fill_(), which has a gradient for it
        run(torch.ones(3), v).sum().backward()
        assert v.grad is not None and v.grad.item() == 3
        return
    with pytest.raises(TypeError):
        run(torch.ones(3), v)
    with pytest.raises(TypeError):
        run(torch.ones(3), torch.tensor([2.0]))


def test_fill_of_a_tensor_has_a_gradient() -> None:
    v = torch.tensor(2.0, requires_grad=True)
    filled = torch.zeros(3).fill_(v)
    filled.sum().backward()
    assert filled.tolist() == [2, 2, 2] and v.grad is not None and v.grad.item() == 3


def test_backward_of_an_empty_view_beyond_memory() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    x.as_strided((0, 2), (1, 1), 2**40).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_scattered_integers_wrap_around(dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.max, limits.max, limits.min, limits.max - 1, 3], dtype)
    x = torch.from_numpy(values[:1].copy())
    places, source = torch.zeros(5, dtype=torch.int64), torch.from_numpy(values)
    with np.errstate(over="ignore"):
        total = values[:1] + values.sum(dtype=dtype)
        product = values[:1] * values.prod(dtype=dtype)
    assert x.index_add(0, places, source).tolist() == total.tolist()
    assert x.scatter_add(0, places, source).tolist() == total.tolist()
    assert x.index_put((places,), source, accumulate=True).tolist() == total.tolist()
    assert x.scatter_reduce(0, places, source, "prod").tolist() == product.tolist()


def test_backward_of_roll() -> None:
    x = matrix.clone().requires_grad_()
    (x.roll(-(2**63), 1) * matrix).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.roll(matrix.numpy(), 2**63 % 3, 1))


def test_backward_of_conv2d_with_a_step_never_taken() -> None:
    for groups in (1, 4):  # the depthwise kernels are others
        x = torch.ones(1, 4, 5, 5, requires_grad=True)
        w = torch.ones(8, 4 // groups, 3, 3, requires_grad=True)
        F.conv2d(x, w, stride=MOST, groups=groups).sum().backward()
        expected = np.zeros((1, 4, 5, 5))
        expected[..., :3, :3] = 8 // groups
        np.testing.assert_array_equal(x.grad.numpy(), expected)
        assert (w.grad == 1).all()


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
def test_pooling_window_of_mostly_padding(layout: str) -> None:
    """Such a window takes no longer than its part inside of the image."""
    x = torch.arange(50.0).reshape(1, 2, 5, 5)
    if layout == "channels_last":
        x = x.contiguous(memory_format=torch.channels_last)
    size = 2**62 - 1
    maxima, where = F.max_pool2d(x, size, 1, size // 2, return_indices=True)
    assert maxima.shape == (1, 2, 5, 5)
    assert (maxima[0, 1] == 49).all() and (where == 24).all()
    means = F.avg_pool2d(x, size, 1, size // 2, count_include_pad=False)
    np.testing.assert_allclose(means[0, :, 2, 2].numpy(), [12, 37])
    assert F.avg_pool2d(x, size, 1, size // 2).abs().max() < 1e-30


@pytest.mark.parametrize("shape", [(3, 1, 0), (3, 0), (0, 3), (2, 0, 4), (2, 3, 0, 4), (1,) * 20 + (0,)])
def test_batch_norm_of_nothing(shape: tuple[int, ...]) -> None:
    x = torch.zeros(shape, requires_grad=True)
    mean, var = torch.zeros(shape[1]), torch.ones(shape[1])
    for training in (True, False):
        y = F.batch_norm(x, mean, var, training=training)
        assert y.shape == shape
        y.sum().backward()
        assert x.grad.shape == shape


def test_meta_tensor_without_dimensions_has_no_list() -> None:
    nothing = torch.zeros((), device="meta")
    for read in [nothing.tolist, lambda: torch.tensor([nothing]), lambda: matrix[[nothing]]]:
        with pytest.raises(RuntimeError, match="meta"):
            read()


def test_memory_that_is_not_aligned() -> None:
    """It is copied, as kernels may not read it."""
    values = np.arange(8, dtype=np.float32)
    memory = bytearray(b"x" + values.tobytes())
    odd = np.frombuffer(memory, np.float32, offset=1)
    packed = np.zeros(3, dtype=[("flag", "u1"), ("value", "f8")])["value"]
    with pytest.warns(UserWarning, match="is a copy"):
        assert torch.from_numpy(odd).tolist() == values.tolist()
    with pytest.warns(UserWarning, match="is a copy"):
        assert torch.frombuffer(memory, dtype=torch.float32, offset=1).tolist() == values.tolist()
    with pytest.warns(UserWarning, match="is a copy"):
        assert torch.from_dlpack(odd).tolist() == values.tolist()
    assert torch.tensor(odd).tolist() == values.tolist()
    assert torch.tensor(packed).tolist() == [0, 0, 0]
    whole = torch.frombuffer(memory, dtype=torch.uint8, offset=1)
    whole[0] = 7
    assert memory[1] == 7  # where nothing stands against it, memory is shared


def test_what_is_no_size() -> None:
    with pytest.raises(TypeError, match="a size must be an integer, not a str"):
        torch.zeros(2, "3")
    with pytest.raises(OverflowError, match="the size 1180591620717411303424 does not fit"):
        torch.zeros(2, 2**70)
    with pytest.raises(TypeError, match="a tensor whose shape to take, got a int"):
        torch.zeros_like(3)


def test_to_names_the_type_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="not float32"):
        matrix.to(np.float32(1))
