"""einsum beside PyTorch's: values, shapes, strides, gradients, which errors."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

from ..test_einsum import EQUATIONS, ERRORS, SHAPES  # noqa: E402

MORE = [
    "bhqd,bhkd->bhqk",
    "bij,bjk->bik",
    "ij , jk",
    "Ab,bA",
    "i...,i->...",
    "...i,ij->...j",
    "i,i->",
    "ij,kl->il",
    ",",
]
MORE_SHAPES = [[(2, 3, 4, 5), (2, 3, 6, 5)], [(2, 3, 4), (2, 4, 5)], [(2, 3), (3, 4)], [(2, 3), (3, 2)]]
MORE_SHAPES += [[(2, 3, 4), (2,)], [(2, 2, 3), (3, 2)], [(3,), (3,)], [(2, 3), (3, 4)], [(), ()]]
ROWS = [*zip(EQUATIONS, SHAPES, strict=True), *zip(MORE, MORE_SHAPES, strict=True)]


@pytest.mark.parametrize("equation, shapes", ROWS, ids=[e for e, _ in ROWS])
def test_like_pytorch(equation, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in shapes]
    results = []
    for lib in (rl, torch):
        inputs = [lib.tensor(a, requires_grad=True) for a in arrays]
        y = lib.einsum(equation, *inputs)
        (y * y).sum().backward()
        results.append((tuple(y.shape), y.stride(), [y.detach().numpy(), *(t.grad.numpy() for t in inputs)]))
    assert results[0][:2] == results[1][:2]
    for a, b in zip(results[0][2], results[1][2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("args, kind", [row[:2] for row in ERRORS])
def test_the_same_errors(args, kind):
    given = [
        torch.ones(a.shape, dtype=getattr(torch, str(a.dtype)[6:])) if isinstance(a, rl.Tensor) else a for a in args
    ]
    if len(args) == 2 and isinstance(args[1], rl.Tensor) and isinstance(args[0], rl.Tensor):
        pytest.skip("PyTorch asks for the truth of a tensor here")
    with pytest.raises(kind):
        torch.einsum(*given)
