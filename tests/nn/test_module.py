"""Module: registration, walking, conversion, state, hooks, errors, copies."""

import copy
import gc
import pickle
import warnings
import weakref

import pytest

import rushlight as rl
from rushlight import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2)])
        self.scale = nn.Parameter(rl.ones(1))
        self.register_buffer("count", rl.zeros((), dtype=rl.int64))
        self.register_buffer("scratch", rl.zeros(2), persistent=False)

    def forward(self, x, factor=1):
        x = self.fc(x)
        for layer in self.layers:
            x = layer(x)
        return x * self.scale * factor


def test_registration():
    net = Net()
    assert [n for n, _ in net.named_children()] == ["fc", "layers"]
    assert net.fc is net._modules["fc"] and net.scale is net._parameters["scale"]
    net.plain = 3
    assert net.__dict__["plain"] == 3
    net.plain = nn.ReLU()  # a module in place of a plain attribute
    assert "plain" not in net.__dict__ and isinstance(net.plain, nn.ReLU)
    net.plain = nn.Parameter(rl.ones(1))  # a parameter in place of a module
    assert "plain" not in net._modules and "plain" in dict(net.named_parameters())
    net.plain = None
    assert net.plain is None and "plain" in net._parameters
    del net.plain
    assert not hasattr(net, "plain")
    net.count = rl.ones((), dtype=rl.int64)  # a tensor takes a buffer's place
    assert int(net._buffers["count"]) == 1
    net.extra = nn.Buffer(rl.ones(2), persistent=False)
    assert "extra" in net._buffers and "extra" not in net.state_dict()
    net.tensor = rl.ones(2)  # a plain tensor is no buffer
    assert "tensor" in net.__dict__
    del net.count
    assert "count" not in net._buffers


def test_names_asked_for_are_looked_up_in_each_instance():
    class Holder(nn.Module):
        pass

    a, b, c = Holder(), Holder(), Holder()
    a.x = nn.ReLU()
    b.x = nn.Parameter(rl.ones(1))
    assert isinstance(a.x, nn.ReLU) and isinstance(a.x, nn.ReLU)
    assert isinstance(b.x, nn.Parameter)
    with pytest.raises(AttributeError):
        _ = c.x
    assert not hasattr(c, "x") and "x" not in dir(c) and "x" in dir(a)
    c.x = 5
    assert c.x == 5 and isinstance(a.x, nn.ReLU)
    del a.x
    assert not hasattr(a, "x")


def test_own_getattr_is_always_asked():
    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.ReLU()
            self.asked = []

        def __getattr__(self, name):
            if name == "inner":
                self.asked.append(name)
            return super().__getattr__(name)

    w = Wrapper()
    assert w.inner is w.inner and len(w.asked) == 2


@pytest.mark.parametrize(
    "assign, message",
    [
        (lambda m: setattr(m, "fc", 3), "cannot assign 'int' object to child module 'fc'"),
        (lambda m: setattr(m, "scale", rl.ones(1)), "object to parameter 'scale'"),
        (lambda m: setattr(m, "count", 3), "cannot assign 'int' object to buffer 'count'"),
        (lambda m: m.register_parameter("p", 3), "parameter 'p'"),
        (lambda m: m.register_parameter("p", 3), "required"),
    ],
)
def test_wrong_kinds(assign, message):
    with pytest.raises(TypeError, match=message):
        assign(Net())


