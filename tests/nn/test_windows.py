"""Convolution, pooling and resampling: what their rows in the table do not show."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F


def random(*shape):
    return rl.from_numpy(np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kernel, dilation", [(3, 1), (2, 1), (4, 1), (2, 3)])
def test_padding_by_name(n, kernel, dilation):
    """The engine's own function knows the names too, and "same" keeps the size."""
    x, weight = random(2, 2, *[7] * n), random(3, 2, *[kernel] * n)
    for padding in ("same", "valid"):
        function = f"conv{n}d"
        y = getattr(rl, function)(x, weight, padding=padding, dilation=dilation)
        expected = getattr(F, function)(x, weight, padding=padding, dilation=dilation)
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-12, atol=1e-12)
        if padding == "same":
            assert y.shape == (2, 3, *[7] * n)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposed_convolution_is_the_gradient(n):
    x = random(2, 4, *[7] * n).requires_grad_()
    weight = random(6, 2, *[3] * n)
    y = getattr(F, f"conv{n}d")(x, weight, stride=2, padding=1, groups=2)
    gradient = random(*y.shape)
    y.backward(gradient)
    back = getattr(F, f"conv_transpose{n}d")(gradient, weight, stride=2, padding=1, groups=2)
    np.testing.assert_allclose(back.numpy(), x.grad.numpy(), rtol=1e-12, atol=1e-12)


def test_conv3d_of_many_images_goes_by_parts():
    # Small integers, whose sums float32 holds exactly, in whatever order they are added.
    x = (random(9, 3, 5, 40, 40) * 4).round().float().repeat(8, 1, 1, 1, 1)
    weight = (random(4, 3, 3, 3, 3) * 4).round().float().requires_grad_()
    y = F.conv3d(x, weight, padding=1)
    for i in (0, 40, 71):
        np.testing.assert_array_equal(y[i].detach().numpy(), F.conv3d(x[i], weight.detach(), padding=1).numpy())
    y.sum().backward()
    once = weight.detach().clone().requires_grad_()
    F.conv3d(x[:9], once, padding=1).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), 8 * once.grad.numpy())
    assert weight.grad.abs().sum() > 0


def test_volumes_with_channels_last():
    x, weight = random(2, 3, 4, 5, 6), random(4, 3, 2, 2, 2)
    last = x.contiguous(memory_format=rl.channels_last_3d)
    for function in (
        lambda x: F.conv3d(x, weight),
        lambda x: F.conv_transpose3d(x, weight.transpose(0, 1)),
    ):
        y = function(last)
        assert y.is_contiguous(memory_format=rl.channels_last_3d)
        np.testing.assert_allclose(y.numpy(), function(x).numpy(), rtol=1e-12, atol=1e-12)


def test_output_size_of_transposed_convolution():
    layer = rl.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1)
    x = rl.ones(1, 2, 4, 4)
    for size in [(7, 7), (7, 8), (1, 3, 8, 8)]:
        assert layer(x, output_size=size).shape == (1, 3, *size[-2:])
    assert layer(x[0], output_size=[8, 8]).shape == (3, 8, 8)
    with pytest.raises(ValueError, match=r"\(9, 9\) is not within \(7, 7\) and \(8, 8\)"):
        layer(x, output_size=(9, 9))
    with pytest.raises(ValueError, match="must have 2 or 4 elements"):
        layer(x, output_size=(8,))


@pytest.mark.parametrize("build", [rl.nn.Conv1d, rl.nn.ConvTranspose2d, rl.nn.Conv3d])
def test_layers_refuse_impossible_arguments(build):
    with pytest.raises(ValueError, match="divisible by groups"):
        build(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="padding_mode"):
        build(2, 4, 3, padding_mode="mirror")


def test_messages_of_convolution_name_what_came_in():
    with pytest.raises(RuntimeError, match=r"conv1d: input \(1, 2, 9\) has 2 channels; weight \(3, 4, 3\) takes 4"):
        F.conv1d(rl.ones(1, 2, 9), rl.ones(3, 4, 3))
    with pytest.raises(RuntimeError, match=r"conv_transpose2d: an input of \(3, 3\) would give \(0, 0\)"):
        F.conv_transpose2d(rl.ones(1, 1, 3, 3), rl.ones(1, 1, 2, 2), padding=2)
    with pytest.raises(RuntimeError, match=r"output_padding \(1, 1\) must be smaller than the stride"):
        F.conv_transpose2d(rl.ones(1, 1, 3, 3), rl.ones(1, 1, 2, 2), output_padding=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.adaptive_avg_pool2d(x, 3),
        lambda x: F.adaptive_max_pool2d(x, 3),
        lambda x: F.interpolate(x, (5, 9), mode="nearest"),
        lambda x: F.interpolate(x, (5, 9), mode="bicubic"),
        lambda x: F.conv_transpose2d(x, random(4, 2, 3, 3), stride=2),
    ],
)
def test_images_with_channels_last(function):
    """They give such images, with the values and gradients of others."""
    x = random(2, 4, 6, 7)
    last = x.contiguous(memory_format=rl.channels_last).requires_grad_()
    first = x.clone().requires_grad_()
    y, expected = function(last), function(first)
    assert y.is_contiguous(memory_format=rl.channels_last) and expected.is_contiguous()
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
    for z in (y, expected):
        z.backward(random(*z.shape))
    np.testing.assert_allclose(last.grad.numpy(), first.grad.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [lambda x: F.max_pool3d(x, 2), lambda x: F.interpolate(x, (3, 5, 4))])
