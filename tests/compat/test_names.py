"""PyTorch's names for Rushlight's modules, and what is said of a name that is not there."""

import importlib
import importlib.metadata
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import rushlight
import rushlight.compat
from rushlight.torch_version import TorchVersion

INSIDE = """
import rushlight.compat
rushlight.compat.install()
"""


@pytest.fixture
def installed():
    """The names in this process; PyTorch's own modules, if tests have imported them, stand aside meanwhile."""
    aside = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in ("torch", "torchvision")
    }
    rushlight.compat.install()
    yield
    rushlight.compat.uninstall()
    sys.modules.update(aside)


SAME = [
    ("torch.nn", "rushlight.nn"),
    ("torch.nn.functional", "rushlight.nn.functional"),
    ("torch.nn.modules.linear", "rushlight.nn.modules.linear"),
    ("torch.nn.parallel", "rushlight.nn.parallel"),
    ("torch.optim", "rushlight.optim"),
    ("torch.optim.lr_scheduler", "rushlight.optim.lr_scheduler"),
    ("torch.autograd", "rushlight.autograd"),
    ("torch.utils.data", "rushlight.utils.data"),
    ("torch.utils.data.dataloader", "rushlight.utils.data.dataloader"),
    ("torch.utils.checkpoint", "rushlight.utils.checkpoint"),
    ("torch.utils.collect_env", "rushlight.utils.collect_env"),
    ("torch.utils.tensorboard", "rushlight.utils.tensorboard"),
    ("torch.backends.cudnn", "rushlight.backends.cudnn"),
    ("torch.cuda", "rushlight.cuda"),
    ("torch.cuda.amp", "rushlight.cuda.amp"),
    ("torch.distributed", "rushlight.distributed"),
    ("torch.multiprocessing", "rushlight.multiprocessing"),
    ("torch.serialization", "rushlight.serialization"),
    ("torch._C", "rushlight._C"),
    ("torch._utils", "rushlight._tensor_pickle"),
    ("torchvision.datasets", "rushlight.vision.datasets"),
    ("torchvision.transforms.functional", "rushlight.vision.transforms.functional"),
]


@pytest.mark.parametrize("theirs, ours", SAME, ids=[theirs for theirs, _ in SAME])
def test_modules_are_the_same(installed, theirs, ours):
    module = importlib.import_module(theirs)
    assert module is sys.modules[ours] and module.__name__ == module.__spec__.name == ours
    parent, _, child = theirs.rpartition(".")
    assert child.startswith("_") or getattr(importlib.import_module(parent), child) is module
    assert importlib.util.find_spec(theirs) is not None


def test_spellings(installed):
    import torch
    import torch.nn as nn
    import torch.nn.functional
    import torchvision
    import torchvision.transforms as T
    from torch import Tensor, optim
    from torch.autograd import Variable
    from torch.nn import Linear, Module
    from torch.nn import functional as F
    from torch.optim.lr_scheduler import StepLR
    from torch.utils.data import DataLoader, Dataset
    from torchvision import datasets

    assert torch.nn is nn is rushlight.nn and F is torch.nn.functional is rushlight.nn.functional
    assert (
        Tensor is rushlight.Tensor
        and isinstance(rushlight.ones(1), Variable)
        and optim is rushlight.optim
        and Linear is rushlight.nn.Linear
    )
    assert issubclass(Linear, Module) and StepLR is rushlight.optim.lr_scheduler.StepLR
    assert DataLoader is rushlight.utils.data.DataLoader and issubclass(datasets.MNIST, Dataset)
    assert T is torchvision.transforms and datasets is torchvision.datasets is rushlight.vision.datasets
    assert isinstance(torch.zeros(2), torch.Tensor) and isinstance(nn.Linear(1, 1), rushlight.nn.Module)
    assert torch.add is rushlight.add and torch.float32 is rushlight.float32


def test_star(installed):
    names = {}
    exec("from torch import *", names)
    assert names["Tensor"] is rushlight.Tensor and names["nn"] is rushlight.nn and names["FloatTensor"].__name__


