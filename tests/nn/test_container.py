"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import pytest

import rushlight as rl
from rushlight import nn


def acts(n):
    return [nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.Identity()][:n]


def kinds(modules):
    return [type(m).__name__ for m in modules]


@pytest.mark.parametrize("cls", [nn.Sequential, lambda *m: nn.ModuleList(m)], ids=["Sequential", "ModuleList"])
def test_as_a_list(cls):
    s = cls(*acts(3))
    assert len(s) == 3 and kinds(s) == ["ReLU", "Tanh", "Sigmoid"]
    assert s[0] is next(iter(s)) and isinstance(s[-1], nn.Sigmoid)
    assert kinds(s[1:]) == ["Tanh", "Sigmoid"] and type(s[1:]) is type(s)
    s.append(nn.Identity())
    s.insert(1, nn.GELU())
    assert kinds(s) == ["ReLU", "GELU", "Tanh", "Sigmoid", "Identity"] and list(s._modules) == list("01234")
    del s[0]
    del s[1:3]
    assert kinds(s) == ["GELU", "Identity"] and list(s._modules) == ["0", "1"]
    s[0] = nn.Tanh()
    s.extend([nn.ReLU()])
    s += [nn.ReLU()]
    assert kinds(s) == ["Tanh", "Identity", "ReLU", "ReLU"]
    assert isinstance(s.pop(0), nn.Tanh) and len(s) == 3
    assert kinds(s + cls(*acts(1))) == ["Identity", "ReLU", "ReLU", "ReLU"]
    for index in (7, -7):
        with pytest.raises(IndexError):
            s[index]


def test_sequential():
    x = rl.tensor([-1.0, 1.0])
    s = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert list(s._modules) == ["a", "b"] and s.a is s[0]
    assert s(x).tolist() == x.relu().tanh().tolist()
    assert nn.Sequential()(x) is x
    assert len(s * 3) == 6
    with pytest.raises(ValueError):
        s * 0
    with pytest.raises(ValueError):
        s + [nn.ReLU()]
    s[1] = nn.Identity()  # seen by the next call
    assert s(x).tolist() == [0.0, 1.0]


def test_module_dict():
    d = nn.ModuleDict({"a": nn.ReLU()})
    d["b"] = nn.Tanh()
    d.update([("c", nn.Sigmoid())])
    assert list(d) == list(d.keys()) == ["a", "b", "c"] and len(d) == 3 and "b" in d
    assert kinds(d.values()) == ["ReLU", "Tanh", "Sigmoid"] and d.pop("a") is not None
    del d["b"]
    assert [k for k, _ in d.items()] == ["c"]
    d.clear()
    assert len(d) == 0
    with pytest.raises(TypeError):
        d.update(3)
    with pytest.raises(ValueError):
        d.update([("a",)])


def test_parameter_list():
    p = nn.ParameterList([rl.zeros(2), nn.Parameter(rl.ones(3))])
    p.append(rl.zeros(1))
    p += [rl.ones(4)]
    assert len(p) == 4 and all(isinstance(q, nn.Parameter) for q in p)
    assert list(p.state_dict()) == ["0", "1", "2", "3"]
    p[0] = rl.ones(5)
    assert p[0].shape == (5,) and p[-1].shape == (4,) and len(p[1:3]) == 2
    assert p.pop().shape == (4,) and len(p) == 3
    assert repr(p).splitlines()[1] == "    (0): Parameter containing: [torch.float32 of size 5]"
    with pytest.raises(RuntimeError):
        p(1)


def test_parameter_dict():
    p = nn.ParameterDict({"a": rl.zeros(2)})
    p["b"] = rl.ones(1)
    p |= {"c": nn.Parameter(rl.ones(3))}
    assert list(p) == ["a", "b", "c"] and isinstance(p["b"], nn.Parameter)
    assert p.get("x") is None and p.setdefault("a") is p["a"]
    assert [k for k, _ in p.named_parameters()] == ["a", "b", "c"]
    assert list((p | {"d": rl.ones(1)}).keys()) == ["a", "b", "c", "d"] and len(p) == 3
    assert p.popitem()[0] == "c"
    del p["a"]
    assert len(p) == 1
    with pytest.raises(KeyError):
        p["a"]
    with pytest.raises(KeyError):
        nn.ParameterDict().popitem()