def test_more_volumes_with_channels_last(function):
    x = random(2, 3, 4, 5, 6)
    last = x.contiguous(memory_format=rl.channels_last_3d).requires_grad_()
    first = x.clone().requires_grad_()
    y, expected = function(last), function(first)
    assert y.is_contiguous(memory_format=rl.channels_last_3d)
    np.testing.assert_array_equal(y.detach().numpy(), expected.detach().numpy())
    for z in (y, expected):
        z.backward(random(*z.shape))
    np.testing.assert_allclose(last.grad.numpy(), first.grad.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name, size", [("adaptive_avg_pool2d", 3), ("adaptive_max_pool2d", 3), ("max_pool3d", 2)])
def test_pooling_of_nan(name, size):
    """NaN wins over every number, and makes a mean NaN."""
    x = rl.zeros(1, 6, 6, 6)
    x[0, 2, 2, 2] = float("nan")
    y = getattr(F, name)(x, size)
    assert int(y.isnan().sum()) == 1


@pytest.mark.parametrize("half", [rl.float16, rl.bfloat16])
def test_half_types(half):
    x = random(1, 2, 6, 6).to(half)
    for function in (
        lambda x: F.adaptive_avg_pool2d(x, 4),
        lambda x: F.interpolate(x, 9, mode="bilinear"),
        lambda x: F.conv_transpose2d(x, rl.ones(2, 3, 2, 2, dtype=x.dtype)),
        lambda x: F.conv1d(x[0], rl.ones(3, 6, 2, dtype=x.dtype)),
        lambda x: F.fold(F.unfold(x, 2), 6, 2),
    ):
        y = function(x)
        assert y.dtype is half
        np.testing.assert_allclose(y.float().numpy(), function(x.float()).numpy(), rtol=2e-2, atol=5e-2)


def test_interpolation_of_bytes_to_the_nearest_pixel():
    x = rl.arange(6, dtype=rl.uint8).view(1, 1, 2, 3)
    assert F.interpolate(x, scale_factor=2).dtype is rl.uint8
    assert F.interpolate(x, (2, 6)).tolist() == [[[[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]]]]
    with pytest.raises(NotImplementedError, match=r"uint8 in mode 'bilinear'\n  hint: convert with .float"):
        F.interpolate(x, 4, mode="bilinear")


def test_messages_of_pooling_name_what_came_in():
    with pytest.raises(RuntimeError, match=r"adaptive_avg_pool2d: input must be .* got shape \(4, 4\)"):
        F.adaptive_avg_pool2d(rl.ones(4, 4), (2, 2)[:1])
    with pytest.raises(RuntimeError, match=r"max_unpool2d: index 16 is outside of an output of \(4, 4\)\n  hint"):
        F.max_unpool2d(rl.ones(1, 1, 1), rl.tensor([[[16]]]), 4)
    with pytest.raises(ValueError, match=r"12 must be between 2 and 6"):
        F.max_unpool1d(rl.ones(1, 2), rl.zeros(1, 2, dtype=rl.int64), 2, output_size=(12,))
    with pytest.raises(RuntimeError, match="fold: input .* has 7 blocks, an output of .* takes 6"):
        F.fold(rl.ones(1, 8, 7), (4, 3), 2)


@pytest.mark.parametrize("seed", range(10))
def test_sums_of_the_weights_gradient_are_kept_short(seed):
    """Its rounding grows with the root of the number of pixels, not with the number."""
    r = np.random.default_rng(seed)
    x, weight, up = (r.normal(size=n).astype(np.float32) for n in ((2, 3, 30, 20), (5, 3, 3, 3), (2, 5, 28, 18)))
    gradients = []
    for dtype in (np.float32, np.float64):
        w = rl.from_numpy(weight.astype(dtype)).requires_grad_()
        F.conv2d(rl.from_numpy(x.astype(dtype)), w).backward(rl.from_numpy(up.astype(dtype)))
        gradients.append(w.grad.numpy())
    assert np.abs(gradients[0] - gradients[1]).max() < 2e-5
