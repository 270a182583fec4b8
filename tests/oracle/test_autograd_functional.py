"""autograd.functional, windows and sdpa_kernel as PyTorch's."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = [
    "F.jacobian(f, (x, y))",
    "F.vjp(f, (x, y), (ones(2), ones(2), ones(2)))",
    "F.jvp(f, (x, y), (ones(2, 2), ones(2)))",
    "F.hessian(g, (x, y))",
    "F.hvp(g, (x, y), (ones(2, 2), y))",
    "F.vhp(g, (x, y), (ones(2, 2), y))",
    "F.jacobian(lambda a: a.sum(), x)",
    "F.jacobian(lambda a: (a, a.sum()), x)",
    "F.jacobian(lambda a: a, tensor(2.0))",
    "F.vjp(lambda a: a.sum(), y)",
    "F.vhp(lambda a: (a**3).sum().reshape(1, 1), y, y)",
    "F.jvp(lambda a: ones(2), y, y)",
    "F.hvp(lambda a: a.sum(), y, y)",
    "F.hessian(lambda a: a.sum(), y)",
    "F.jacobian(lambda a: ones(2), y, strict=True)",
    "F.hvp(lambda a: a.sum(), y, y, strict=True)",
    "F.hessian(lambda a: a.sum(), y, strict=True)",
    "F.hessian(lambda a: a, y)",
    "F.hessian(lambda a: (a, a), tensor(1.0))",
    "F.vjp(lambda a: a, y)",
    "F.vjp(lambda a: a, y, ones(3))",
    "F.jvp(lambda a: a, y)",
    "F.jvp(lambda a: a, y, (y, y))",
    "F.jacobian(lambda a: 3, y)",
    "F.jacobian(lambda a: a, 3)",
]


def flat(value):
    """The structure, and all tensors in it as arrays."""
    if isinstance(value, tuple):
        parts = [flat(v) for v in value]
        return [p[0] for p in parts], [a for p in parts for a in p[1]]
    return ("tensor", value.requires_grad, str(value.dtype)), [value.detach().numpy()]


@pytest.mark.parametrize("call", CALLS)
def test_functional(call):
    results = []
    for lib in (torch, rl):
        names = {
            "F": lib.autograd.functional,
            "ones": lib.ones,
            "tensor": lib.tensor,
            "x": lib.tensor([[1.0, 2.0], [3.0, 0.5]]),
            "y": lib.tensor([0.3, -1.0]),
            "f": lambda a, b: ((a @ b) ** 2, a.sum() * b.exp(), b * 0 + 1),
            "g": lambda a, b: (a @ b).pow(3).sum() * b.sum(),
        }
        try:
            results.append(flat(eval(call, names)))
        except Exception as error:
            results.append((type(error).__name__, []))
    (want, arrays), (got, ours) = results
    assert got == want
    for a, b in zip(arrays, ours, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
@pytest.mark.parametrize("periodic", [True, False])
def test_windows(kind, periodic):
    name = f"{kind}_window"
    for length in (0, 1, 2, 5, 64):
        for dtype in (None, "float64", "float16"):
            want, got = (
                getattr(lib, name)(length, periodic=periodic, dtype=dtype and getattr(lib, dtype))
                for lib in (torch, rl)
            )
            assert str(got.dtype) == str(want.dtype)
            tolerance = {"torch.float64": 1e-12, "torch.float32": 1e-6, "torch.float16": 2e-3}[str(want.dtype)]
            np.testing.assert_allclose(got.numpy(), want.numpy(), atol=tolerance)
    for lib in (torch, rl):
        assert getattr(lib, name)(3, requires_grad=True).requires_grad
        for arguments, options in (((-1,), {}), ((3,), {"dtype": lib.int64})):
            with pytest.raises(RuntimeError):
                getattr(lib, name)(*arguments, **options)


def test_sdpa_kernel():
    for lib in (torch, rl):
        cuda, attention = lib.backends.cuda, lib.nn.attention
        with attention.sdpa_kernel([attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION]):
            assert cuda.math_sdp_enabled() and cuda.flash_sdp_enabled() and not cuda.mem_efficient_sdp_enabled()
            with attention.sdpa_kernel(attention.SDPBackend.EFFICIENT_ATTENTION):
                assert cuda.mem_efficient_sdp_enabled() and not cuda.math_sdp_enabled()
            assert cuda.math_sdp_enabled()
        assert cuda.math_sdp_enabled() and cuda.mem_efficient_sdp_enabled()
        with pytest.raises(AssertionError), attention.sdpa_kernel("math"):
            pass
