"""Files: what PyTorch writes is read here, what is written here is read by PyTorch, and both refuse the same."""

import collections
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
import rushlight as rl  # noqa: E402

NAMES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 bool uint16 uint32".split()


def content(p):
    """The same objects from either package `p`."""
    base = p.arange(24.0).view(4, 6)
    state = collections.OrderedDict(weight=base, bias=base[0])
    state._metadata = {"": {"version": 1}}
    return {
        "state": state,
        "views": [base.t(), base[1::2, 1:4], base, p.tensor([1.0, 2.0]).expand(3, 2)],
        "small": [p.tensor(3), p.empty(0, 3), p.tensor(True)],
        "parameters": [p.nn.Parameter(p.ones(2)), p.nn.Parameter(p.ones(2), requires_grad=False)],
        "leaf": p.ones(2, requires_grad=True),
        "dtypes": [p.ones(3).to(getattr(p, name)) for name in NAMES],
        "names": [p.float16, p.Size([1, 2]), p.device("cpu")],
        "plain": [1, -(10**30), 2.5, None, True, "text é", b"bytes", {1, 2}, (3, (4,)), {"k": [1]}, 1 + 2j],
        "counter": collections.Counter("abca"),
    }


def facts(value):
    if isinstance(value, (torch.Tensor, rl.Tensor)):
        kind = type(value).__name__
        geometry = tuple(value.shape), tuple(value.stride()), value.storage_offset()
        return kind, str(value.dtype).split(".")[-1], geometry, value.requires_grad, value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(key, facts(item)) for key, item in value.items()], getattr(value, "_metadata", 0)
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [facts(item) for item in value]
    return str(value).replace("rushlight", "torch")


@pytest.mark.parametrize("writer, reader", [(rl, torch), (torch, rl)], ids=["ours to theirs", "theirs to ours"])
@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"mmap": True}, {"map_location": "cpu"}], ids=str)
def test_exchange(writer, reader, options, tmp_path):
    writer.save(content(writer), tmp_path / "a.pt")
    loaded = reader.load(tmp_path / "a.pt", **options)
    assert facts(loaded) == facts(content(reader)) == facts(content(writer))
    loaded["views"][2][0, 0] = -1
    assert loaded["views"][0][0, 0].item() == loaded["state"]["bias"][0].item() == -1


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"map_location": "cpu"}], ids=str)
def test_the_format_before_1_6(options, tmp_path):
    torch.save(content(torch), tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    loaded = rl.load(tmp_path / "a.pt", **options)
    assert facts(loaded) == facts(content(rl))
    loaded["views"][2][0, 0] = -1
    assert loaded["views"][0][0, 0].item() == loaded["state"]["bias"][0].item() == -1


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_protocols(protocol):
    for writer, reader in ((rl, torch), (torch, rl)):
        file = io.BytesIO()
        writer.save(content(writer), file, pickle_protocol=protocol)
        file.seek(0)
        assert facts(reader.load(file, weights_only=False)) == facts(content(reader))


def test_a_training_state():
    """A model's and an optimizer's state after a step, there and back."""

    def trained(p):
        p.manual_seed(0)
        model = p.nn.Sequential(p.nn.Linear(3, 4), p.nn.BatchNorm1d(4), p.nn.Linear(4, 2))
        optimizer = p.optim.Adam(model.parameters(), lr=0.01)
        model(p.ones(5, 3)).sum().backward()
        optimizer.step()
        return model, optimizer

    for writer, reader in ((rl, torch), (torch, rl)):
        model, optimizer = trained(writer)
        file = io.BytesIO()
        writer.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, file)
        file.seek(0)
        checkpoint = reader.load(file)
        other, other_optimizer = trained(reader)
        other.load_state_dict(checkpoint["model"])
        other_optimizer.load_state_dict(checkpoint["optimizer"])
        assert facts(dict(other.state_dict())) == facts(dict(model.state_dict()))


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"<html>" + b"x" * 400,
        b"PK\x03\x04" + bytes(500),
        pickle.dumps({"a": 1}),
    ],
)
def test_types_of_errors(bad):
    kinds = []
    for package in (rl, torch):
        with pytest.raises(Exception) as caught:
            package.load(io.BytesIO(bad))
        kinds.append(caught.type)
    if bad[:1] != b"\x80":  # a bare pickle, which PyTorch takes for its oldest format
        assert issubclass(kinds[0], kinds[1])


def test_types_of_errors_in_calls(tmp_path):
    file = io.BytesIO()
    torch.save([1], file)
    for call in (
        lambda p: p.load(tmp_path / "none.pt"),
        lambda p: p.save(1, tmp_path / "none" / "a.pt"),
        lambda p: p.load(b"abc"),
        lambda p: p.save(1, 3),
        lambda p: p.load(file, mmap=True),
        lambda p: p.load(file, pickle_module=pickle, weights_only=True),
        lambda p: p.save(shared_as_two_types(p), io.BytesIO()),
    ):
        kinds = []
        for package in (rl, torch):
            file.seek(0)
            with pytest.raises(Exception) as caught:
                call(package)
            kinds.append(caught.type)
        assert issubclass(kinds[0], kinds[1]), kinds


def shared_as_two_types(p):
    tensor = p.ones(2)
    return [tensor, tensor.view(p.int32)]


def test_dtypes_that_are_names_only(tmp_path):
    torch.save(torch.ones(2, dtype=torch.complex64), tmp_path / "complex")
    with pytest.raises(NotImplementedError, match="there are no tensors of complex64"):
        rl.load(tmp_path / "complex")
    with pytest.raises(NotImplementedError, match="there are no tensors of complex64"):
        rl.load(tmp_path / "complex", weights_only=False)
