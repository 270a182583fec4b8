"""__torch_function__: subclasses, look-alikes and modes see the original call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import rushlight as torch
from rushlight.overrides import TorchFunctionMode, has_torch_function


class Logged(torch.Tensor):
    log: list[Any] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        cls.log.append((getattr(func, "__name__", str(func)), args, kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})


class Plain(torch.Tensor):
    pass


class LookAlike:
    """No tensor at all, but it takes part."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        unwrap = lambda v: v.value if isinstance(v, cls) else v
        return cls(func(*map(unwrap, args), **{k: unwrap(v) for k, v in (kwargs or {}).items()}))


def names() -> list[str]:
    return [name for name, _, _ in Logged.log]


@pytest.fixture
def logged() -> Any:
    x = torch.tensor([1.0, 4.0]).as_subclass(Logged)
    Logged.log.clear()
    return x


def test_results_are_of_the_subclass() -> None:
    x = torch.ones(2).as_subclass(Plain)
    for result in (x + 1, 1 + x, x.sum(), torch.exp(x), x[0], x.view(1, 2), torch.cat([x, torch.ones(1)]), x.clone()):
        assert type(result) is Plain
    assert all(type(part) is Plain for part in x.sort())
    assert type(torch.ones(2) * x) is Plain
    assert isinstance(x.shape, torch.Size) and isinstance(x.tolist(), list) and isinstance(x[0].item(), float)
    assert type(x.as_subclass(torch.Tensor)) is torch.Tensor


def test_functions_methods_operators_and_properties_are_seen(logged: Any) -> None:
    torch.add(logged, 1, alpha=2)
    logged.sum(0, keepdim=True)
    logged * 3
    logged[0]
    logged.view(2, 1)
    assert names()[:2] == ["add", "sum"]
    assert "mul" in names() or "__mul__" in names()
    assert "__getitem__" in names() and "view" in names()
    name, args, kwargs = Logged.log[0]
    assert args[0] is logged and args[1] == 1 and kwargs == {"alpha": 2}
    _, args, kwargs = Logged.log[1]
    assert args == (logged, 0) and kwargs == {"keepdim": True}


def test_functional_and_creation_like(logged: Any) -> None:
    torch.nn.functional.relu(logged)
    torch.zeros_like(logged)
    torch.nn.functional.linear(logged, torch.ones(3, 2))
    assert "relu" in names() and "zeros_like" in names() and "linear" in names()


def test_tensors_in_lists_are_found(logged: Any) -> None:
    torch.stack([torch.ones(2), logged])
    torch.where(torch.tensor([True, False]), 1.0, logged)
    assert names()[0] == "stack" and "where" in names()


def test_subclass_wins_over_its_base_and_left_over_right() -> None:
    order = []

    def make(name: str, base: type) -> Any:
        def __torch_function__(cls: Any, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            order.append(name)
            return NotImplemented

        return type(name, (base,), {"__torch_function__": classmethod(__torch_function__)})

    A, B = make("A", torch.Tensor), make("B", torch.Tensor)
    C = make("C", A)
    a, b, c = (torch.ones(1).as_subclass(kind) for kind in (A, B, C))
    for args, expected in [
        ((a, b), ["A", "B"]),
        ((b, a), ["B", "A"]),
        ((a, c), ["C", "A"]),
        ((a, b, c), ["C", "A", "B"]),
    ]:
        order.clear()
        with pytest.raises(TypeError, match="__torch_function__"):
            torch.stack(list(args))
        assert order == expected


def test_look_alikes() -> None:
    x = LookAlike(torch.tensor([1.0, 2.0]))
    result = torch.add(torch.ones(2), x)
    assert isinstance(result, LookAlike) and result.value.tolist() == [2, 3]
    assert isinstance(torch.nn.functional.softmax(x, dim=0), LookAlike)
    assert has_torch_function((x,)) and not has_torch_function((torch.ones(1),))


def test_disabled() -> None:
    x = torch.ones(2).as_subclass(Logged)
    Logged.log.clear()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
    assert not Logged.log


def test_disabled_stays_disabled_after_a_call() -> None:
    x = torch.ones(2).as_subclass(Logged)
    Logged.log.clear()
    with torch._C.DisableTorchFunctionSubclass():
        torch._C._disabled_torch_function_impl(torch.Tensor.add, (), (torch.ones(1), 1), {})
        assert type(x + 1) is torch.Tensor
    assert not Logged.log


def test_mode_sees_every_call() -> None:
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Mode() as mode:
        assert isinstance(mode, Mode)
        torch.add(x, 1)
        torch.zeros(3)
        torch.rand(2)
        x.exp()
    count = len(seen)
    assert torch.add in seen and torch.zeros in seen and torch.rand in seen
    torch.add(x, 1)
    assert len(seen) == count


def test_a_mode_is_of_its_thread() -> None:
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, y = torch.ones(2).as_subclass(Plain), torch.ones(2)
    with Mode(), ThreadPoolExecutor(1) as elsewhere:
        assert type(elsewhere.submit(torch.add, x, y).result()) is Plain
        assert not elsewhere.submit(has_torch_function, (y,)).result()
        assert not seen
        torch.ones(2)
    assert seen == [torch.ones]


def test_modes_nest_and_may_change_the_result() -> None:
    class Scale(TorchFunctionMode):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = factor

        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            result = func(*args, **(kwargs or {}))
            return result * self.factor if func is torch.ones else result

    with Scale(2), Scale(3):
        assert torch.ones(1).item() == 6
    with pytest.raises(KeyError), Scale(2):
        raise KeyError
    assert torch.ones(1).item() == 1


def test_mode_that_changes_arguments() -> None:
    class AsDouble(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            kwargs = dict(kwargs or {})
            if func in (torch.ones, torch.zeros, torch.rand):
                kwargs.setdefault("dtype", torch.float64)
            return func(*args, **kwargs)

    with AsDouble():
        assert torch.ones(2).dtype == torch.float64 and torch.rand(1).dtype == torch.float64
    assert torch.ones(2).dtype == torch.float32


def test_gradients_through_subclasses() -> None:
    x = torch.tensor([2.0]).as_subclass(Plain).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4]
    p = torch.nn.Parameter(torch.ones(2))
    assert type(p * 2) is torch.Tensor
    assert isinstance(p, torch.Tensor) and isinstance(p, torch.nn.Parameter)


def test_subclass_with_new_and_attributes() -> None:
    class Named(torch.Tensor):
        @staticmethod
        def __new__(cls: Any, data: Any, name: str) -> Any:
            self = torch.as_tensor(data, dtype=torch.float32).as_subclass(cls)
            self.name_ = name
            return self

    x = Named([1, 2], "weights")
    assert x.name_ == "weights" and x.tolist() == [1, 2] and type(x) is Named
    assert repr(x).startswith("Named(")