def test_before_init():
    class Early(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(2, 2)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call\n  hint: call super"):
        Early()

    class Never(nn.Module):
        def __init__(self):
            self.size = 3

    with pytest.raises(AttributeError, match="hint: call super"):
        _ = Never().fc


def test_unknown_attribute():
    net = Net()
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'layer'\n  hint: did you mean 'layers'"):
        _ = net.layer
    assert not hasattr(net, "absent")
    assert getattr(net, "absent", 5) == 5
    assert {"fc", "scale", "count", "forward", "training"} <= set(dir(net))


def test_paths():
    net = Net()
    assert net.get_submodule("layers.0.1") is net.layers[0][1]
    assert net.get_submodule("") is net
    assert net.get_parameter("layers.0.0.bias") is net.layers[0][0].bias
    assert net.get_buffer("count") is net.count
    net.set_submodule("layers.0.1", nn.Tanh())
    assert isinstance(net.layers[0][1], nn.Tanh)
    with pytest.raises(AttributeError):
        net.set_submodule("layers.7", nn.Tanh(), strict=True)
    with pytest.raises(AttributeError):
        net.get_submodule("layers.0.1.no")


def test_tied_parameters_are_listed_once():
    net = Net()
    net.again = net.fc
    net.same = net.fc.weight
    names = [n for n, _ in net.named_parameters()]
    assert "again.weight" not in names and len(names) == len({id(p) for p in net.parameters()})
    assert "again.weight" in [n for n, _ in net.named_parameters(remove_duplicate=False)]
    assert "again.weight" in net.state_dict()


def test_conversion():
    net = Net()
    weight = net.fc.weight
    net(rl.ones(2, 3)).sum().backward()
    assert net.double() is net
    assert net.fc.weight is weight and weight.dtype == rl.float64 and weight.grad.dtype == rl.float64
    assert net.count.dtype == rl.int64 and net.scratch.dtype == rl.float64
    assert weight.is_leaf and weight.requires_grad
    assert net.to(rl.float32).fc.weight.dtype == rl.float32
    assert net.to("cpu", rl.float16).scale.dtype == rl.float16
    assert net.to(rl.ones(1, dtype=rl.float64)).scale.dtype == rl.float64
    assert net.half().scale.dtype == rl.float16 and net.bfloat16().scale.dtype == rl.bfloat16
    assert net.float().scale.dtype == rl.float32
    assert net.cpu().scale.device.type == "cpu"
    with pytest.raises(TypeError, match="floating point"):
        net.to(rl.int64)
    with pytest.raises(TypeError):
        net.to(3.5)


def test_meta():
    net = Net().to("meta")
    assert all(p.is_meta and isinstance(p, nn.Parameter) for p in net.parameters())
    net.to_empty(device="cpu")
    assert net.fc.weight.shape == (4, 3) and not net.fc.weight.is_meta and net.fc.weight.requires_grad


def test_modes():
    net = Net()
    assert net.training and net.eval() is net and not net.layers[0][1].training
    net.train()
    assert net.layers[0].training
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen[-1] == "Net" and seen[0] == "Linear"


def test_zero_grad():
    net = Net()
    net(rl.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(float(p.grad.abs().sum()) == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_plain_calls_and_hooks():
    layer = nn.ReLU()
    log = []
    x = rl.tensor([-1.0, 2.0])
    handle = layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    layer.register_forward_hook(lambda m, args, out: log.append((args[0].tolist(), out.tolist())))
    assert layer(x).tolist() == [0.0, 3.0]
    assert log == [([0.0, 3.0], [0.0, 3.0])]
    handle.remove()
    assert layer(x).tolist() == [0.0, 2.0]
    with layer.register_forward_hook(lambda m, args, out: out * 10):
        assert layer(x).tolist() == [0.0, 20.0]
    assert nn.Sequential(layer)(x).tolist() == [0.0, 2.0]


def test_hooks_see_keywords():
    net = Net()
    seen = []
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"factor": 3}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    net(rl.ones(1, 3), factor=2)
    assert seen == [{"factor": 3}]
    net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="args, kwargs"):
        net(rl.ones(1, 3))


def test_order_of_hooks():
    layer = nn.Identity()
    log = []
    layer.register_forward_hook(lambda *_: log.append("second"))
    layer.register_forward_hook(lambda *_: log.append("first"), prepend=True)
    handle = nn.modules.module.register_module_forward_hook(lambda *_: log.append("global"))
    try:
        nn.Sequential(layer)(1)
        assert log == ["global", "first", "second", "global"]
    finally:
        handle.remove()
    log.clear()
    nn.Identity()(1)
    assert log == [] and nn.Module._plain_call


def test_always_called_hooks():
    net = nn.Linear(2, 2)
    log = []
    net.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    net.register_forward_hook(lambda m, args, out: log.append("not called"))
    with pytest.raises(RuntimeError):
        net(rl.ones(3))
    assert log == [None]


def test_hooks_in_sequence_are_called_though_forward_is_called_directly():
    log = []
    net = nn.Sequential(nn.ReLU(), nn.Sequential(nn.ReLU()))
    net[1][0].register_forward_hook(lambda *_: log.append(1))
    net(rl.ones(1))
    assert log == [1]

    class Loud(nn.ReLU):
        def __call__(self, x):
            log.append("called")
            return super().__call__(x)

    nn.Sequential(Loud())(rl.ones(1))
    assert log == [1, "called"]


def test_forward_replaced_on_an_instance():
    layer = nn.ReLU()
    layer.forward = lambda x: x + 1
    assert nn.Sequential(layer)(1) == 2 and layer(1) == 2


def test_backward_hooks_change_gradients():
    layer = nn.Linear(2, 2, bias=False)
    seen = []
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0 + 7,))
    layer.register_full_backward_pre_hook(lambda m, go: seen.append(go[0].tolist()))
    x = rl.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [[7.0, 7.0]] and seen == [[[1.0, 1.0]]]