def test_what_torch_says_of_itself(installed):
    import torch
    import torchvision

    assert torch.__version__ == "2.13.0+rushlight" and torch.__version__ == torch.version.__version__
    assert torch.__version__ >= (2, 4) and torchvision.__version__ > "0.20"
    assert not rushlight.__version__.endswith("+rushlight")
    assert importlib.metadata.version("torch") == torch.__version__
    assert torch.__name__ == torch.__spec__.name == "torch" and torch.__file__ == rushlight.__file__
    assert importlib.util.find_spec("torch") is torch.__spec__
    assert {"nn", "save", "Tensor", "__version__"} <= set(dir(torch)) and "torch" in repr(torch)
    assert pickle.loads(pickle.dumps(torch)) is torch


def test_what_is_patched_is_patched_under_both_names(installed, monkeypatch):
    import torch

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", 1)
        patch.setattr("torch.nn.functional.relu", 2)
        patch.setattr(torch, "novel", 3, raising=False)
        assert rushlight.save == 1 and rushlight.nn.functional.relu == 2 and rushlight.novel == 3
    assert callable(rushlight.save) and not hasattr(rushlight, "novel") and not hasattr(torch, "novel")
    torch.__version__ = "1.0"
    assert rushlight.__version__ != "1.0"
    with monkeypatch.context() as patch:
        patch.setattr(torch.backends.cudnn, "benchmark", 4)
        assert rushlight.backends.cudnn.benchmark == 4


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(installed, protocol):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU())
    for value in (model, torch.ones(2), torch.float16, torch.nn.Linear, torch.add, torch.FloatTensor, torch.Size([1])):
        again = pickle.loads(pickle.dumps(value, protocol))
        assert type(again) is type(value)
    # A pickle that names classes as PyTorch does.
    named = b"c" + b"torch.nn.modules.linear\nLinear\n."
    assert pickle.loads(named) is torch.nn.Linear


def test_uninstall_and_again(installed):
    import torch

    assert rushlight.compat.is_installed()
    rushlight.compat.install()
    hook = os.environ["PYTHONPATH"].split(os.pathsep)[0]
    assert pathlib.Path(hook, "sitecustomize.py").exists()
    rushlight.compat.uninstall()
    rushlight.compat.uninstall()
    assert not rushlight.compat.is_installed() and "torch" not in sys.modules
    assert hook not in os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rushlight.compat.install()
    assert torch.nn is importlib.import_module("torch").nn


def test_installed_too_late(python, folder):
    text = "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
    done = python("-c", text + INSIDE, status=1)
    assert "'torch' is imported already, from somewhere\n  hint: call rushlight.compat.install() before" in done.stderr


POINTER = "docs/differences.md"


@pytest.mark.parametrize(
    "statement, error, words",
    [
        ("import torch.quantization", ModuleNotFoundError, "No module named 'torch.quantization'"),
        ("import torch.nn.quantized.dynamic", ModuleNotFoundError, "'torch.nn.quantized'"),
        ("import torchvision.prototype", ModuleNotFoundError, "'torchvision.prototype'"),
        ("import torch.distributed.elastic", ModuleNotFoundError, "'torch.distributed.elastic'"),
        ("from torch.utils.tensorboard.writer import SummaryWriter", ModuleNotFoundError, "tensorboard.writer"),
        ("from torch import novelty", ImportError, "cannot import name 'novelty' from 'torch'"),
        ("from torch.nn import Novelty", ImportError, "cannot import name 'Novelty' from 'rushlight.nn'"),
        ("from torch.nn.functional import novelty", ImportError, "'novelty' from 'rushlight.nn.functional'"),
        ("from torch.optim import Novelty", ImportError, "'Novelty'"),
        ("from torch.optim.lr_scheduler import Novelty", ImportError, "'Novelty'"),
        ("from torch.utils.data import Novelty", ImportError, "'Novelty'"),
        ("from torch.utils.tensorboard import SummaryWriter", ImportError, "tensorboardX"),
        ("from torchvision.transforms import Novelty", ImportError, "'Novelty'"),
        ("import torch; torch.novelty", AttributeError, "module 'torch' has no attribute 'novelty'"),
        ("import torch; torch.nn.Novelty", AttributeError, "module 'rushlight.nn' has no attribute 'Novelty'"),
        ("import torch; torch.nn.functional.novelty", AttributeError, "'novelty'"),
        ("import torchvision; torchvision.novelty", AttributeError, "module 'torchvision' has no attribute"),
        ("import rushlight as torch; torch.novelty", AttributeError, "module 'rushlight' has no attribute"),
        ("from rushlight import novelty", ImportError, "cannot import name 'novelty' from 'rushlight'"),
        ("import torch; torch.jit.novelty", AttributeError, "'novelty': TorchScript"),
    ],
)
def test_what_is_missing(installed, statement, error, words):
    with pytest.raises(error) as caught:
        exec(statement, {})
    assert words in str(caught.value) and POINTER in str(caught.value)
    assert type(caught.value) is error


