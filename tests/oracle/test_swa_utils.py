"""optim.swa_utils beside PyTorch's: averages, statistics, rates."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402


def model_of(package):
    package.manual_seed(0)
    net = package.nn.Sequential(package.nn.Linear(2, 3), package.nn.BatchNorm1d(3, momentum=0.3))
    net.register_buffer("count", package.zeros(2, dtype=package.int64))
    return net


AVERAGES = {
    "mean": lambda u: {},
    "avg_fn": lambda u: {"avg_fn": lambda a, p, n: 0.9 * a + 0.1 * p},
    "swa_avg_fn": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "ema_avg_fn": lambda u: {"avg_fn": u.get_ema_avg_fn(0.7)},
    "multi_ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.7)},
    "ema of all": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.7), "use_buffers": True},
    "mean of all": lambda u: {"use_buffers": True},
}


@pytest.mark.parametrize("options", AVERAGES)
def test_averages(options):
    results = []
    for package in (rl, torch):
        net = model_of(package)
        averaged = package.optim.swa_utils.AveragedModel(net, **AVERAGES[options](package.optim.swa_utils))
        optimizer = package.optim.SGD(net.parameters(), lr=0.1)
        x = package.tensor(np.random.default_rng(0).standard_normal((8, 2)), dtype=package.float32)
        for step in range(6):
            optimizer.zero_grad()
            ((net(x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
            optimizer.step()
            net.count += step
            averaged.update_parameters(net)
        results.append({k: v.numpy() for k, v in averaged.state_dict().items()} | {"y": averaged(x).detach().numpy()})
        assert averaged.n_averaged == 6
    assert list(results[0]) == list(results[1])
    for key in results[0]:
        np.testing.assert_allclose(results[0][key], results[1][key], rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("pack", [lambda x: x, lambda x: [x, 0], lambda x: (x,)])
def test_update_bn(pack):
    results = []
    for package in (rl, torch):
        net = model_of(package).eval()
        batches = np.random.default_rng(1).standard_normal((4, 8, 2)).astype("float32")
        package.optim.swa_utils.update_bn([pack(package.from_numpy(b.copy())) for b in batches], net)
        assert not net.training and net[1].momentum == 0.3
        results.append({k: v.numpy() for k, v in net.state_dict().items()})
    for key in results[0]:
        np.testing.assert_allclose(results[0][key], results[1][key], rtol=1e-5, atol=1e-6, err_msg=key)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("swa_lr, epochs", [(0.05, 10), ([0.05, 0.2], 3), (2.0, 1), (0.05, 0)])
def test_swalr(swa_lr, epochs, strategy):
    runs = []
    for package in (rl, torch):
        groups = [{"params": [package.zeros(1, requires_grad=True)], "lr": rate} for rate in (1.0, 0.3)]
        make = lambda o, package=package: package.optim.swa_utils.SWALR(o, swa_lr, epochs, strategy)
        optimizer = package.optim.SGD(groups)
        scheduler = make(optimizer)
        rows = [scheduler.get_last_lr()]
        for epoch in range(20):
            optimizer.step()
            if epoch % 5:  # else the rates stand still, or are changed by something else
                scheduler.step()
            if epoch == 7:
                saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
                scheduler = make(optimizer)
                optimizer.load_state_dict(saved[0])
                scheduler.load_state_dict(saved[1])
            rows.append([g["lr"] for g in optimizer.param_groups])
        runs.append(rows)
    np.testing.assert_allclose(*runs, rtol=1e-12)


ERRORS = [
    lambda u, o, p: u.SWALR(o, [0.1, 0.2]),
    lambda u, o, p: u.SWALR(o, 0.1, anneal_strategy="square"),
    lambda u, o, p: u.SWALR(o, 0.1, anneal_epochs=-1),
    lambda u, o, p: u.SWALR(o, 0.1, anneal_epochs=1.5),
    lambda u, o, p: u.get_ema_avg_fn(-1),
    lambda u, o, p: u.get_ema_multi_avg_fn(2),
    lambda u, o, p: u.AveragedModel(p.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
]


@pytest.mark.parametrize("provoke", ERRORS)
def test_error_types(provoke):
    kinds = []
    for package in (rl, torch):
        optimizer = package.optim.SGD([package.ones(1, requires_grad=True)])
        with pytest.raises(Exception) as caught:
            provoke(package.optim.swa_utils, optimizer, package)
        kinds.append(type(caught.value))
    assert kinds[0] is kinds[1]