def test_backward_hook_of_several_outputs_and_double_backward():
    class Two(nn.Module):
        def forward(self, x, y, text):
            return x * x, text, x * y

    seen = []
    net = Two()
    net.register_full_backward_hook(lambda m, gi, go: seen.append(([g is None for g in gi], [g is None for g in go])))
    x, y = rl.tensor(3.0, requires_grad=True), rl.tensor(2.0)
    a, text, b = net(x, y, "text")
    assert text == "text"
    (g,) = rl.autograd.grad(a + b, x, create_graph=True)
    assert float(g) == 8.0 and seen == [([False, False, True], [False, True, False])]
    (h,) = rl.autograd.grad(g, x)
    assert float(h) == 2.0


def test_note_with_the_path():
    net = Net()
    net.layers[0][0] = nn.Linear(5, 4)
    with pytest.raises(RuntimeError) as caught:
        net(rl.ones(2, 3))
    assert "in net.layers[0][0] (Linear)" in caught.value.__notes__

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x)

    with pytest.raises(RuntimeError) as caught:
        Outer()(rl.ones(2, 3))
    assert caught.value.__notes__[-1] == "in Outer.net.layers[0][0] (Linear)"
    assert len([n for n in caught.value.__notes__ if "Linear" in n]) == 1


def test_state_round_trip():
    a, b = Net(), Net()
    result = b.load_state_dict(a.state_dict())
    assert repr(result) == "<All keys matched successfully>" and result.missing_keys == []
    for p, q in zip(a.state_dict().values(), b.state_dict().values(), strict=True):
        assert p.tolist() == q.tolist() and not p.requires_grad
    assert a.state_dict(keep_vars=True)["scale"] is a.scale
    assert "scratch" not in a.state_dict()
    part = {k: v for k, v in a.state_dict().items() if k != "scale"} | {"odd": rl.ones(1)}
    result = b.load_state_dict(part, strict=False)
    assert result.missing_keys == ["scale"] and result.unexpected_keys == ["odd"]
    with pytest.raises(RuntimeError) as caught:
        b.load_state_dict(part)
    assert 'missing: "scale"' in str(caught.value)
    assert 'unknown: "odd"' in str(caught.value)
    with pytest.raises(RuntimeError, match='strip "module."'):
        b.load_state_dict({f"module.{k}": v for k, v in a.state_dict().items()})


