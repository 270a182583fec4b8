"""nn.init and nn.utils."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn


@pytest.mark.parametrize(
    "fill, bound, std",
    [
        (lambda t: nn.init.uniform_(t, -2, 2), 2, 4 / math.sqrt(12)),
        (lambda t: nn.init.normal_(t, 0, 3), None, 3),
        (lambda t: nn.init.xavier_uniform_(t, 2), math.sqrt(6 / 500) * 2, math.sqrt(2 / 500) * 2),
        (lambda t: nn.init.xavier_normal_(t), None, math.sqrt(2 / 500)),
        (lambda t: nn.init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(6 / 300), math.sqrt(2 / 300)),
        (lambda t: nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), None, math.sqrt(2 / 200)),
        (lambda t: nn.init.trunc_normal_(t, std=2, a=-1, b=1), 1, 0.566),
        (lambda t: nn.init.trunc_normal_(t, a=-0.2, b=0.2), 0.2, 0.115),
    ],
)
def test_distribution(fill, bound, std):
    t = rl.empty(200, 300)
    assert fill(t) is t
    values = t.numpy()
    assert abs(values.mean()) < 0.02 * std + 5 * std / math.sqrt(values.size)
    assert abs(values.std() / std - 1) < 0.02
    if bound is not None:
        assert np.abs(values).max() <= bound * (1 + 1e-6)


def test_a_generator_of_ones_own():
    drawn = []
    for _ in range(2):
        g = rl.Generator()
        g.manual_seed(7)
        drawn.append(nn.init.kaiming_normal_(rl.empty(4, 5), generator=g).tolist())
        rl.rand(3)
    assert drawn[0] == drawn[1]


def test_structured():
    assert nn.init.eye_(rl.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.constant_(rl.empty(2), 3).tolist() == [3, 3]
    x = rl.rand(1, 2, 4, 4)
    weight = nn.init.dirac_(rl.empty(2, 2, 3, 3))
    assert nn.functional.conv2d(x, weight, padding=1).tolist() == x.tolist()
    assert int((nn.init.sparse_(rl.empty(10, 4), 0.3) == 0).sum()) == 12
    for shape in ((3, 3), (2, 5), (5, 2, 2), (7, 1)):
        w = nn.init.orthogonal_(rl.empty(shape, dtype=rl.float64), gain=2).flatten(1)
        product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
        assert rl.allclose(product, 4 * rl.eye(len(product), dtype=rl.float64))
    with pytest.raises(ValueError, match="two or more"):
        nn.init.orthogonal_(rl.empty(3))
    with pytest.warns(UserWarning, match="no-op"):
        nn.init.kaiming_uniform_(rl.empty(0, 3))


def test_no_history():
    w = nn.Parameter(rl.empty(3, 3))
    nn.init.kaiming_uniform_(w)
    assert w.is_leaf and w.grad_fn is None


def with_gradients():
    params = [nn.Parameter(rl.zeros(2)), nn.Parameter(rl.zeros(1)), nn.Parameter(rl.zeros(1))]
    params[0].grad = rl.tensor([3.0, 4.0])
    params[1].grad = rl.tensor([12.0])
    return params


@pytest.mark.parametrize("norm_type, total", [(2, 13.0), (1, 19.0), (float("inf"), 12.0), (3, 1819 ** (1 / 3))])
def test_clip_grad_norm(norm_type, total):
    params = with_gradients()
    norm = nn.utils.clip_grad_norm_(params, 1.0, norm_type)
    np.testing.assert_allclose(float(norm), total, rtol=1e-6)
    np.testing.assert_allclose(params[0].grad.numpy(), np.array([3, 4]) / total, rtol=1e-5)
    assert params[2].grad is None
    params = with_gradients()
    nn.utils.clip_grad_norm_(iter(params), 100.0, norm_type)
    assert params[0].grad.tolist() == [3, 4]
    np.testing.assert_allclose(
        float(nn.utils.get_total_norm([p.grad for p in params[:2]], norm_type)), total, rtol=1e-6
    )


def test_clipping_nothing_and_what_is_not_finite():
    assert float(nn.utils.clip_grad_norm_([], 1.0)) == 0
    params = with_gradients()
    params[1].grad = rl.tensor([math.inf])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert params[0].grad.tolist() == [3, 4]
    assert float(nn.utils.clip_grad_norm_(params, 1.0)) == math.inf
    assert params[0].grad.tolist() == [0, 0]


def test_clip_grad_value():
    params = with_gradients()
    nn.utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [3.0, 3.5] and params[1].grad.tolist() == [3.5]


def test_vectors():
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(vector.detach() * 0 + 1, layer.parameters())
    assert layer.weight.tolist() == [[1, 1]] * 3 and layer.weight.requires_grad
    with pytest.raises(RuntimeError, match="has 7 elements, the parameters have 9\n  hint"):
        nn.utils.vector_to_parameters(rl.zeros(7), layer.parameters())
    assert layer.weight.tolist() == [[1, 1]] * 3
