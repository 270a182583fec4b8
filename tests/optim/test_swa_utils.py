"""Averages of weights."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.optim import swa_utils

VALUES = [1.0, 3.0, -2.0, 6.0]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, np.mean(VALUES)),
        ({"avg_fn": swa_utils.get_swa_avg_fn()}, np.mean(VALUES)),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, np.mean(VALUES)),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, ((1 / 2 + 3 / 2) / 2 - 2 / 2) / 2 + 6 / 2),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, ((1 / 2 + 3 / 2) / 2 - 2 / 2) / 2 + 6 / 2),
        ({"avg_fn": lambda averaged, current, n: averaged + n}, 1 + 1 + 2 + 3),
    ],
)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averages(options, expected, use_buffers):
    model = nn.Linear(1, 1).double()
    model.register_buffer("b", rl.zeros(1))
    model.register_buffer("i", rl.zeros(1, dtype=rl.int64))
    averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers, **options)
    for value in VALUES:
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data.fill_(value)
        averaged.update_parameters(model)
    assert averaged.n_averaged == len(VALUES)
    np.testing.assert_allclose(averaged.module.weight.item(), expected, rtol=1e-12)
    np.testing.assert_allclose(averaged.module.b.item(), expected if use_buffers else VALUES[-1], rtol=1e-6)
    assert averaged.module.weight.requires_grad and averaged.module.weight is not model.weight
    other = swa_utils.AveragedModel(model)
    other.load_state_dict(averaged.state_dict())
    assert other.n_averaged == len(VALUES) and other.module.weight.item() == averaged.module.weight.item()


def test_statistics_start_over():
    model = nn.Sequential(nn.BatchNorm1d(2, momentum=0.3), nn.BatchNorm1d(2, track_running_stats=True)).eval()
    batches = np.random.default_rng(0).standard_normal((3, 16, 2)).astype("float32") * 3 + 1
    for _ in range(2):
        swa_utils.update_bn([(rl.from_numpy(b.copy()), None) for b in batches], model)
    np.testing.assert_allclose(model[0].running_mean.tolist(), batches.mean((0, 1)), rtol=1e-5)
    np.testing.assert_allclose(model[0].running_var.tolist(), batches.var(1, ddof=1).mean(0), rtol=1e-5)
    assert not model.training and model[0].momentum == 0.3 and model[0].num_batches_tracked == 3


def test_an_error_leaves_the_model_as_it_was():
    model = nn.BatchNorm1d(2, momentum=0.3).eval()
    with pytest.raises(Exception):  # noqa: B017
        swa_utils.update_bn([rl.ones(4, 3)], model)
    assert not model.training and model.momentum == 0.3