def test_who_only_asks(installed):
    import torch

    assert not hasattr(torch, "novelty") and not hasattr(torch.nn, "Novelty")
    assert getattr(torch, "novelty", None) is None
    assert importlib.util.find_spec("torch.novelty") is None
    with pytest.raises(AttributeError):
        torch.__novelty__  # noqa: B018


RAISES = [  # NotImplementedError that names what was called
    ("jit.script", lambda torch: torch.jit.script(lambda x: x)),
    ("jit.trace", lambda torch: torch.jit.trace(torch.nn.ReLU(), torch.ones(1))),
    ("jit.load", lambda torch: torch.jit.load("x.pt")),
    ("onnx.export", lambda torch: torch.onnx.export(torch.nn.ReLU(), (torch.ones(1),), "x.onnx")),
    ("distributed.init_process_group", lambda torch: torch.distributed.init_process_group("gloo")),
    ("distributed.all_reduce", lambda torch: torch.distributed.all_reduce(torch.ones(1))),
    ("nn.parallel.DistributedDataParallel", lambda torch: torch.nn.parallel.DistributedDataParallel(torch.nn.ReLU())),
    ("hub.load", lambda torch: torch.hub.load("owner/repository", "model")),
    ("set_default_device", lambda torch: torch.set_default_device("meta")),
]


@pytest.mark.parametrize("name, call", RAISES, ids=[name for name, _ in RAISES])
def test_what_raises_by_name(name, call):
    with pytest.raises(NotImplementedError, match=name.replace(".", r"\.")) as caught:
        call(rushlight)
    assert "hint: " in str(caught.value)


@pytest.mark.parametrize(
    "version, below, above",
    [
        (
            "2.13.0+rushlight",
            ["2.4", (2, 12), "2.13.0", "2.13.0a1", "1.99.9", (2, 13)],
            ["2.13.1", "3", (2, 14), "2.100"],
        ),
        ("2.0", ["2.0a1", "1.9"], ["2.0+cpu", "2.0.1"]),
    ],
)
def test_versions(version, below, above):
    version = TorchVersion(version)
    assert all(version > other and version >= other and not version < other for other in below)
    assert all(version < other and version <= other and not version > other for other in above)
    assert version == str(version) and hash(version) == hash(str(version)) and version >= version
    with pytest.raises(ValueError, match="not a version"):
        version < "novel"  # noqa: B015


def test_collect_env(python):
    done = python("-m", "rushlight", "run", "-m", "torch.utils.collect_env")
    for line in (
        f"Rushlight version: {rushlight.__version__}",
        "PyTorch version: 2.13.0+rushlight",
        "CUDA used to build: None",
    ):
        assert line in done.stdout
    assert f"Python version: {sys.version.split()[0]}" in done.stdout


def test_installing_is_quick():
    """Every Python that a program starts pays for it, whether it imports torch or not."""
    code = "import sys; print(sorted(name for name in sys.modules if name.split('.')[0] in ('rushlight', 'numpy')))"
    hook = pathlib.Path(rushlight.compat.__file__).parent / "hook"
    path = os.pathsep.join([str(hook), *filter(None, [os.environ.get("PYTHONPATH")])])
    out = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, text=True, capture_output=True, check=True
    )
    assert out.stdout == "['rushlight.compat._finder']\n" and not out.stderr
