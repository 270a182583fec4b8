"""Whole trainings beside PyTorch's: the same seed gives the same model, the same batches, the same dropout, and so the
same losses."""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.utils.data  # noqa: E402, F811

import rushlight as rl  # noqa: E402
import rushlight.utils.data  # noqa: E402
from rushlight.demo import train  # noqa: E402
from rushlight.vision import datasets  # noqa: E402


@functools.cache
def digits(count):
    """Normalized images (count, 1, 28, 28), float64, and their labels, as NumPy arrays."""
    data = datasets.Digits(train=True)
    mean, std = train.STATISTICS["digits"]
    images = np.stack([np.asarray(data[i][0]) for i in range(count)])[:, None]
    return (images / 255 - mean) / std, np.asarray([data[i][1] for i in range(count)])


def demo_network(package):
    nn = package.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(1600, 10),
    )


def normalized_network(package):
    nn = package.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.GELU(),
        nn.AvgPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, groups=4),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(784, 64),
        nn.LayerNorm(64),
        nn.Dropout(0.5),
        nn.Linear(64, 10),
    )


def losses(package, network, optimizer, dtype, steps, batch_size=64, **loss_options):
    """The losses of `steps` steps, with everything made from one seed; and the trained model."""
    images, labels = digits(steps * batch_size // 2)  # two epochs, shuffled differently
    package.manual_seed(0)
    model = network(package)
    if dtype == "float64":
        model = model.double()
    inputs = package.from_numpy(images.astype(dtype))
    data = package.utils.data.TensorDataset(inputs, package.from_numpy(labels))
    loader = package.utils.data.DataLoader(data, batch_size, shuffle=True)
    step = optimizer(package, model.parameters())
    criterion = package.nn.CrossEntropyLoss(**loss_options)
    curve = []
    for _ in range(2):
        for x, y in loader:
            step.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            step.step()
            curve.append(loss.item())
    return np.asarray(curve), model


def adam(package, parameters):
    return package.optim.Adam(parameters, lr=0.001)


def sgd(package, parameters):
    return package.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=1e-4)


def test_demo_network_is_the_demos():
    ours, demos = demo_network(rl), train.network()
    assert repr(ours) == repr(demos)


def test_demo_in_float64():
    ours, model = losses(rl, demo_network, adam, "float64", 50, 32)
    theirs, reference = losses(torch, demo_network, adam, "float64", 50, 32)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    assert ours[-5:].mean() < 0.5 * ours[:5].mean()  # it does learn
    for p, q in zip(model.parameters(), reference.parameters(), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=0, atol=1e-8)


def test_demo_in_float32():
    ours, _ = losses(rl, demo_network, adam, "float32", 50)
    theirs, _ = losses(torch, demo_network, adam, "float32", 50)
    np.testing.assert_allclose(ours[:10], theirs[:10], rtol=1e-4)
    np.testing.assert_allclose(ours, theirs, rtol=2e-2)


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}])
def test_normalized_network_with_momentum(options):
    ours, model = losses(rl, normalized_network, sgd, "float64", 30, 16, **options)
    theirs, reference = losses(torch, normalized_network, sgd, "float64", 30, 16, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        np.testing.assert_allclose(getattr(model[1], name).numpy(), getattr(reference[1], name).numpy(), rtol=1e-8)
    model.eval(), reference.eval()
    images = digits(240)[0][:10]
    with rl.no_grad():
        outputs = model(rl.from_numpy(images))
    with torch.no_grad():
        np.testing.assert_allclose(outputs.numpy(), reference(torch.from_numpy(images)).numpy(), rtol=1e-7, atol=1e-8)