def test_assigning_state():
    a, b = Net(), Net().to("meta")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b.load_state_dict(a.state_dict(), assign=True)
    assert b.fc.weight.data_ptr() == a.fc.weight.data_ptr()
    assert isinstance(b.fc.weight, nn.Parameter) and b.fc.weight.requires_grad


def test_assigning_leaves_no_mark_on_the_state():
    state = Net().state_dict()
    Net().load_state_dict(state, assign=True)
    copied = Net()
    copied.load_state_dict(state)
    assert copied.fc.weight.data_ptr() != state["fc.weight"].data_ptr()


def test_state_hooks_and_extra_state():
    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = 1

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    net = nn.Sequential(Extra())
    net[0].value = 5
    state = net.state_dict()
    assert state["0._extra_state"] == {"value": 5}
    other = nn.Sequential(Extra())
    log = []
    other.register_load_state_dict_pre_hook(lambda m, *args: log.append(("pre", m is other)))
    other.register_load_state_dict_post_hook(lambda m, keys: log.append(("post", m is other)))
    other.load_state_dict(state)
    assert other[0].value == 5 and log == [("pre", True), ("post", True)]
    other.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(prefix))
    other.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(more=1))
    assert other.state_dict()["more"] == 1 and log[-1] == ""
    with pytest.raises(RuntimeError, match="missing"):
        other.load_state_dict({})


def test_copies():
    net = Net()
    net.fc.register_forward_hook(lambda m, args, out: out * 0)
    twin = copy.deepcopy(net)
    assert twin.fc is not net.fc and twin.fc.weight is not net.fc.weight
    assert twin.fc.weight.tolist() == net.fc.weight.tolist() and isinstance(twin.fc.weight, nn.Parameter)
    x = rl.ones(1, 3)
    assert twin(x).tolist() == net(x).tolist()
    twin.fc.weight.data.zero_()
    assert float(net.fc.weight.abs().sum()) > 0


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.fc2 = self.fc


def test_pickle():
    net = Plain()
    net.fc.weight.requires_grad_(False)
    twin = pickle.loads(pickle.dumps(net))
    assert twin.fc is twin.fc2 and twin.fc.weight.tolist() == net.fc.weight.tolist()
    assert type(twin.fc.bias) is nn.Parameter and twin.fc.bias.requires_grad and not twin.fc.weight.requires_grad


def test_modules_are_freed_at_once():
    net = Net()
    net(rl.ones(1, 3))
    gone = weakref.ref(net)
    gc.disable()
    try:
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_compile_says_so_once():
    rl.compiler._said = False
    with pytest.warns(UserWarning, match="does not compile"):
        assert isinstance(nn.ReLU().compile(), nn.ReLU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.ReLU().compile()


def test_parameter():
    p = nn.Parameter(rl.ones(2))
    assert isinstance(p, rl.Tensor) and p.requires_grad and p.is_leaf
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert type(p + 1) is rl.Tensor and type(p.detach()) is rl.Tensor
    data = rl.ones(2)
    assert nn.Parameter(data).data_ptr() == data.data_ptr()
    assert not isinstance(data, nn.Parameter) and not isinstance(data, nn.Buffer)
    twin = copy.deepcopy(p)
    assert type(twin) is nn.Parameter and twin is not p
    both = copy.deepcopy([p, p])
    assert both[0] is both[1]
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    with pytest.raises(TypeError, match="hint"):
        nn.Parameter([1.0])
    b = nn.Buffer(rl.ones(1))
    assert isinstance(b, nn.Buffer) and not isinstance(b, nn.Parameter)


def test_a_parameter_keeps_its_attributes_when_pickled():
    p = nn.Parameter(rl.ones(2))
    p.tag = "x"
    assert pickle.loads(pickle.dumps(p)).tag == "x"
