"""The safetensors package's own interface for PyTorch runs on Rushlight."""

import importlib.util

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("safetensors") is None, reason="safetensors is not installed")

PROGRAM = """
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
tensors = dict(model.state_dict())
for dtype in ("float16", "bfloat16", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64"):
    tensors[dtype] = torch.arange(3).to(getattr(torch, dtype))
tensors |= {"bool": torch.tensor([True, False]), "empty": torch.empty(0, 3), "scalar": torch.tensor(2.0)}
save_file(tensors, "a", metadata={"format": "pt"})

def same(found):
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype and torch.equal(found[name], tensor), name

same(load_file("a"))
same(load(save(tensors)))
with safe_open("a", framework="pt", device="cpu") as file:
    assert file.metadata() == {"format": "pt"}
    same({name: file.get_tensor(name) for name in file.keys()})
    assert torch.equal(file.get_slice("0.weight")[1:, :2], model[0].weight[1:, :2])

tied = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
tied["b"].weight = tied["a"].weight
save_model(tied, "b")
other = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
other["b"].weight = other["a"].weight
load_model(other, "b")
assert torch.equal(other["b"].weight, tied["a"].weight)
try:
    save_file({"a": tied["a"].weight, "b": tied["b"].weight}, "c")
except RuntimeError as error:
    assert "share memory" in str(error)
else:
    raise SystemExit("shared memory was not noticed")
loaded = load_file("a")["0.weight"].add_(1)  # memory of its own: the file stays as it is
assert not torch.equal(load_file("a")["0.weight"], loaded)
print("all as saved", torch.__version__)
"""


def test_safetensors_torch(python, folder):
    (folder / "program.py").write_text(PROGRAM)
    assert "all as saved" in python("-m", "rushlight", "run", "program.py").stdout
