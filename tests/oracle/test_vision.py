"""Models of rushlight.vision, their source run on PyTorch and on the package: the same seed, the same numbers."""

import inspect
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402
from rushlight.vision.models import resnet  # noqa: E402


def on_torch():
    """The classes of the module with PyTorch in the package's place; the functions that load weights left away."""
    source = inspect.getsource(resnet).partition("class ResNet18_Weights")[0]
    source = re.sub(r"from \._\w+ import .*\n", "", source).replace("from rushlight import", "from torch import")
    names = {}
    exec(source, names)
    return names


MODELS = {
    "basic": ("BasicBlock", {}),
    "bottleneck": ("Bottleneck", {}),
    "groups": ("Bottleneck", {"groups": 4, "width_per_group": 8}),
    "dilated": ("Bottleneck", {"replace_stride_with_dilation": [False, True, True]}),
    "zero": ("BasicBlock", {"zero_init_residual": True}),
}


@pytest.mark.parametrize("name", MODELS)
def test_resnet(name):
    block, options = MODELS[name]
    names = on_torch()
    results = []
    pixels = np.random.default_rng(0).standard_normal((2, 3, 40, 40)).astype("float32")
    for lib, ResNet, kind in (
        (torch, names["ResNet"], names[block]),
        (rl, resnet.ResNet, getattr(resnet, block)),
    ):
        lib.manual_seed(5)
        model = ResNet(kind, [1, 2, 1, 1], num_classes=7, **options)
        initial = {key: value.detach().numpy().copy() for key, value in model.state_dict().items()}
        images = lib.from_numpy(pixels.copy())
        out = model(images)
        out.square().sum().backward()
        gradient = model.conv1.weight.grad
        results.append((initial, out.detach().numpy(), gradient.numpy(), model.eval()(images).detach().numpy()))
    want, got = results
    assert list(want[0]) == list(got[0])
    for key, value in want[0].items():
        np.testing.assert_allclose(got[0][key], value, atol=2e-6, err_msg=key)
    for w, g in zip(want[1:], got[1:], strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-3, atol=2e-3 * abs(w).max())


def test_fake_data():
    torch.manual_seed(3)
    pixels, label = torch.randn(3, 8, 6), torch.randint(0, 4, (1,)).item()
    image, got = rl.vision.datasets.FakeData(5, (3, 8, 6), 4)[3]
    assert got == label and np.array_equal(np.asarray(image), pixels.mul(255).byte().permute(1, 2, 0).numpy())
